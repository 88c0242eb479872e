// node pool list, info, apply, delete, init, jobs, nodes.
#include <fstream>

#include "cli_command.h"
#include "drover/api/jobs.pb.h"
#include "drover/api/node_pools.pb.h"
#include "drover/api/nodes.pb.h"
#include "drover/duration.h"
#include "input.h"
#include "jobs/job_list.h"
#include "nodes/node_list.h"
#include "nodes/pool_file.h"
#include "object_output.h"
#include "output.h"
#include "paging.h"

namespace drover::cli {
namespace {

int pool_list(Run& run) {
  auto pools = run.client.call<v1::NodePools::List>({}, page_of(run.arguments));
  if (!pools) return run.fail("Error retrieving node pools", pools.status());
  if (auto code = print_object(run, *pools)) return *code;
  if (pools->message.node_pools().empty()) {
    run.out << "No node pools\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"Name", "Description"}};
  for (const v1::NodePool& pool : pools->message.node_pools()) rows.push_back({pool.name(), pool.description()});
  run.out << format_list(rows);
  print_next_page(run, "node pool list", pools->next_token);
  return 0;
}

// The one pool with this name, or whose name begins so.
Result<Answer<v1::NodePoolResponse>> find_pool(Run& run, const std::string& typed) {
  v1::NodePoolRequest request;
  request.set_name(typed);
  auto pool = run.client.call<v1::NodePools::Get>(request);
  if (pool || pool.status().code() != Code::not_found) return pool;
  DROVER_TRY(const auto matching, run.client.call<v1::NodePools::List>({}, {{"prefix", typed}}));
  const auto& pools = matching.message.node_pools();
  if (pools.empty()) return not_found("No node pool(s) with prefix \"" + typed + "\" found");
  if (pools.size() > 1) {
    std::string names;
    for (const v1::NodePool& each : pools) names += "\n  " + each.name();
    return invalid_argument("Prefix \"" + typed + "\" matched multiple node pools:" + names);
  }
  request.set_name(pools[0].name());
  return run.client.call<v1::NodePools::Get>(request);
}

int pool_info(Run& run) {
  auto found = find_pool(run, run.arguments.positional()[0]);
  if (!found) return run.fail("Error retrieving node pool", found.status());
  if (auto code = print_object(run, *found)) return *code;
  const v1::NodePool& pool = found->message.node_pool();
  std::vector<std::pair<std::string, std::string>> about = {{"Name", pool.name()}, {"Description", pool.description()}};
  if (pool.node_identity_ttl() > 0)
    about.emplace_back("Node Identity TTL", format_duration(std::chrono::nanoseconds(pool.node_identity_ttl())));
  run.out << format_pairs(about) << "\nMetadata\n";
  if (pool.meta().empty()) {
    run.out << "No metadata\n";
  } else {
    const auto meta = sorted(pool.meta());
    run.out << format_pairs({meta.begin(), meta.end()});
  }
  if (!pool.has_scheduler_configuration()) return 0;
  const v1::NodePoolSchedulerConfiguration& own = pool.scheduler_configuration();
  std::vector<std::pair<std::string, std::string>> pairs;
  if (!own.scheduler_algorithm().empty()) pairs.emplace_back("Scheduler Algorithm", own.scheduler_algorithm());
  if (own.has_memory_oversubscription_enabled())
    pairs.emplace_back("Memory Oversubscription Enabled", yes_no(own.memory_oversubscription_enabled()));
  if (!pairs.empty()) run.out << "\nScheduler Configuration\n" << format_pairs(pairs);
  return 0;
}

int pool_apply(Run& run) {
  const std::string& path = run.arguments.positional()[0];
  const auto text = read_text(run, path);
  if (!text) return run.fail("Failed to read file", text.status());
  auto pool = run.arguments.on("json") ? read_pool_json(*text) : read_pool_file(path == "-" ? "<stdin>" : path, *text);
  if (!pool) return run.fail("Failed to parse input content", pool.status());
  v1::ApplyNodePoolRequest request;
  *request.mutable_node_pool() = *pool;
  const auto applied = run.client.call<v1::NodePools::Apply>(request);
  if (!applied) return run.fail("Error applying node pool", applied.status());
  run.out << "Successfully applied node pool \"" << pool->name() << "\"!\n";
  return 0;
}

int pool_delete(Run& run) {
  const std::string& name = run.arguments.positional()[0];
  v1::NodePoolRequest request;
  request.set_name(name);
  const auto deleted = run.client.call<v1::NodePools::Delete>(request);
  if (!deleted) return run.fail("Error deleting node pool", deleted.status());
  run.out << "Successfully deleted node pool \"" << name << "\"!\n";
  return 0;
}

int pool_init(Run& run) {
  const std::string form = run.arguments.value("out");
  if (form != "hcl" && form != "json") return run.usage("-out: \"" + form + "\" is neither hcl nor json");
  const auto& typed = run.arguments.positional();
  const std::string path = typed.empty() ? "pool.nomad." + form : typed[0];
  if (std::ifstream(path).good()) return run.usage("The file " + path + " is there already.");
  std::ofstream file(path);
  file << (form == "hcl" ? kPoolExample : kPoolExampleJson);
  file.close();
  if (!file) return run.usage("The file " + path + " cannot be written.");
  if (!run.arguments.on("quiet")) run.out << "Example node pool specification written to " << path << "\n";
  return 0;
}

int pool_jobs(Run& run) {
  v1::ListJobsOfPoolRequest request;
  request.set_name(run.arguments.positional()[0]);
  auto jobs = run.client.call<v1::Jobs::OfPool>(request, page_of(run.arguments));
  if (!jobs) return run.fail("Error querying jobs", jobs.status());
  if (auto code = print_object(run, *jobs)) return *code;
  if (jobs->message.jobs().empty()) {
    run.out << "No jobs\n";
    return 0;
  }
  run.out << format_list(job_rows(jobs->message.jobs(), run.client.options().name_space == "*"));
  print_next_page(run, "node pool jobs " + request.name(), jobs->next_token);
  return 0;
}

int pool_nodes(Run& run) {
  v1::ListNodesOfPoolRequest request;
  request.set_name(run.arguments.positional()[0]);
  auto nodes = run.client.call<v1::Nodes::OfPool>(request, page_of(run.arguments));
  if (!nodes) return run.fail("Error querying nodes", nodes.status());
  if (auto code = print_object(run, *nodes)) return *code;
  if (nodes->message.nodes().empty()) {
    run.out << "No nodes\n";
    return 0;
  }
  run.out << format_list(node_rows(nodes->message.nodes(), {.verbose = run.verbose()}));
  print_next_page(run, "node pool nodes " + request.name(), nodes->next_token);
  return 0;
}

}  // namespace

std::vector<Definition> node_pool_commands() {
  return {
      {"node pool list", "Lists node pools.", "", "", with_page_flags({}, "Meta.environment == prod"), 0, 0, pool_list},
      {"node pool info", "Shows a node pool.", "<node-pool>", "", with_object_flags({}), 1, 1, pool_info},
      {"node pool apply",
       "Creates a node pool or changes one.",
       "<file>",
       "The file is HCL, as node pool init writes one; - reads standard input.",
       {on_off("json", "The file is JSON in the API's form")},
       1,
       1,
       pool_apply},
      {"node pool delete", "Deletes a node pool that nothing uses.", "<node-pool>", "", {}, 1, 1, pool_delete},
      {"node pool init",
       "Writes an example of a node pool's file.",
       "[file]",
       "",
       {with_value("out", "hcl", "hcl or json"), on_off("quiet", "Say nothing")},
       0,
       1,
       pool_init},
      {"node pool jobs", "Lists the jobs of a node pool.", "<node-pool>", "", with_page_flags({}, "Type == service"), 1,
       1, pool_jobs},
      {"node pool nodes", "Lists the nodes of a node pool.", "<node-pool>", "",
       with_page_flags({on_off("verbose", "Full identifiers, addresses and versions")}, "Status == ready"), 1, 1,
       pool_nodes}};
}

}  // namespace drover::cli
