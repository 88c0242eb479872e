#include "eval_monitor.h"

#include <map>
#include <nlohmann/json.hpp>

#include "output.h"
#include "placement.h"

namespace drover::cli {
namespace {

using nlohmann::json;

class EvalMonitor {
 public:
  EvalMonitor(Run& run, std::string eval_id) : run_(run), id_(std::move(eval_id)) {}

  int follow() {
    headline("Monitoring evaluation \"" + short_id(id_, run_.verbose()) + "\"");
    uint64_t seen = 0;
    while (true) {
      // Waits at the server for a change instead of asking again and again.
      auto eval = run_.client.get("/v1/evaluation/" + id_, {{"index", std::to_string(seen)}, {"wait", "1s"}});
      if (!eval) return run_.fail("No evaluation could be read", eval.status());
      seen = static_cast<uint64_t>(number(*eval, "ModifyIndex"));
      if (!introduced_) introduce(*eval);
      auto allocs = run_.client.get("/v1/evaluation/" + id_ + "/allocations");
      if (!allocs) return run_.fail("Error reading allocations", allocs.status());
      for (const json& alloc : *allocs) show(alloc);
      const std::string status = text(*eval, "Status");
      if (status != status_) {
        if (!status_.empty()) detail("Evaluation status changed: \"" + status_ + "\" -> \"" + status + "\"");
        status_ = status;
      }
      if (status == "complete" || status == "failed" || status == "canceled") return finish(*eval);
      if (status == "blocked") {
        headline("Evaluation \"" + short_id(id_, run_.verbose()) + "\" waits for capacity");
        return 2;
      }
    }
  }

 private:
  void headline(const std::string& words) { run_.out << "==> " << full_time(now_ns()) << ": " << words << std::endl; }
  void detail(const std::string& words) { run_.out << "    " << full_time(now_ns()) << ": " << words << std::endl; }

  void introduce(const json& eval) {
    introduced_ = true;
    const std::string node = text(eval, "NodeID");
    if (text(eval, "TriggeredBy") == "node-update" && !node.empty()) {
      detail("Evaluation triggered by node \"" + short_id(node, run_.verbose()) + "\"");
    } else {
      detail("Evaluation triggered by job \"" + text(eval, "JobID") + "\"");
    }
    status_ = "pending";
  }

  void show(const json& alloc) {
    const std::string id = text(alloc, "ID");
    const std::string status = text(alloc, "ClientStatus");
    const std::string name = "Allocation \"" + short_id(id, run_.verbose()) + "\"";
    auto at = known_.find(id);
    if (at == known_.end()) {
      const bool is_new = number(alloc, "CreateIndex") == number(alloc, "ModifyIndex") || status == "pending";
      detail(name + (is_new ? " created" : " modified") + ": node \"" +
             short_id(text(alloc, "NodeID"), run_.verbose()) + "\", group \"" + text(alloc, "TaskGroup") + "\"");
    } else if (at->second != status) {
      const std::string why = text(alloc, "ClientDescription");
      detail(name + " status changed: \"" + at->second + "\" -> \"" + status + "\"" +
             (why.empty() ? "" : " (" + why + ")"));
    }
    known_[id] = status;
  }

  int finish(const json& eval) {
    const json& failed = member(eval, "FailedTGAllocs");
    const std::string head =
        "Evaluation \"" + short_id(id_, run_.verbose()) + "\" finished with status \"" + text(eval, "Status") + "\"";
    if (failed.empty()) {
      headline(head);
      if (text(eval, "Status") == "complete") return 0;
      if (std::string why = text(eval, "StatusDescription"); !why.empty()) detail(why);
      return 1;
    }
    headline(head + " but failed to place all allocations:");
    for (const auto& [group, metric] : failed.items()) {
      detail(failure_headline(group, metric));
      run_.out << format_metric(metric, "      ");
    }
    if (std::string blocked = text(eval, "BlockedEval"); !blocked.empty()) {
      detail("Evaluation \"" + short_id(blocked, run_.verbose()) +
             "\" waiting for additional capacity to place remainder");
    }
    run_.out << std::flush;
    return 2;
  }

  Run& run_;
  const std::string id_;
  std::map<std::string, std::string> known_;  // allocation → client status
  std::string status_;
  bool introduced_ = false;
};

}  // namespace

int monitor_evaluation(Run& run, const std::string& eval_id) { return EvalMonitor(run, eval_id).follow(); }

}  // namespace drover::cli
