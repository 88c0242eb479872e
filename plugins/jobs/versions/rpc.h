// The handlers about earlier versions of a job: showing them, going back to one, marking and naming them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drover/plugin.h"
#include "tables.h"
#include "validate.h"

namespace drover::v1 {
class JobStabilityRequest;
class JobStabilityResponse;
class JobVersionsRequest;
class JobVersionsResponse;
class RegisterJobResponse;
class RevertJobRequest;
class TagJobVersionRequest;
class TagJobVersionResponse;
class UntagJobVersionRequest;
}  // namespace drover::v1

namespace drover::jobs {

class VersionHandlers {
 public:
  explicit VersionHandlers(const Tables& tables) : tables_(tables) {}
  std::vector<MethodBinding> methods();
  // `admission` outlives this.
  void start(Host& host, const Admission& admission);

 private:
  Result<v1::JobVersionsResponse> versions(const v1::JobVersionsRequest& request, Call& call);
  Result<Write<v1::RegisterJobResponse>> revert(const v1::RevertJobRequest& request, Call& call);
  Result<Write<v1::JobStabilityResponse>> stable(const v1::JobStabilityRequest& request, Call& call);
  Result<Write<v1::TagJobVersionResponse>> tag(const v1::TagJobVersionRequest& request, Call& call);
  Result<Write<v1::TagJobVersionResponse>> untag(const v1::UntagJobVersionRequest& request, Call& call);

  Result<v1::Job> version_of(const std::string& job_id, uint64_t version, Call& call) const;

  const Tables& tables_;
  Host* host_ = nullptr;
  const Admission* admission_ = nullptr;
};

}  // namespace drover::jobs
