#include "node_link.h"

#include <pthread.h>

#include <algorithm>
#include <random>

#include "call.pb.h"
#include "call_codec.h"
#include "drover/log.h"
#include "drover/pause.h"

namespace drover::wire {
namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(100);
constexpr auto kLongestPause = std::chrono::seconds(5);

std::string attach_frame(const NodeLink::Setup& setup, uint64_t call) {
  v1::Frame frame;
  frame.set_call(call);
  frame.mutable_attach()->set_node_id(setup.node.bytes());
  frame.mutable_attach()->set_secret_id(setup.secret);
  return frame.SerializeAsString();
}

v1::Frame close_frame(uint64_t call, const Status& status, const ReplyMeta& meta) {
  v1::Frame frame;
  frame.set_call(call);
  WireStatus wire = to_wire(status);
  frame.mutable_close()->set_code(wire.code);
  frame.mutable_close()->set_text(std::move(wire.text));
  frame.mutable_close()->set_details(std::move(wire.details));
  *frame.mutable_close()->mutable_meta() = to_wire(meta);
  return frame;
}

// A streaming call that a server opened, on a stream of its own.
class CarriedHere : public std::enable_shared_from_this<CarriedHere> {
 public:
  CarriedHere(const NodeLink::Setup& setup, uint64_t number, std::shared_ptr<ClientStream> stream)
      : number_(number), router_(setup.router), executor_(setup.executor), stream_(std::move(stream)) {}

  void start(const NodeLink::Setup& setup, CallContext context, std::string request) {
    context.stop = stop_.get_token();
    const bool started = ClientStream::start(
        stream_, setup.streams, {.method = kAttachMethod},
        {.message = [self = shared_from_this()](std::string message) { self->receive(std::move(message)); },
         .ended = [self = shared_from_this()](const Status&, const std::string&) { self->stop_.request_stop(); }});
    if (!started) return;
    stream_->post(attach_frame(setup, number_));
    StreamReceiver receiver{.message =
                                [stream = stream_, number = number_](std::string message) {
                                  v1::Frame frame;
                                  frame.set_call(number);
                                  frame.set_message(std::move(message));
                                  return stream->send(frame.SerializeAsString());
                                },
                            .closed = [self = shared_from_this()](const Status& status) { self->close(status); }};
    auto opened = router_.open(std::move(context), std::move(request), std::move(receiver));
    if (!opened) return close(opened.status());
    MutexLock lock(mutex_);
    if (closed_) return;
    call_ = *std::move(opened);
    if (half_closed_) call_->close_sending();
    if (!early_.empty()) deliver_locked(std::move(early_));
  }
  void stop() { stop_.request_stop(); }

 private:
  void close(const Status& status) {
    std::shared_ptr<StreamCall> ended;  // dropped outside the lock
    {
      MutexLock lock(mutex_);
      closed_ = true;
      ended = std::move(call_);
    }
    stream_->post(close_frame(number_, status, {}).SerializeAsString());
    stream_->close_sending();
    stream_->read_next();  // until the server ends the stream
  }

  void receive(std::string bytes) {
    v1::Frame frame;
    if (!frame.ParseFromString(bytes) || frame.has_close()) {
      stop_.request_stop();
      return stream_->read_next();
    }
    MutexLock lock(mutex_);
    if (frame.step_case() == v1::Frame::kMessage) {
      if (closed_) {
        stream_->read_next();
      } else if (call_) {
        deliver_locked(std::move(*frame.mutable_message()));
      } else {
        early_ = std::move(*frame.mutable_message());  // at most one: the next is not asked for before
      }
      return;
    }
    if (frame.half_close()) {
      half_closed_ = true;
      if (call_) call_->close_sending();
    }
    stream_->read_next();
  }

  // On a thread that may wait: the handler may take its time with earlier messages.
  void deliver_locked(std::string message) DROVER_REQUIRES(mutex_) {
    const Status lent = executor_.run_blocking([self = shared_from_this(), call = call_, message = std::move(message)] {
      call->send(message);
      self->stream_->read_next();
    });
    if (!lent.ok()) executor_.post([self = shared_from_this()] { self->stop_.request_stop(); });
  }

  const uint64_t number_;
  Caller& router_;
  Executor& executor_;
  const std::shared_ptr<ClientStream> stream_;
  std::stop_source stop_;
  Mutex mutex_;
  std::shared_ptr<StreamCall> call_ DROVER_GUARDED_BY(mutex_);  // nothing once the call has ended
  std::string early_ DROVER_GUARDED_BY(mutex_);
  bool closed_ DROVER_GUARDED_BY(mutex_) = false;
  bool half_closed_ DROVER_GUARDED_BY(mutex_) = false;
};

// One standing connection, until it is lost.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(const NodeLink::Setup& setup, const std::string& address)
      : setup_(setup), address_(address), channel_(setup.channel(address)) {}

  // Returns when the connection is over, or stop is requested. `attached` says whether the server had accepted it.
  Status run(const std::stop_token& stop, bool& attached) {
    stream_ = std::make_shared<ClientStream>(channel_);
    const bool started = ClientStream::start(
        stream_, setup_.streams, {.method = kAttachMethod},
        {.message = [self = shared_from_this()](const std::string& message) { self->receive(message); },
         .ended = [self = shared_from_this()](const Status& status, const std::string&) { self->end(status); }});
    if (!started) return unavailable("this agent is stopping");
    stream_->post(attach_frame(setup_, 0));
    MutexLock lock(mutex_);
    changed_.wait_for(lock, stop, setup_.patience, [this]() DROVER_REQUIRES(mutex_) { return attached_ || ended_; });
    if (attached_)
      changed_.wait(lock, stop, [this]() DROVER_REQUIRES(mutex_) {
        return ended_.has_value();
      });  // the keep-alive finds a dead one
    if (!ended_) {
      lock.unlock();
      stream_->cancel();
      lock.lock();
      changed_.wait(lock,
                    [this]() DROVER_REQUIRES(mutex_) { return ended_.has_value(); });  // cancelling ends the stream
      if (!attached_) ended_ = unavailable("the server does not answer");
    }
    attached = attached_;
    return *ended_;
  }

 private:
  void end(const Status& status) {
    std::map<uint64_t, std::stop_source> unary;
    std::map<uint64_t, std::weak_ptr<CarriedHere>> carried;
    {
      MutexLock lock(mutex_);
      unary.swap(unary_);
      carried.swap(carried_);
    }
    for (auto& [number, source] : unary) source.request_stop();
    for (auto& [number, weak] : carried) {
      if (auto one = weak.lock()) one->stop();
    }
    MutexLock lock(mutex_);
    ended_ = status.ok() ? unavailable("the server closed the connection") : status;
    changed_.notify_all();
  }

  void receive(const std::string& bytes) {
    v1::Frame frame;
    if (!frame.ParseFromString(bytes)) return stream_->cancel();
    if (frame.has_attach()) {
      log::info("rpc", "attached to server", {{"address", address_}});
      MutexLock lock(mutex_);
      attached_ = true;
      changed_.notify_all();
    } else if (frame.has_open()) {
      open(frame.call(), std::move(*frame.mutable_open()));
    } else if (frame.has_close()) {
      std::optional<std::stop_source> source;
      std::shared_ptr<CarriedHere> carried;
      {
        MutexLock lock(mutex_);
        if (auto at = unary_.find(frame.call()); at != unary_.end()) source = at->second;
        if (auto at = carried_.find(frame.call()); at != carried_.end()) carried = at->second.lock();
      }
      if (source) source->request_stop();
      if (carried) carried->stop();
    }
    stream_->read_next();
  }

  void open(uint64_t number, v1::Frame::Open open) {
    CallContext context = from_wire(open.context(), setup_.clock.steady());
    context.from_server = open.from_server();
    if (open.streaming()) {
      auto carried = std::make_shared<CarriedHere>(setup_, number, std::make_shared<ClientStream>(channel_));
      {
        MutexLock lock(mutex_);
        std::erase_if(carried_, [](const auto& entry) { return entry.second.expired(); });
        carried_.emplace(number, carried);
      }
      setup_.executor.post([self = shared_from_this(), carried, context = std::move(context),
                            request = std::move(*open.mutable_request())]() mutable {
        carried->start(self->setup_, std::move(context), std::move(request));
      });
      return;
    }
    std::stop_source source;
    context.stop = source.get_token();
    {
      MutexLock lock(mutex_);
      unary_.emplace(number, source);
    }
    setup_.router.call(
        std::move(context), std::move(*open.mutable_request()),
        [self = shared_from_this(), number](Result<Reply> reply) { self->answer(number, std::move(reply)); });
  }

  void answer(uint64_t number, Result<Reply> reply) {
    {
      MutexLock lock(mutex_);
      unary_.erase(number);
    }
    if (reply && reply->body.size() + 65536 > kMaxMessage) reply = too_large(reply->body.size());
    if (reply) {
      v1::Frame frame;
      frame.set_call(number);
      frame.set_message(std::move(reply->body));
      stream_->post(frame.SerializeAsString());
    }
    stream_->post(close_frame(number, reply.status(), reply ? reply->meta : ReplyMeta{}).SerializeAsString());
  }

  const NodeLink::Setup setup_;  // a copy: answers may come after the link has gone
  const std::string address_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::shared_ptr<ClientStream> stream_;
  Mutex mutex_;
  CondVarAny changed_;
  bool attached_ DROVER_GUARDED_BY(mutex_) = false;
  std::optional<Status> ended_ DROVER_GUARDED_BY(mutex_);
  std::map<uint64_t, std::stop_source> unary_ DROVER_GUARDED_BY(mutex_);
  std::map<uint64_t, std::weak_ptr<CarriedHere>> carried_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace

NodeLink::NodeLink(Setup setup) : setup_(std::move(setup)), secret_(setup_.secret) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  pthread_setname_np(thread_.native_handle(), "attach");
}

void NodeLink::prove_by(std::string secret) {
  const MutexLock lock(mutex_);
  secret_ = std::move(secret);
}

void NodeLink::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void NodeLink::run(const std::stop_token& stop) {
  std::mt19937_64 random{std::random_device{}()};
  std::chrono::nanoseconds delay = kFirstPause;
  while (!stop.stop_requested()) {
    const std::string address = setup_.server();
    bool attached = false;
    Setup setup = setup_;
    {
      const MutexLock lock(mutex_);
      setup.secret = secret_;
    }
    Status status = std::make_shared<Session>(setup, address)->run(stop, attached);
    if (stop.stop_requested()) return;
    // A node that registers at this moment is unknown for a little while: no reason to shout.
    log::debug("rpc", "no connection for calls to this node",
               {{"server", address}, {"attached", attached}, {"error", status.message()}});
    if (attached) {
      log::warn("rpc", "connection to server lost", {{"address", address}, {"error", status.message()}});
      delay = kFirstPause;
    }
    if (status.code() == Code::unavailable) setup_.unreachable(address);
    const double factor = std::uniform_real_distribution<double>(0.75, 1.25)(random);
    const auto wait = std::chrono::nanoseconds(static_cast<int64_t>(static_cast<double>(delay.count()) * factor));
    delay = std::min<std::chrono::nanoseconds>(delay * 2, kLongestPause);
    pause_for(wait, stop);
  }
}

}  // namespace drover::wire
