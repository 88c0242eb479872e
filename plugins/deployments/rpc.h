// The handlers of the Deployments service. Reads are functions of the call's view.
#pragma once

#include <string>
#include <vector>

#include "drover/encoded.h"
#include "drover/plugin.h"
#include "rules.h"
#include "tables.h"

namespace drover::v1 {
class AllocationStubsResponse;
class DeploymentRequest;
class DeploymentResponse;
class DeploymentUpdateResponse;
class FailDeploymentRequest;
class ListDeploymentsRequest;
class ListDeploymentsResponse;
class OfJobRequest;
class PauseDeploymentRequest;
class PromoteDeploymentRequest;
class SetAllocHealthRequest;
class UnblockDeploymentRequest;
}  // namespace drover::v1

namespace drover::deployments {

class Rpc {
 public:
  explicit Rpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);
  void start(Host& host) { host_ = &host; }

 private:
  Result<Encoded<v1::ListDeploymentsResponse>> list(const v1::ListDeploymentsRequest& request, Call& call);
  Result<v1::DeploymentResponse> get(const v1::DeploymentRequest& request, Call& call);
  Result<v1::AllocationStubsResponse> allocations(const v1::DeploymentRequest& request, Call& call);
  Result<v1::ListDeploymentsResponse> of_job(const v1::OfJobRequest& request, Call& call);
  Result<v1::DeploymentResponse> latest_of_job(const v1::OfJobRequest& request, Call& call);
  Result<Write<v1::DeploymentUpdateResponse>> pause(const v1::PauseDeploymentRequest& request, Call& call);
  Result<Write<v1::DeploymentUpdateResponse>> promote(const v1::PromoteDeploymentRequest& request, Call& call);
  Result<Write<v1::DeploymentUpdateResponse>> fail(const v1::FailDeploymentRequest& request, Call& call);
  Result<Write<v1::DeploymentUpdateResponse>> unblock(const v1::UnblockDeploymentRequest& request, Call& call);
  Result<Write<v1::DeploymentUpdateResponse>> set_health(const v1::SetAllocHealthRequest& request, Call& call);

  Result<v1::Deployment> find(const std::string& id, Call& call) const;
  Result<v1::Deployment> find_active(const std::string& id, Call& call, std::string_view refusal) const;
  std::optional<v1::Job> job_of(const v1::Deployment& deployment, Call& call) const;
  std::vector<v1::Deployment> deployments_of(const v1::OfJobRequest& request, Call& call) const;
  // The state of the job to go back to, where one of the groups wants that.
  Revert revert(std::string_view why, bool reverts, const v1::Deployment& deployment, Call& call) const;

  const Tables& tables_;
  Host* host_ = nullptr;
};

}  // namespace drover::deployments
