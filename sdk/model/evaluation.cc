#include "drover/model/evaluation.h"

#include <utility>

#include "drover/v1/evaluation.pb.h"
#include "drover/v1/job.pb.h"

namespace drover {
namespace {

constexpr int32_t kPriority = 50;  // of a job that is gone

v1::Evaluation pending(std::string id, std::string_view name_space, std::string_view job_id, std::string_view trigger) {
  v1::Evaluation eval;
  eval.set_id(std::move(id));
  eval.set_namespace_(std::string(name_space));
  eval.set_job_id(std::string(job_id));
  eval.set_triggered_by(std::string(trigger));
  eval.set_status(v1::EVAL_STATUS_PENDING);
  return eval;
}

}  // namespace

bool is_open(v1::EvalStatus status) { return status == v1::EVAL_STATUS_PENDING || status == v1::EVAL_STATUS_BLOCKED; }

bool is_open(const v1::Evaluation& eval) { return is_open(eval.status()); }

v1::Evaluation new_evaluation(std::string id, const v1::Job& job, std::string_view trigger) {
  return new_evaluation(std::move(id), job.namespace_(), job.id(), &job, trigger);
}

v1::Evaluation new_evaluation(std::string id, std::string_view name_space, std::string_view job_id, const v1::Job* job,
                              std::string_view trigger) {
  v1::Evaluation eval = pending(std::move(id), name_space, job_id, trigger);
  eval.set_priority(job ? job->priority() : kPriority);
  eval.set_type(job ? job->type() : "service");
  if (job) eval.set_job_modify_index(job->job_modify_index());
  return eval;
}

v1::Evaluation evaluation_after(const v1::Evaluation& eval, std::string id, std::string_view trigger) {
  v1::Evaluation next = pending(std::move(id), eval.namespace_(), eval.job_id(), trigger);
  next.set_priority(eval.priority());
  next.set_type(eval.type());
  next.set_job_modify_index(eval.job_modify_index());
  next.set_previous_eval(eval.id());
  return next;
}

}  // namespace drover
