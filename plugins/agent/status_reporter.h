// Tells the servers what has become of allocations, as StatusBatch says when. Thread "status". Owned by the plugin.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "client.h"
#include "drover/mutex.h"
#include "status_batch.h"

namespace drover::agent {

class StatusReporter {
 public:
  // `describe`: the allocations' present state; those that are gone are left out.
  using Describe = std::function<std::vector<v1::Allocation>(const std::vector<Uuid>& allocations)>;
  StatusReporter(const Client& client, Describe describe) : client_(client), describe_(std::move(describe)) {}
  ~StatusReporter() { stop(); }
  void start();
  void stop();  // idempotent

  void changed(Uuid allocation, bool urgent);  // [any]
  void node_is_known();                        // [any] nothing is sent before

 private:
  void run(const std::stop_token& stop);
  Status send(const std::vector<Uuid>& allocations, const std::stop_token& stop);

  const Client& client_;
  const Describe describe_;
  Mutex mutex_;
  CondVarAny woken_;
  StatusBatch batch_ DROVER_GUARDED_BY(mutex_);
  bool known_ DROVER_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace drover::agent
