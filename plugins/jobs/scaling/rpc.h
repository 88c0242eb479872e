// The handlers about the counts of groups and the policies that bound them.
#pragma once

#include <vector>

#include "drover/plugin.h"
#include "tables.h"

namespace drover::v1 {
class Allocation;
class Deployment;
class JobRequest;
class JobScaleStatusResponse;
class ListScalingPoliciesRequest;
class ListScalingPoliciesResponse;
class RegisterJobResponse;
class ScaleJobRequest;
class ScalingPolicyRequest;
class ScalingPolicyResponse;
}  // namespace drover::v1

namespace drover::jobs {

class ScalingHandlers {
 public:
  explicit ScalingHandlers(const Tables& tables) : tables_(tables) {}
  // Those of the service Jobs; and those of the service Scaling.
  std::vector<MethodBinding> of_jobs();
  std::vector<MethodBinding> of_policies();
  void start(Host& host);

 private:
  Result<Write<v1::RegisterJobResponse>> scale_job(const v1::ScaleJobRequest& request, Call& call);
  Result<v1::JobScaleStatusResponse> status(const v1::JobRequest& request, Call& call);
  Result<v1::ListScalingPoliciesResponse> policies(const v1::ListScalingPoliciesRequest& request, Call& call);
  Result<v1::ScalingPolicyResponse> policy(const v1::ScalingPolicyRequest& request, Call& call);

  bool is_deploying(const v1::Job& job, const ReadView& view) const;

  const Tables& tables_;
  Table<v1::Allocation> allocs_;       // the scheduler's; invalid where it is not loaded, as the following
  Table<v1::Deployment> deployments_;  // of the plugin deployments
  Host* host_ = nullptr;
};

}  // namespace drover::jobs
