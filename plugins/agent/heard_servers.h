// The servers that answers to this node's heartbeats name. [any]
#pragma once

#include <string>
#include <vector>

#include "drover/mutex.h"
#include "drover/server_directory.h"

namespace drover::agent {

class HeardServerList final : public HeardServers {
 public:
  std::vector<std::string> rpc_addresses() const override {
    const MutexLock lock(mutex_);
    return addresses_;
  }
  // An empty list says nothing: what is known stays.
  void heard(std::vector<std::string> addresses) {
    const MutexLock lock(mutex_);
    if (!addresses.empty()) addresses_ = std::move(addresses);
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> addresses_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::agent
