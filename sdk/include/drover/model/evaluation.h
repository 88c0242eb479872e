// Evaluations: what makes a new one, and which are open. Pure: identifiers come from the caller. [any]
#pragma once

#include <string>
#include <string_view>

namespace drover::v1 {
class Evaluation;
class Job;
enum EvalStatus : int;
}  // namespace drover::v1

namespace drover {

// Somebody has yet to look at it, or it waits.
bool is_open(v1::EvalStatus status);
bool is_open(const v1::Evaluation& eval);

// A pending evaluation of the job, with its type, priority and modify index. `trigger`: "job-register", … The table
// stamps times and indexes.
v1::Evaluation new_evaluation(std::string id, const v1::Job& job, std::string_view trigger);
// The same by the job's name. `job`: null when it is gone; the evaluation is then of type service, with priority 50.
v1::Evaluation new_evaluation(std::string id, std::string_view name_space, std::string_view job_id, const v1::Job* job,
                              std::string_view trigger);
// A pending evaluation of the same job, which names `eval` as the one before it.
v1::Evaluation evaluation_after(const v1::Evaluation& eval, std::string id, std::string_view trigger);

}  // namespace drover
