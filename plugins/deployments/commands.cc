#include "commands.h"

#include "drover/model/evaluation.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"

namespace drover::deployments {

v1::Evaluation evaluation_of(const v1::Deployment& deployment, const v1::Job* job) {
  v1::Evaluation eval =
      new_evaluation(Uuid::random().bytes(), deployment.namespace_(), deployment.job_id(), job, "deployment-watcher");
  if (deployment.eval_priority() > 0) eval.set_priority(deployment.eval_priority());
  eval.set_deployment_id(deployment.id());
  return eval;
}

v1::JobRegistered registration_of(const v1::Job& version) {
  v1::JobRegistered command;
  *command.mutable_job() = version;
  command.mutable_job()->set_stable(false);  // it is, once its own deployment has succeeded
  return command;
}

}  // namespace drover::deployments
