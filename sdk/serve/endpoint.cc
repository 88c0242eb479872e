#include "endpoint.h"

#include <deque>
#include <memory>
#include <utility>

#include "drover/abi_bytes.h"
#include "drover/mutex.h"
#include "workers.h"

namespace drover::serve {
namespace {

constexpr size_t kMaxUnheard = 8 << 20;  // bytes of requests that the handler has not taken

// Held by the caller until it closes the requests, and by the handler while it runs.
class ResidentCall final : public Call, public std::enable_shared_from_this<ResidentCall> {
 public:
  ResidentCall(Workers& workers, const Handler* handler, drover_stream replies)
      : workers_(workers), handler_(handler), replies_(replies) {}

  drover_stream requests() {
    itself_ = shared_from_this();
    return {.self = this, .push = &push, .end = &end, .close = &close};
  }
  void refuse(const Status& why) { finish(why); }

  const std::string& request() const override { return request_; }
  std::stop_token stop() const override { return stop_.get_token(); }
  std::optional<std::string> receive(std::stop_token stop) override {
    MutexLock lock(mutex_);
    changed_.wait(lock, stop, [this]() DROVER_REQUIRES(mutex_) { return !further_.empty() || has_heard_all_; });
    if (further_.empty()) return {};
    std::string message = std::move(further_.front());
    further_.pop_front();
    unheard_ -= message.size();
    return message;
  }
  bool send(std::string message) override {
    return !stop_.stop_requested() && replies_.push(replies_.self, bytes_of(message)) != 0;
  }

 private:
  static int32_t push(void* self, drover_bytes message) {
    auto& call = *static_cast<ResidentCall*>(self);
    if (call.handler_ == nullptr) return 0;
    if (std::exchange(call.has_request_, true)) return call.take_further(message) ? 1 : 0;
    call.request_ = view_of(message);
    const bool is_posted = call.workers_.post([call = call.shared_from_this()] { call->run(); });
    if (!is_posted) call.finish(resource_exhausted("the plugin has too many calls at once"));
    return 1;
  }
  static void end(void* self) { static_cast<ResidentCall*>(self)->hear_no_more(); }
  static void close(void* self, int32_t, drover_bytes) {
    const std::shared_ptr<ResidentCall> call = std::move(static_cast<ResidentCall*>(self)->itself_);
    call->stop_.request_stop();
    call->hear_no_more();
    if (!call->has_request_ && call->handler_ != nullptr) call->finish(cancelled("the caller has gone"));
  }

  // The caller must not be kept waiting; so one that says more than the handler takes ends the call.
  bool take_further(drover_bytes message) {
    const MutexLock lock(mutex_);
    if (has_heard_all_ || has_overflown_) return false;
    unheard_ += message.size;
    if (unheard_ > kMaxUnheard) {
      has_overflown_ = true;
      stop_.request_stop();
      return false;
    }
    further_.emplace_back(view_of(message));
    changed_.notify_all();
    return true;
  }
  void hear_no_more() {
    const MutexLock lock(mutex_);
    has_heard_all_ = true;
    changed_.notify_all();
  }

  void run() {
    try {
      const Status status = (*handler_)(*this);
      const bool has_overflown = [this] {
        const MutexLock lock(mutex_);
        further_.clear();
        has_heard_all_ = true;
        return has_overflown_;
      }();
      finish(has_overflown ? resource_exhausted("the caller said more than the plugin could take") : status);
    } catch (const std::exception& problem) {
      finish(internal_error(std::string("the plugin threw: ") + problem.what()));
    } catch (...) {
      finish(internal_error("the plugin threw an exception of a type of its own"));
    }
  }
  void finish(const Status& status) {
    replies_.close(replies_.self, static_cast<int32_t>(status.code()), bytes_of(status.message()));
  }

  Workers& workers_;
  const Handler* const handler_;  // null: the method is not known, and the replies are closed
  const drover_stream replies_;
  std::stop_source stop_;
  std::string request_;
  bool has_request_ = false;  // of the caller's side
  Mutex mutex_;
  CondVarAny changed_;
  std::deque<std::string> further_ DROVER_GUARDED_BY(mutex_);
  size_t unheard_ DROVER_GUARDED_BY(mutex_) = 0;  // bytes of them
  bool has_heard_all_ DROVER_GUARDED_BY(mutex_) = false;
  bool has_overflown_ DROVER_GUARDED_BY(mutex_) = false;
  std::shared_ptr<ResidentCall> itself_;  // of the caller's side, until it closes the requests
};

struct Endpoint {
  Methods methods;
  std::function<void()> ended;  // may be empty
  std::unique_ptr<Workers> workers = std::make_unique<Workers>(kMaxCalls);
};

drover_stream open(void* self, const drover_request* request, drover_stream replies) {
  auto& endpoint = *static_cast<Endpoint*>(self);
  const auto found = endpoint.methods.find(view_of(request->method));
  const Handler* const handler = found == endpoint.methods.end() ? nullptr : &found->second;
  const auto call = std::make_shared<ResidentCall>(*endpoint.workers, handler, replies);
  const drover_stream requests = call->requests();
  if (handler == nullptr) call->refuse(unimplemented("the plugin has no such method"));
  return requests;
}

void release(void* self) {
  const std::unique_ptr<Endpoint> endpoint(static_cast<Endpoint*>(self));
  endpoint->workers.reset();  // joins: the host has ended all calls
  if (endpoint->ended) endpoint->ended();
}

}  // namespace

drover_endpoint make_endpoint(Methods methods, std::function<void()> ended) {
  auto endpoint = std::make_unique<Endpoint>();
  endpoint->methods = std::move(methods);
  endpoint->ended = std::move(ended);
  return {.size = sizeof(drover_endpoint), .self = endpoint.release(), .open = &open, .release = &release};
}

}  // namespace drover::serve
