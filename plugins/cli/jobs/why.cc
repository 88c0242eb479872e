// job why, alloc why, what-if: the scheduler explains itself.
#include <algorithm>
#include <charconv>

#include "cli_command.h"
#include "drover/api/allocations.pb.h"
#include "drover/api/jobs.pb.h"
#include "drover/api/nodes.pb.h"
#include "drover/api/why.pb.h"
#include "job_source.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

std::string score_text(double value) {
  std::string text = std::to_string(value);  // six digits behind the point
  return text.substr(0, text.size() - 3);
}

// A list of nodes with a column for each part of a score that one of them has.
std::string scores_text(const std::vector<v1::WhyNode>& nodes, bool verbose) {
  std::vector<std::string> parts;
  for (const v1::WhyNode& node : nodes) {
    for (const auto& [name, value] : sorted(node.scores())) {
      if (name != "final" && std::ranges::find(parts, name) == parts.end()) parts.push_back(name);
    }
  }
  std::vector<std::vector<std::string>> rows = {{"Node ID", "Name"}};
  rows[0].insert(rows[0].end(), parts.begin(), parts.end());
  rows[0].emplace_back("final score");
  for (const v1::WhyNode& node : nodes) {
    std::vector<std::string> row = {id_text(node.node_id(), verbose), node.node_name()};
    for (const std::string& part : parts) {
      const auto at = node.scores().find(part);
      row.push_back(at == node.scores().end() ? "-" : score_text(at->second));
    }
    const auto final_score = node.scores().find("final");
    row.push_back(final_score == node.scores().end() ? "-" : score_text(final_score->second));
    rows.push_back(std::move(row));
  }
  return format_list(rows);
}

std::string nodes_text(int32_t nodes) { return std::to_string(nodes) + (nodes == 1 ? " node" : " nodes"); }

template <typename Messages>
auto of_group(const Messages& all, const std::string& group) {
  std::vector<typename Messages::value_type> own;
  for (const auto& one : all) {
    if (one.group() == group) own.push_back(one);
  }
  return own;
}

void show_group(Run& run, const v1::WhyResponse& why, const std::string& name, const v1::WhyGroup& group) {
  run.out << "\nGroup \"" << name << "\": " << group.wanted() << " wanted, " << group.running() << " running, "
          << group.queued() << " without a place\n";
  auto reasons = of_group(why.reasons(), name);
  std::ranges::stable_sort(reasons, std::ranges::greater(), [](const auto& reason) { return reason.nodes(); });
  if (!reasons.empty()) run.out << "\nNodes that cannot take one more\n";
  for (const v1::WhyReason& reason : reasons)
    run.out << "* " << nodes_text(reason.nodes()) << ": " << reason.text() << "\n";
  const auto best = of_group(why.best(), name);
  if (!best.empty() && best[0].first_failure().empty()) {
    run.out << "\nThe best nodes for one more\n" << scores_text(best, run.verbose());
  } else if (!best.empty()) {
    run.out << "\nThe nodes that lack the least\n";
    for (const v1::WhyNode& node : best) {
      run.out << "* " << id_text(node.node_id(), run.verbose()) << " " << node.node_name() << ": ";
      for (int i = 0; i < node.failures_size(); ++i) run.out << (i == 0 ? "" : "; ") << node.failures(i);
      run.out << "\n";
    }
  }
  const auto changes = of_group(why.changes(), name);
  if (!changes.empty()) run.out << "\nWhat would find a place, the cheapest first\n";
  for (size_t i = 0; i < changes.size(); ++i) {
    run.out << i + 1 << ". " << changes[i].text() << " (" << nodes_text(changes[i].nodes()) << ")\n";
  }
}

void show_notes(Run& run, const v1::WhyResponse& why) {
  for (const std::string& note : why.notes()) run.out << "* " << note << "\n";
}

int job_why(Run& run) {
  auto job = find_job(run, run.arguments.positional()[0]);
  if (!job) return run.fail("Error finding job", job.status());
  v1::WhyJobRequest request;
  request.set_job_id(job->message.job().id());
  request.set_group(run.arguments.value("group"));
  auto answer = run.client.call<v1::Why::OfJob>(request);
  if (!answer) return run.fail("Error asking why", answer.status());
  if (auto code = print_object(run, *answer)) return *code;
  const v1::WhyResponse& why = answer->message;
  run.out << "Job \"" << why.job_id() << "\"\n";
  show_notes(run, why);
  for (const auto& [name, group] : sorted(why.groups())) show_group(run, why, name, group);
  return 0;
}

int alloc_why(Run& run) {
  auto alloc = find_alloc(run, run.arguments.positional()[0]);
  if (!alloc) return run.fail("Error querying allocation", alloc.status());
  v1::WhyAllocationRequest request;
  request.set_alloc_id(alloc->message.allocation().allocation().id());
  auto answer = run.client.call<v1::Why::OfAllocation>(request);
  if (!answer) return run.fail("Error asking why", answer.status());
  if (auto code = print_object(run, *answer)) return *code;
  const v1::WhyResponse& why = answer->message;
  run.out << "Allocation \"" << id_text(alloc->message.allocation().allocation().id(), run.verbose()) << "\" of job \""
          << why.job_id() << "\" on node \"" << alloc->message.allocation().allocation().node_name() << "\"\n";
  show_notes(run, why);
  if (!why.reasons().empty()) run.out << "\nNodes that could not take it when it was placed\n";
  for (const v1::WhyReason& reason : why.reasons())
    run.out << "* " << nodes_text(reason.nodes()) << ": " << reason.text() << "\n";
  const std::vector<v1::WhyNode> best(why.best().begin(), why.best().end());
  if (!best.empty()) run.out << "\nThe best nodes when it was placed\n" << scores_text(best, run.verbose());
  return 0;
}

// "NODE=COUNT"; the count is 1 without one.
Status add_node(Run& run, const std::string& text, v1::WhatIfRequest& request) {
  const size_t equals = text.rfind('=');
  int32_t count = 1;
  if (equals != std::string::npos) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + equals + 1, end, count);
    if (error != std::errc() || stop != end) return invalid_argument("-add-node is NODE=COUNT: \"" + text + "\"");
  }
  DROVER_TRY(auto node, find_node(run, text.substr(0, equals)));
  v1::WhatIfAdded& added = *request.add_add_nodes();
  added.set_like(node.message.node().node().id());
  added.set_count(count);
  return ok_status();
}

Result<v1::WhatIfRequest> what_if_request(Run& run) {
  v1::WhatIfRequest request;
  for (const std::string& id : run.arguments.values("drain")) {
    DROVER_TRY(auto node, find_node(run, id));
    request.mutable_drain()->add_nodes(node.message.node().node().id());
  }
  for (const std::string& id : run.arguments.values("fail")) {
    DROVER_TRY(auto node, find_node(run, id));
    request.mutable_fail()->add_nodes(node.message.node().node().id());
  }
  for (const std::string& text : run.arguments.values("add-node")) DROVER_RETURN_IF_ERROR(add_node(run, text, request));
  for (const std::string& path : run.arguments.positional()) {
    std::string text;
    DROVER_TRY(auto source, read_job_source(run, path, text));
    v1::Job& job = *request.add_jobs();
    job = source.job();
    if (job.namespace_().empty() && run.client.name_space() != "*") job.set_namespace_(run.client.name_space());
  }
  run.client.set_namespace("");  // each job says its own
  if (run.arguments.is_set("algorithm"))
    request.mutable_scheduler()->set_scheduler_algorithm(run.arguments.value("algorithm"));
  return request;
}

std::string percent(double share) { return std::to_string(static_cast<int>(share * 100 + 0.5)) + " %"; }

std::string packing_text(const v1::WhatIfPacking& packing) {
  return nodes_text(packing.nodes()) + (packing.nodes() == 1 ? " takes work, " : " take work, ") +
         std::to_string(packing.nodes_in_use()) + " in use; CPU " + percent(packing.cpu()) + ", memory " +
         percent(packing.memory());
}

int what_if(Run& run) {
  auto request = what_if_request(run);
  if (!request) return run.fail("Error asking what if", request.status());
  const bool asks_nothing = request->drain().nodes().empty() && request->fail().nodes().empty() &&
                            request->add_nodes().empty() && request->jobs().empty() && !request->has_scheduler();
  if (asks_nothing)
    return run.usage("Error: say what would change: -drain, -fail, -add-node, -algorithm or a job file");
  auto answer = run.client.call<v1::WhatIfs::Run>(*request);
  if (!answer) return run.fail("Error asking what if", answer.status());
  if (auto code = print_object(run, *answer)) return *code;
  const v1::WhatIfResponse& what = answer->message;
  const bool with_namespaces = run.client.options().name_space == "*";
  std::vector<std::vector<std::string>> rows = {{"Allocation", "Job", "Group", "From", "To"}};
  if (with_namespaces) rows[0].insert(rows[0].begin() + 2, "Namespace");
  for (const v1::WhatIfMove& move : what.moved()) {
    rows.push_back({move.alloc_id().empty() ? "new" : id_text(move.alloc_id(), run.verbose()), move.job_id(),
                    move.group(), move.from().empty() ? "-" : id_text(move.from(), run.verbose()),
                    id_text(move.to(), run.verbose()) + " " + move.to_name()});
    if (with_namespaces) rows.back().insert(rows.back().begin() + 2, move.namespace_());
  }
  if (rows.size() > 1) run.out << "Moves\n" << format_list(rows) << "\n";
  if (!what.unplaced().empty()) run.out << "Without a place\n";
  for (const v1::WhatIfUnplaced& unplaced : what.unplaced()) {
    run.out << "* " << unplaced.count() << " of " << unplaced.job_id() << "/" << unplaced.group() << "\n";
    for (const v1::WhyReason& reason : unplaced.reasons()) {
      run.out << "    " << nodes_text(reason.nodes()) << ": " << reason.text() << "\n";
    }
  }
  if (!what.unplaced().empty()) run.out << "\n";
  const auto show_ids = [&](const char* title, const auto& ids) {
    if (ids.empty()) return;
    run.out << title << "\n";
    for (const std::string& id : ids) run.out << "* " << id_text(id, run.verbose()) << "\n";
    run.out << "\n";
  };
  show_ids("Preempted", what.preempted());
  show_ids("Stopped, with none in their place", what.stopped());
  for (const std::string& note : what.notes()) run.out << "Note: " << note << "\n";
  run.out << format_pairs(
      {{"Before", packing_text(what.packing().before())}, {"After", packing_text(what.packing().after())}});
  return what.unplaced().empty() ? 0 : 2;
}

}  // namespace

std::vector<Definition> job_why_commands() {
  std::vector<Flag> what_if_flags = job_source_flags();
  std::erase_if(what_if_flags, [](const Flag& flag) { return flag.name == "json"; });
  for (Flag flag :
       {with_value("drain", "", "A node that would be drained; may be given several times"),
        with_value("fail", "", "A node that would be lost; may be given several times"),
        with_value("add-node", "", "NODE=COUNT: so many more like that node; may be given several times"),
        with_value("algorithm", "", "Place by binpack or by spread"), on_off("verbose", "Show full identifiers")}) {
    what_if_flags.push_back(std::move(flag));
  }
  return {
      {"job why", "Says why a job's allocations are placed or not, and what would help.", "<job>",
       "  For each group: which nodes could take one more allocation, with the parts of their scores; why the others\n"
       "  could not, by their first reason; and where none can, the cheapest changes that would find a place.\n",
       with_object_flags({with_value("group", "", "Only this group"), on_off("verbose", "Show full identifiers")}), 1,
       1, job_why},
      {"alloc why", "Says why an allocation is on its node, as it was decided.", "<allocation>", "",
       with_object_flags({on_off("verbose", "Show full identifiers")}), 1, 1, alloc_why},
      {"what-if", "Says what a change of nodes, jobs or settings would move, block and preempt.", "[path...]",
       "  The scheduler decides on a copy of the cluster and writes nothing. The paths name job files that would be\n"
       "  run. Exit codes: 0, everything finds a place; 2, something does not; 1, an error.\n",
       with_object_flags(std::move(what_if_flags)), 0, 64, what_if}};
}

}  // namespace drover::cli
