#include "patience.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace drover::api {

void Patience::arm(std::chrono::nanoseconds time, std::weak_ptr<void> owner) {
  is_over_ = false;
  timer_.expires_after(time);
  timer_.async_wait([this, owner = std::move(owner), armed = ++armed_](boost::system::error_code error) {
    const auto self = owner.lock();
    if (error || !self || armed_ != armed) return;
    is_over_ = true;
    interrupt(owner);
  });
}

void Patience::disarm() {
  ++armed_;
  timer_.cancel();
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
