// Calls and the things that they work on: one call at a time for a volume, a snapshot, a name. A second one is told to
// come again.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "drover/mutex.h"
#include "drover/result.h"

namespace drover::hostpath {

class Busy {
 public:
  // Holds what a call works on, until it goes.
  class Hold {
   public:
    Hold(Busy& busy, std::vector<std::string> what) : busy_(&busy), what_(std::move(what)) {}
    Hold(Hold&& other) noexcept : busy_(std::exchange(other.busy_, nullptr)), what_(std::move(other.what_)) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold() {
      if (busy_) busy_->release(what_);
    }

   private:
    Busy* busy_;
    std::vector<std::string> what_;
  };

  // Errors: aborted when another call works on any of it. Empty words count for nothing. [any]
  Result<Hold> take(std::vector<std::string> what);

 private:
  void release(const std::vector<std::string>& what);

  Mutex mutex_;                                                // a leaf
  std::multiset<std::string> held_ DROVER_GUARDED_BY(mutex_);  // one call may name a thing twice
};

}  // namespace drover::hostpath
