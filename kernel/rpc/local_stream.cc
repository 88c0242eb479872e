#include "kernel/rpc/local_stream.h"

#include <deque>

#include "drover/mutex.h"

namespace drover::rpc {
namespace {

constexpr size_t kQueueLimit = 64;

// Shared by the handler's thread and the caller's handle.
class Shared final : public MessageStream, public Call {
 public:
  Shared(CallContext context, StreamReceiver receiver) : receiver_(std::move(receiver)), context_(std::move(context)) {
    // The handler sees one token: the caller's own and the call's end both stop it.
    if (context_.stop.stop_possible()) from_caller_.emplace(context_.stop, [this] { stop_.request_stop(); });
    context_.stop = stop_.get_token();
  }

  // --- Call [handler]
  const CallContext& context() const override { return context_; }
  const ReadView& view() const override {
    check_failed(__FILE__, __LINE__, "a streaming handler takes its own snapshots");
  }

  // --- MessageStream [handler]
  bool send(std::string message) override {
    if (stop_.stop_requested()) return false;
    if (receiver_.message(std::move(message))) return true;
    stop_.request_stop();
    return false;
  }
  std::optional<std::string> receive(SteadyTime deadline) override {
    MutexLock lock(mutex_);
    changed_.wait_until(lock, stop_.get_token(), deadline,
                        [this]() DROVER_REQUIRES(mutex_) { return !requests_.empty() || half_closed_; });
    if (requests_.empty()) return std::nullopt;
    std::string message = std::move(requests_.front());
    requests_.pop_front();
    changed_.notify_all();
    return message;
  }

  // --- the caller's side [any]
  bool push(std::string message) {
    MutexLock lock(mutex_);
    changed_.wait(lock, stop_.get_token(),
                  [this]() DROVER_REQUIRES(mutex_) { return requests_.size() < kQueueLimit || ended_; });
    if (ended_ || half_closed_ || stop_.stop_requested()) return false;
    requests_.push_back(std::move(message));
    changed_.notify_all();
    return true;
  }
  void half_close() {
    MutexLock lock(mutex_);
    half_closed_ = true;
    changed_.notify_all();
  }
  void cancel() { stop_.request_stop(); }

  void run(const StreamHandler& handler, std::string_view request, std::stop_token router) {
    std::stop_callback with_router(std::move(router), [this] { stop_.request_stop(); });
    Status status = handler(request, *this, *this);
    {
      MutexLock lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    receiver_.closed(std::move(status));
  }

 private:
  StreamReceiver receiver_;
  CallContext context_;
  std::stop_source stop_;
  std::optional<std::stop_callback<std::function<void()>>> from_caller_;
  Mutex mutex_;
  CondVarAny changed_;
  std::deque<std::string> requests_ DROVER_GUARDED_BY(mutex_);
  bool half_closed_ DROVER_GUARDED_BY(mutex_) = false;
  bool ended_ DROVER_GUARDED_BY(mutex_) = false;
};

class Handle final : public StreamCall {
 public:
  explicit Handle(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~Handle() override { shared_->cancel(); }
  bool send(std::string message) override { return shared_->push(std::move(message)); }
  void close_sending() override { shared_->half_close(); }
  void cancel() override { shared_->cancel(); }

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace

Result<std::unique_ptr<StreamCall>> open_local_stream(const Method& method, CallContext context, std::string request,
                                                      StreamReceiver receiver, ThreadPool& pool,
                                                      std::stop_token stopping) {
  auto shared = std::make_shared<Shared>(std::move(context), std::move(receiver));
  DROVER_RETURN_IF_ERROR(pool.run_blocking(
      [shared, &method, request = std::move(request), stopping] { shared->run(method.stream, request, stopping); }));
  return std::unique_ptr<StreamCall>(std::make_unique<Handle>(std::move(shared)));
}

}  // namespace drover::rpc
