// Ends what goes on on a stream when its time is over, and leaves the connection open for an answer. [the stream's
// strand]
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>

#include "stream.h"

namespace drover::api {

class Patience {
 public:
  // The stream outlives it.
  explicit Patience(Stream& stream) : stream_(stream), timer_(stream.get_executor()) {}

  // From here on until disarm(), or until the next arm(). `owner`: has this object.
  void arm(std::chrono::nanoseconds time, std::weak_ptr<void> owner);
  void disarm();
  // Ends now what is armed.
  void interrupt(std::weak_ptr<void> owner);
  // True when the time that was armed last has run out.
  bool is_over() const { return is_over_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();
  void look_later(std::weak_ptr<void> owner);

  Stream& stream_;
  // Runs on when it is armed for later, and looks again then: most requests begin and end without touching it.
  boost::asio::steady_timer timer_;
  Clock::time_point looks_at_ = kNever;
  Clock::time_point until_ = kNever;  // what is armed ends
  uint64_t armed_ = 0;                // counts arming and disarming
  bool is_over_ = false;
};

}  // namespace drover::api
