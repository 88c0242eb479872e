#include "evals/eval_monitor.h"

#include <map>

#include "deployments/deployment_monitor.h"
#include "drover/api/evaluations.pb.h"
#include "output.h"
#include "placement.h"

namespace drover::cli {
namespace {

class EvalMonitor {
 public:
  EvalMonitor(Run& run, const std::string& id) : run_(run), name_("Evaluation \"" + id_text(id, run.verbose()) + "\"") {
    request_.set_eval_id(id);
  }

  int follow() {
    headline("Monitoring evaluation \"" + id_text(request_.eval_id(), run_.verbose()) + "\"");
    uint64_t seen = 0;
    while (true) {
      // Waits at the server for a change instead of asking again and again.
      auto found = run_.client.call<v1::Evaluations::Get>(request_, {{"index", std::to_string(seen)}, {"wait", "1s"}});
      if (!found) return run_.fail("No evaluation could be read", found.status());
      const v1::Evaluation& eval = found->message.evaluation();
      seen = eval.modify_index();
      if (!introduced_) introduce(eval);
      name_deployment(eval);
      auto allocs = run_.client.call<v1::Evaluations::Allocations>(request_);
      if (!allocs) return run_.fail("Error reading allocations", allocs.status());
      for (const v1::AllocationListStub& alloc : allocs->message.allocations()) show(alloc);
      const std::string status = word(eval.status());
      if (status != status_) {
        if (!status_.empty()) detail("Evaluation status changed: \"" + status_ + "\" -> \"" + status + "\"");
        status_ = status;
      }
      if (status == "complete" || status == "failed" || status == "canceled") return finish(eval);
      if (status == "blocked") {
        headline(name_ + " waits for capacity");
        return 2;
      }
    }
  }

  // Of the evaluation, once it has ended; empty: it was none's.
  const std::string& deployment() const { return deployment_; }

 private:
  void headline(const std::string& words) { run_.out << "==> " << full_time(now_ns()) << ": " << words << std::endl; }
  void detail(const std::string& words) { run_.out << "    " << full_time(now_ns()) << ": " << words << std::endl; }

  void introduce(const v1::Evaluation& eval) {
    introduced_ = true;
    if (eval.triggered_by() == "node-update" && !eval.node_id().empty()) {
      detail("Evaluation triggered by node \"" + id_text(eval.node_id(), run_.verbose()) + "\"");
    } else {
      detail("Evaluation triggered by job \"" + eval.job_id() + "\"");
    }
    status_ = "pending";
  }

  void name_deployment(const v1::Evaluation& eval) {
    if (eval.deployment_id() == deployment_) return;
    deployment_ = eval.deployment_id();
    if (!deployment_.empty()) detail("Evaluation within deployment: \"" + id_text(deployment_, run_.verbose()) + "\"");
  }

  void show(const v1::AllocationListStub& alloc) {
    const std::string status = word(alloc.client_status());
    const std::string name = "Allocation \"" + id_text(alloc.id(), run_.verbose()) + "\"";
    auto at = known_.find(alloc.id());
    if (at == known_.end()) {
      const bool is_new = alloc.create_index() == alloc.modify_index() || status == "pending";
      detail(name + (is_new ? " created" : " modified") + ": node \"" + id_text(alloc.node_id(), run_.verbose()) +
             "\", group \"" + alloc.task_group() + "\"");
    } else if (at->second != status) {
      const std::string& why = alloc.client_description();
      detail(name + " status changed: \"" + at->second + "\" -> \"" + status + "\"" +
             (why.empty() ? "" : " (" + why + ")"));
    }
    known_[alloc.id()] = status;
  }

  int finish(const v1::Evaluation& eval) {
    const std::string head = name_ + " finished with status \"" + word(eval.status()) + "\"";
    if (eval.failed_tg_allocs().empty()) {
      headline(head);
      if (eval.status() == v1::EVAL_STATUS_COMPLETE) return 0;
      if (!eval.status_description().empty()) detail(eval.status_description());
      return 1;
    }
    headline(head + " but failed to place all allocations:");
    for (const auto& [group, metric] : sorted(eval.failed_tg_allocs())) {
      detail(failure_headline(group, metric));
      run_.out << format_metric(metric, "      ");
    }
    if (!eval.blocked_eval().empty()) {
      detail("Evaluation \"" + id_text(eval.blocked_eval(), run_.verbose()) +
             "\" waiting for additional capacity to place remainder");
    }
    run_.out << std::flush;
    return 2;
  }

  Run& run_;
  const std::string name_;
  v1::EvaluationRequest request_;
  std::map<std::string, std::string> known_;  // allocation → client status
  std::string status_;
  std::string deployment_;
  bool introduced_ = false;
};

}  // namespace

int monitor_evaluation(Run& run, const std::string& eval_id, FollowDeployment follow) {
  EvalMonitor monitor(run, eval_id);
  const int code = monitor.follow();
  // A deployment that lacks room may wait for long: whoever ran the job hears of that at once.
  if (code != 0 || follow == FollowDeployment::no || monitor.deployment().empty()) return code;
  return monitor_deployment(run, monitor.deployment()) == 0 ? 0 : 1;
}

}  // namespace drover::cli
