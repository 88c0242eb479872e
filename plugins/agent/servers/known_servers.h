// The servers that this node asks: those of the configuration, and those that heartbeats or an operator have named. [any]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/methods.h"
#include "drover/mutex.h"
#include "drover/server_directory.h"

namespace drover::v1 {
class ClientResponse;
class KnownServersRequest;
class KnownServersResponse;
class SetKnownServersRequest;
}  // namespace drover::v1

namespace drover::agent {

// "host:port" of what a person typed: port 4647 unless another is said, an IPv6 address in brackets. Pure. Errors:
// invalid_argument.
Result<std::string> server_address(std::string_view typed);

class KnownServers final : public HeardServers {
 public:
  // Those that stay whatever is heard. Before the first call of the others.
  void configure(std::vector<std::string> configured) { configured_ = std::move(configured); }

  std::vector<std::string> rpc_addresses() const override {
    const MutexLock lock(mutex_);
    return heard_;
  }
  // An empty list says nothing: what is known stays.
  void heard(std::vector<std::string> addresses);
  // Each once: the configured ones first.
  std::vector<std::string> all() const;

  Result<v1::KnownServersResponse> list(const v1::KnownServersRequest& request, Call& call);
  // Until the next heartbeat names others.
  Result<v1::ClientResponse> set(const v1::SetKnownServersRequest& request, Call& call);

 private:
  std::vector<std::string> configured_;
  mutable Mutex mutex_;
  std::vector<std::string> heard_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::agent
