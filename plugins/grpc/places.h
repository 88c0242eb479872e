// How many connections with calls on them each address has to this agent. gRPC does not show connections themselves; a
// call tells which one it came over. [any]
#pragma once

#include <map>
#include <memory>
#include <string>

#include "drover/mutex.h"

namespace drover::wire {

class Places {
 public:
  // `limit`: connections of one address; 0: no limit.
  explicit Places(size_t limit) : limit_(limit) {}

  // A call came over the connection of this peer, as gRPC names it ("ipv4:10.0.0.1:4711"). The caller keeps the answer
  // as long as the call goes on; null when that connection is one too many. This object outlives its answers.
  std::shared_ptr<void> take(const std::string& peer);

 private:
  void leave(const std::string& address, const std::string& port);

  const size_t limit_;
  Mutex mutex_;
  // Address to port to calls.
  std::map<std::string, std::map<std::string, size_t>> calls_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::wire
