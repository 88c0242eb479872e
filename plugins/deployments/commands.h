// Parts of commands that the handlers and the watcher both make: identifiers come from here, so not in apply functions.
#pragma once

namespace drover::v1 {
class Deployment;
class Evaluation;
class Job;
class JobRegistered;
}  // namespace drover::v1

namespace drover::deployments {

// Another look at the job of a deployment. `job`: null when it is gone.
v1::Evaluation evaluation_of(const v1::Deployment& deployment, const v1::Job* job);
// Makes an earlier version of a job the newest again; without an evaluation, which the deployment's command has.
v1::JobRegistered registration_of(const v1::Job& version);

}  // namespace drover::deployments
