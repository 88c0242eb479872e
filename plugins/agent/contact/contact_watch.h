// Stops allocations whose groups ask for it (stop_after_client_disconnect) when no server has been reached for so long.
//
//   heartbeat answered ──▶ last contact (on the disk while somebody asks for it) ──▶ too long ago ──▶ the runner stops
//
// A former agent's last contact counts on; but a new agent gets a moment in which to reach a server. Owned by the
// plugin. Thread "contact".
#pragma once

#include <thread>

#include "allocations.h"
#include "client.h"
#include "contact/overdue.h"
#include "drover/mutex.h"

namespace drover::agent {

class ContactWatch {
 public:
  ContactWatch(const Client& client, const Allocations& allocations) : client_(client), allocations_(allocations) {}
  ~ContactWatch() { stop(); }

  // Errors: those of the local store.
  Status start();
  void stop();  // idempotent
  // A server has answered just now. [any]
  void heard();

 private:
  void run(const std::stop_token& stop);
  std::vector<ContactLimit> limits() const;

  const Client& client_;
  const Allocations& allocations_;
  std::string boot_;
  Mutex mutex_;
  SteadyTime last_ DROVER_GUARDED_BY(mutex_);
  bool is_marked_ DROVER_GUARDED_BY(mutex_) = false;  // a last contact stands on the disk
  std::jthread thread_;
};

}  // namespace drover::agent
