#include "lane.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "drover/log.h"
#include "drover/mutex.h"

namespace drover::wire {
namespace {

constexpr auto kFirstRetry = std::chrono::milliseconds(50);
constexpr auto kLastRetry = std::chrono::milliseconds(1000);

std::chrono::nanoseconds jitter(std::chrono::nanoseconds time) {
  thread_local std::minstd_rand random{std::random_device{}()};
  return time / 2 + std::chrono::nanoseconds(random() % static_cast<uint64_t>((time / 2).count() + 1));
}

// Greets, is welcomed, sends; begins again when it breaks. Kept by its streams and timers, until it is closed.
class Outgoing : public std::enable_shared_from_this<Outgoing> {
 public:
  explicit Outgoing(LaneSetup setup) : setup_(std::move(setup)) {}

  void connect() {
    auto stream = std::make_shared<ClientStream>(setup_.channel);
    {
      const MutexLock lock(mutex_);
      if (is_closed_) return;
      stream_ = stream;
    }
    ClientStream::Events events{
        .message = [self = shared_from_this()](const std::string&) { self->welcomed(); },
        .ended = [self = shared_from_this()](const Status& status, const std::string&) { self->ended(status); }};
    ClientStream::start(stream, setup_.streams, {.method = kPeerMethod, .context = setup_.greeting, .is_greeted = true},
                        std::move(events));
    watch(stream);
  }

  void send(std::string message) {
    std::shared_ptr<ClientStream> stream;
    {
      const MutexLock lock(mutex_);
      if (is_open_) stream = stream_;
    }
    if (stream) stream->post(std::move(message));
  }

  void close() {
    std::shared_ptr<ClientStream> stream;
    {
      const MutexLock lock(mutex_);
      is_closed_ = true;
      is_open_ = false;
      stream = std::move(stream_);
    }
    if (stream) stream->cancel();
  }

 private:
  void welcomed() {
    std::shared_ptr<ClientStream> stream;
    {
      const MutexLock lock(mutex_);
      if (is_closed_) return;
      is_open_ = true;
      retry_ = kFirstRetry;
      stream = stream_;
    }
    setup_.events.open();
    stream->read_next();  // tells of the end
  }

  void watch(const std::weak_ptr<ClientStream>& stream) {
    setup_.executor.post_at(setup_.clock.steady() + setup_.patience, [self = weak_from_this(), stream] {
      const auto lane = self.lock();
      if (const auto watched = stream.lock(); lane && watched) lane->check(watched);
    });
  }

  void check(const std::shared_ptr<ClientStream>& stream) {
    const bool is_stuck = stream->is_stuck();
    {
      const MutexLock lock(mutex_);
      if (stream != stream_) return;  // it has ended
      if (is_open_ && !is_stuck) return watch(stream);
      given_up_ = unavailable(is_open_ ? "the other server takes nothing more" : "the other server does not answer");
    }
    stream->cancel();
  }

  void ended(Status status) {
    bool was_open = false;
    std::chrono::nanoseconds wait{};
    {
      const MutexLock lock(mutex_);
      if (is_closed_) return;
      stream_.reset();
      if (given_up_) status = *std::exchange(given_up_, std::nullopt);
      was_open = std::exchange(is_open_, false);
      wait = jitter(retry_);
      retry_ = std::min<std::chrono::nanoseconds>(retry_ * 2, kLastRetry);
    }
    setup_.events.broken(status, was_open);
    setup_.executor.post_at(setup_.clock.steady() + wait, [self = shared_from_this()] { self->connect(); });
  }

  const LaneSetup setup_;
  Mutex mutex_;
  std::shared_ptr<ClientStream> stream_ DROVER_GUARDED_BY(mutex_);  // none between two attempts
  std::optional<Status> given_up_ DROVER_GUARDED_BY(mutex_);        // why the stream was cancelled
  bool is_open_ DROVER_GUARDED_BY(mutex_) = false;
  bool is_closed_ DROVER_GUARDED_BY(mutex_) = false;
  std::chrono::nanoseconds retry_ DROVER_GUARDED_BY(mutex_) = kFirstRetry;
};

class Handle final : public Lane {
 public:
  explicit Handle(std::shared_ptr<Outgoing> outgoing) : outgoing_(std::move(outgoing)) {}
  ~Handle() override { outgoing_->close(); }
  void send(std::string message) override { outgoing_->send(std::move(message)); }

 private:
  const std::shared_ptr<Outgoing> outgoing_;
};

}  // namespace

std::unique_ptr<Lane> open_lane(LaneSetup setup) {
  auto outgoing = std::make_shared<Outgoing>(std::move(setup));
  outgoing->connect();
  return std::make_unique<Handle>(std::move(outgoing));
}

void accept_lane(const std::shared_ptr<ServerStream>& stream, LaneAcceptor* acceptor, const Status& proven) {
  Result<LaneSink> sink = unimplemented(std::string("unknown method ") + kPeerMethod);
  if (acceptor && !proven.ok()) {
    log::warn("rpc", "a lane is refused: no server opens it", {{"from", stream->peer()}, {"error", proven.message()}});
    sink = proven;
  } else if (acceptor) {
    sink = acceptor->accept(stream->metadata(kContextKey));
  }
  if (!sink) {
    stream->start({.message = [](const std::string&) {}, .half_closed = [] {}, .cancelled = [] {}});
    return stream->finish(sink.status());
  }
  const auto receive = [weak = std::weak_ptr(stream), sink = *std::move(sink)](std::string message) {
    const auto open = weak.lock();
    if (!open) return;
    if (const Status status = sink(std::move(message)); !status.ok()) return open->finish(status);
    open->read_next();
  };
  stream->start({.message = receive,
                 .half_closed = [stream] { stream->finish(ok_status()); },
                 .cancelled = [stream] { stream->finish(cancelled("the other server has gone")); }});
  stream->post({});  // welcome
}

}  // namespace drover::wire
