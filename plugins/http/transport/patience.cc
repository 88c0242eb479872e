#include "patience.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace drover::api {

void Patience::arm(std::chrono::nanoseconds time, std::weak_ptr<void> owner) {
  is_over_ = false;
  ++armed_;
  until_ = Clock::now() + time;
  if (until_ < looks_at_) look_later(std::move(owner));
}

void Patience::disarm() {
  ++armed_;
  until_ = kNever;
}

void Patience::look_later(std::weak_ptr<void> owner) {
  looks_at_ = until_;
  timer_.expires_at(until_);
  timer_.async_wait([this, owner = std::move(owner)](boost::system::error_code error) {
    const auto self = owner.lock();
    if (error || !self) return;
    looks_at_ = kNever;
    if (until_ == kNever) return;
    if (Clock::now() < until_) return look_later(owner);
    is_over_ = true;
    interrupt(owner);
  });
}

// The operation may stand between two of its steps, where nothing is there to be cancelled: so again, until it has
// ended.
void Patience::interrupt(std::weak_ptr<void> owner) {
  stream_.cancel();
  boost::asio::post(stream_.get_executor(), [this, owner = std::move(owner), armed = armed_] {
    const auto self = owner.lock();
    if (self && armed_ == armed) interrupt(owner);
  });
}

}  // namespace drover::api
