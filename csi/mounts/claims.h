// This node's calls to the servers about claims on volumes. Each waits. [any]
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/plugin.h"
#include "keeper/mount_plan.h"

namespace drover::v1 {
class CsiClaim;
class CsiClaimName;
class CsiClaimRequest;
class CsiClaimResponse;
class MountOptions;
}  // namespace drover::v1

namespace drover::mounts {

class Claims {
 public:
  void start(Host& host) { host_ = &host; }

  // Errors of all: unavailable while the servers do not know this node; those of the service CsiClaims.
  Result<v1::CsiClaim> claim(const MountKey& key, const Usage& usage, const v1::MountOptions& options,
                             const std::stop_token& stop);
  // Waits until the node may mount it. `waits` is told what keeps it from that, as often as that changes. Errors also:
  // internal with the servers' reason, when that will never be; failed_precondition while it is being given back.
  Result<v1::CsiClaimResponse> await_attached(const MountKey& key, const std::function<void(const std::string&)>& waits,
                                              const std::stop_token& stop);
  Status released(const MountKey& key, const std::stop_token& stop);
  Result<std::vector<NodeClaim>> of_node(const std::stop_token& stop);

 private:
  Result<v1::CsiClaimName> name_of(const MountKey& key) const;
  template <typename Response, typename Request>
  Result<Response> ask(const char* method, const Request& request, const std::stop_token& stop,
                       uint64_t after_index = 0, uint64_t* index = nullptr) const;

  Host* host_ = nullptr;
};

NodeClaim node_claim_of(const v1::CsiClaim& claim);

}  // namespace drover::mounts
