// Puts what many nodes say of their services into the log together.
//
//   quiet ──sync──▶ its entry at once ──▶ gathering, until kGather after that entry ──▶ one entry
//                                            └ full, or of another term: an entry before that
//
// A part that is no longer true when the entry is applied changes nothing, so parts do not wait for one another's sake.
// Nobody waits: the log answers the calls. [any], but for start().
#pragma once

#include <chrono>
#include <vector>

#include "drover/mutex.h"
#include "drover/plugin.h"
#include "drover/proposer.h"

namespace drover::services {

class SyncMerger final : public Proposer {
 public:
  static constexpr std::chrono::milliseconds kGather{50};
  static constexpr size_t kMostBytes = 256 * 1024;

  void start(Host& host) { host_ = &host; }  // before the first call
  // Puts into the log what is gathered; what comes later goes there at once.
  void stop();

  void propose(std::string payload, SteadyTime deadline, uint64_t only_in_term,
               std::function<void(Result<Applied>)> done) override;

 private:
  struct Entry {
    std::string payload{};  // messages of the command one behind the other are one message with all their parts
    SteadyTime deadline{};
    uint64_t term = 0;
    std::vector<std::function<void(Result<Applied>)>> callers{};
  };
  void write(Entry entry);
  void write_gathered();

  Host* host_ = nullptr;
  Mutex mutex_;
  Entry gathered_ DROVER_GUARDED_BY(mutex_);
  SteadyTime quiet_from_ DROVER_GUARDED_BY(mutex_);
  bool is_stopped_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::services
