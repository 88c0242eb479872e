#include "jobs/plan_file.h"

#include <fstream>
#include <sstream>

#include "drover/api/plan.pb.h"
#include "drover/json.h"

namespace drover::cli {

Status write_plan_file(const std::string& path, const v1::PlanJobResponse& plan) {
  if (!plan.has_exact())
    return failed_precondition("nothing was placed, so there is no exact plan; the warnings say why");
  std::ofstream file(path, std::ios::trunc);
  file << message_to_json(plan.exact(), {.pretty = true});
  file.close();
  return file ? ok_status() : unavailable("cannot write " + path);
}

Result<v1::ExactPlan> read_plan_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return not_found("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  v1::ExactPlan plan;
  const Status status = json_to_message(text.str(), plan);
  if (!status.ok() || plan.eval_id().empty()) {
    return invalid_argument(path + " is no plan as `job plan -out` writes it" +
                            (status.ok() ? "" : ": " + status.message()));
  }
  return plan;
}

}  // namespace drover::cli
