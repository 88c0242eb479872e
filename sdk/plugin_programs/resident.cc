#include "drover/plugin_programs/resident.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <list>
#include <utility>

#include "drover/abi_bytes.h"
#include "drover/log.h"
#include "drover/mutex.h"

#include "../encoding/utf8.h"

namespace drover::plugin_programs {
namespace {

constexpr const char* kGone = "the plugin has gone";
constexpr size_t kMaxQueued = 64;                     // replies that nobody has read yet; then the plugin waits
constexpr auto kPatience = std::chrono::seconds(10);  // with the calls of a plugin that is to be released

// One call. The plugin holds a share until it has closed the replies, the caller until it has closed the requests.
class Call final : public std::enable_shared_from_this<Call> {
 public:
  explicit Call(Messages::Keep keep) : keep_(keep) {}

  void open(const drover_endpoint& plugin, const std::string& method, std::optional<SteadyTime> deadline) {
    itself_ = shared_from_this();
    const drover_request request{
        .size = sizeof(request),
        .method = bytes_of(method),
        .deadline_ns = deadline ? std::chrono::nanoseconds(deadline->time_since_epoch()).count() : 0};
    requests_ = plugin.open(plugin.self, &request, {.self = this, .push = &push, .end = &end, .close = &close});
  }
  // False once somebody has left the call, or the plugin wants no more.
  bool say(const std::string& request) {
    const MutexLock speaking(speech_);
    return !has_left_ && !has_said_all_ && requests_.push(requests_.self, bytes_of(request)) != 0;
  }
  void finish() {
    const MutexLock speaking(speech_);
    if (!has_left_ && !std::exchange(has_said_all_, true)) requests_.end(requests_.self);
  }
  // Instead of open(): it has ended before it began.
  void refuse(const Status& why) {
    const MutexLock lock(mutex_);
    status_ = why;
    has_left_ = true;
  }

  // The caller's last word; idempotent.
  void leave() {
    if (has_left_.exchange(true)) return;
    {
      const MutexLock lock(mutex_);
      changed_.notify_all();
    }
    const MutexLock speaking(speech_);
    requests_.close(requests_.self, static_cast<int32_t>(Code::cancelled), {});
  }

  // Until there is something to say of it.
  bool wait_end(SteadyTime deadline, const std::stop_token& stop) {
    MutexLock lock(mutex_);
    return changed_.wait_until(lock, stop, deadline, [this]() DROVER_REQUIRES(mutex_) { return status_ || cut_; });
  }
  // Until the plugin, too, has done with it.
  bool wait_closed(SteadyTime deadline) {
    MutexLock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this]() DROVER_REQUIRES(mutex_) { return status_.has_value(); });
  }
  std::optional<std::string> next() {
    MutexLock lock(mutex_);
    changed_.wait(lock, [this]() DROVER_REQUIRES(mutex_) { return !queue_.empty() || status_ || cut_; });
    if (queue_.empty() || cut_) return {};
    std::string message = std::move(queue_.front());
    queue_.pop_front();
    changed_.notify_all();
    return message;
  }
  std::optional<std::string> newest(SteadyTime deadline) {
    MutexLock lock(mutex_);
    changed_.wait_until(lock, deadline, [this]() DROVER_REQUIRES(mutex_) { return newest_ || status_ || cut_; });
    return status_ || cut_ ? std::nullopt : newest_;
  }
  Status status() const {
    const MutexLock lock(mutex_);
    return cut_ ? *cut_ : status_.value_or(Status());
  }
  // Drops all that comes from now on: for the caller the call has ended like this.
  void cut(const Status& why) {
    {
      const MutexLock lock(mutex_);
      if (!status_ && !cut_) cut_ = why;
    }
    leave();
  }

 private:
  static int32_t push(void* self, drover_bytes message) { return static_cast<Call*>(self)->take(message) ? 1 : 0; }
  static void end(void*) {}
  static void close(void* self, int32_t code, drover_bytes text) {
    const std::shared_ptr<Call> call = std::move(static_cast<Call*>(self)->itself_);
    const MutexLock lock(call->mutex_);
    call->status_ = code == 0 ? ok_status() : translate(Status(static_cast<Code>(code), utf8::valid(view_of(text))));
    call->changed_.notify_all();
  }

  bool take(drover_bytes message) {
    MutexLock lock(mutex_);
    const auto is_over = [this]() DROVER_REQUIRES(mutex_) { return has_left_ || cut_; };
    if (keep_ == Messages::Keep::newest) {
      newest_ = view_of(message);
    } else {
      changed_.wait(lock, [&]() DROVER_REQUIRES(mutex_) { return queue_.size() < kMaxQueued || is_over(); });
      if (!is_over()) queue_.emplace_back(view_of(message));
    }
    changed_.notify_all();
    return !is_over();
  }

  const Messages::Keep keep_;
  std::shared_ptr<Call> itself_;  // until the replies are closed
  Mutex speech_;                  // held while the requests are spoken into
  bool has_said_all_ DROVER_GUARDED_BY(speech_) = false;
  drover_stream requests_{};
  std::atomic<bool> has_left_ = false;
  mutable Mutex mutex_;  // a leaf
  CondVarAny changed_;
  std::deque<std::string> queue_ DROVER_GUARDED_BY(mutex_);
  std::optional<std::string> newest_ DROVER_GUARDED_BY(mutex_);
  std::optional<Status> status_ DROVER_GUARDED_BY(mutex_);
  std::optional<Status> cut_ DROVER_GUARDED_BY(mutex_);
};

class ResidentMessages final : public Dialogue {
 public:
  explicit ResidentMessages(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  ~ResidentMessages() override { cancel(); }
  std::optional<std::string> next() override { return call_->next(); }
  std::optional<std::string> newest(SteadyTime deadline) override { return call_->newest(deadline); }
  Status status() const override { return call_->status(); }
  void cancel() override { call_->cut(cancelled("the caller has cancelled the call")); }
  bool say(std::string message) override { return call_->say(message); }
  void finish() override { call_->finish(); }

 private:
  const std::shared_ptr<Call> call_;
};

class Resident final : public ResidentChannel {
 public:
  explicit Resident(const drover_endpoint& plugin) : plugin_(plugin) {}
  ~Resident() override { release(); }

  void cut() override {
    std::list<std::weak_ptr<Call>> calls;
    {
      const MutexLock lock(mutex_);
      is_cut_ = true;
      calls.swap(calls_);
    }
    for (const std::weak_ptr<Call>& weak : calls) {
      if (auto call = weak.lock()) {
        call->cut(unavailable(kGone));
        cut_.push_back(std::move(call));
      }
    }
  }

  void release() override {
    cut();
    if (std::exchange(is_released_, true)) return;
    const SteadyTime deadline = SystemClock().steady() + kPatience;
    if (std::ranges::all_of(cut_, [&](const auto& call) { return call->wait_closed(deadline); })) {
      plugin_.release(plugin_.self);
    } else {
      log::error("plugin", "a plugin inside the agent does not end its calls, and is not released");
    }
    cut_.clear();
  }

  Result<std::string> call(const std::string& method, std::string request, std::optional<SteadyTime> deadline,
                           std::stop_token stop) override {
    DROVER_TRY(const auto call, begin(method, deadline, Messages::Keep::all));
    (void)call->say(request);
    call->finish();
    if (!call->wait_end(deadline.value_or(SteadyTime::max()), stop)) {
      call->cut(stop.stop_requested() ? cancelled("the caller has gone") : deadline_exceeded("deadline exceeded"));
    }
    call->leave();
    DROVER_RETURN_IF_ERROR(call->status());
    auto answer = call->next();
    if (!answer) return internal_error("the call has ended without an answer");
    return *std::move(answer);
  }
  std::shared_ptr<Messages> open(const std::string& method, std::string request, Messages::Keep keep) override {
    auto dialogue = stream(begin(method, {}, keep));
    (void)dialogue->say(std::move(request));
    dialogue->finish();
    return dialogue;
  }
  std::shared_ptr<Dialogue> talk(const std::string& method) override {
    return stream(begin(method, {}, Messages::Keep::all));
  }

 private:
  using CallPtr = std::shared_ptr<Call>;

  Result<CallPtr> begin(const std::string& method, std::optional<SteadyTime> deadline, Messages::Keep keep) {
    // The release waits for this call: it is listed, and open, before the lock goes.
    const auto call = std::make_shared<Call>(keep);
    {
      const MutexLock lock(mutex_);
      if (is_cut_) return unavailable(kGone);
      calls_.remove_if([](const auto& weak) { return weak.expired(); });
      calls_.push_back(call);
      call->open(plugin_, method, deadline);
    }
    return call;
  }
  static std::shared_ptr<Dialogue> stream(Result<CallPtr> call) {
    if (call) return std::make_shared<ResidentMessages>(*std::move(call));
    const auto none = std::make_shared<Call>(Messages::Keep::all);
    none->refuse(call.status());
    return std::make_shared<ResidentMessages>(none);
  }

  const drover_endpoint plugin_;
  // Belongs to whoever ends the plugin: one thread at a time.
  std::vector<std::shared_ptr<Call>> cut_;
  bool is_released_ = false;
  Mutex mutex_;
  bool is_cut_ DROVER_GUARDED_BY(mutex_) = false;
  std::list<std::weak_ptr<Call>> calls_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<ResidentChannel> connect(const drover_endpoint& plugin) { return std::make_unique<Resident>(plugin); }

}  // namespace drover::plugin_programs
