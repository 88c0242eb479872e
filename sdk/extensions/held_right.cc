#include "drover/held_right.h"

#include <atomic>
#include <functional>
#include <optional>

#include "drover/access_control.h"

namespace drover {

class HeldRight::Watch : public std::enable_shared_from_this<Watch> {
 public:
  Watch(Host& host, const Call& call, std::string name_space, std::chrono::nanoseconds every)
      : host_(host), context_(call.context()), name_space_(std::move(name_space)), every_(every) {
    if (context_.stop.stop_possible()) from_caller_.emplace(context_.stop, [this] { stop_.request_stop(); });
    const std::vector<std::string> names = host.extensions<AccessControl>();
    if (!names.empty() && context_.access && !call.permissions().is_management())
      access_ = host.extension<AccessControl>(names.front());
  }
  void look_later() {
    if (!access_) return;
    host_.post_after(every_, [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && !self->stop_.stop_requested()) self->look();
    });
  }
  void end() {
    from_caller_.reset();
    stop_.request_stop();  // nobody looks again
  }
  std::stop_token stop() const { return stop_.get_token(); }
  bool is_lost() const { return is_lost_; }

 private:
  // Not finding out is no reason to end it: servers may be away for a while.
  void look() {
    access_->authenticate(context_, [self = shared_from_this()](Result<Identity> identity) {
      bool is_held = identity.status().code() != Code::permission_denied;
      if (identity) {
        CallContext now = self->context_;
        now.identity = *std::move(identity);
        is_held = allows(*now.access, now, self->name_space_);
      }
      if (is_held) return self->look_later();
      self->is_lost_ = true;
      self->stop_.request_stop();
    });
  }

  Host& host_;
  const CallContext context_;
  const std::string name_space_;
  const std::chrono::nanoseconds every_;
  AccessControl* access_ = nullptr;  // null: the right cannot be lost
  std::stop_source stop_;
  std::optional<std::stop_callback<std::function<void()>>> from_caller_;
  std::atomic<bool> is_lost_{false};
};

HeldRight::HeldRight(Host& host, const Call& call, std::string name_space, std::chrono::nanoseconds every)
    : watch_(std::make_shared<Watch>(host, call, std::move(name_space), every)) {
  watch_->look_later();
}

HeldRight::~HeldRight() { watch_->end(); }

std::stop_token HeldRight::stop() const { return watch_->stop(); }

Status HeldRight::end(Status own) const { return watch_->is_lost() ? right_is_lost() : own; }

Status right_is_lost() {
  return permission_denied(
      "Permission denied: the right to this stream is lost; its token, a policy or a role changed");
}

}  // namespace drover
