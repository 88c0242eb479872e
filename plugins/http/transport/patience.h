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
  Stream& stream_;
  boost::asio::steady_timer timer_;
  uint64_t armed_ = 0;  // which arming of the timer counts
  bool is_over_ = false;
};

}  // namespace drover::api
