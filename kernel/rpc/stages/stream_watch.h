// Ends a stream whose caller loses the right to it: a token that is deleted, or ends. Asks again and again.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "drover/access_control.h"
#include "drover/thread_pool.h"

namespace drover::rpc {

class StreamWatch : public std::enable_shared_from_this<StreamWatch> {
 public:
  // `may` decides for a caller that was found out. What is referred to outlives the watch.
  StreamWatch(AccessControl& access, ThreadPool& pool, Clock& clock, std::chrono::nanoseconds every,
              std::function<bool(const CallContext&)> may)
      : access_(access), pool_(pool), clock_(clock), every_(every), may_(std::move(may)) {}

  // Lasts as long as somebody holds the receiver that it returns. `context` is stopped by it from now on.
  StreamReceiver begin(CallContext& context, StreamReceiver receiver);

 private:
  void look_later();
  void look();

  AccessControl& access_;
  ThreadPool& pool_;
  Clock& clock_;
  const std::chrono::nanoseconds every_;
  const std::function<bool(const CallContext&)> may_;
  CallContext context_;
  std::stop_source stop_;
  std::optional<std::stop_callback<std::function<void()>>> from_caller_;
  std::atomic<bool> is_denied_{false};
};

}  // namespace drover::rpc
