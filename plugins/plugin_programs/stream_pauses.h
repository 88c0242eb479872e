// The pauses before a stream that a plugin has ended is opened again: five seconds, four times more each time, at most
// two minutes. Owned by the thread that reads the stream.
#pragma once

#include <algorithm>
#include <chrono>
#include <stop_token>

#include "drover/pause.h"

namespace drover::plugin_programs {

class StreamPauses {
 public:
  std::chrono::seconds next() const { return next_; }
  void wait(const std::stop_token& stop) {
    pause_for(next_, stop);
    next_ = std::min(next_ * 4, std::chrono::seconds(120));
  }

 private:
  std::chrono::seconds next_{5};
};

}  // namespace drover::plugin_programs
