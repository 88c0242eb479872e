#include "node_session.h"

#include "call_codec.h"

namespace drover::wire {
namespace {

constexpr size_t kEarlyLimit = 64;

}  // namespace

struct NodeSession::Waiting {
  std::function<void(Result<Reply>)> done;
  std::string body;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
  uint64_t timer = 0;
};

// The caller's end.
class NodeSession::Handle final : public StreamCall {
 public:
  explicit Handle(std::shared_ptr<Carried> carried) : carried_(std::move(carried)) {}
  ~Handle() override { cancel(); }
  bool send(std::string message) override { return carried_->send(std::move(message)); }
  void close_sending() override { carried_->close_sending(); }
  void cancel() override { carried_->end(cancelled("the caller has gone")); }

 private:
  const std::shared_ptr<Carried> carried_;
};

bool NodeSession::open_frame(uint64_t number, const CallContext& context, std::string request, bool streaming) {
  v1::Frame frame;
  frame.set_call(number);
  *frame.mutable_open()->mutable_context() = to_wire(context, clock_.steady());
  frame.mutable_open()->set_request(std::move(request));
  frame.mutable_open()->set_streaming(streaming);
  frame.mutable_open()->set_from_server(context.from_server);
  return stream_->post(frame.SerializeAsString());
}

uint64_t NodeSession::limit(uint64_t number, const CallContext& context) {
  if (context.deadline == SteadyTime::max()) return 0;
  return executor_.post_at(context.deadline, [weak = weak_from_this(), number] {
    if (auto self = weak.lock()) self->give_up(number, deadline_exceeded("the node did not answer in time"));
  });
}

void NodeSession::call(CallContext context, std::string request, std::function<void(Result<Reply>)> done) {
  if (request.size() + 65536 > kMaxMessage) {
    executor_.post([done = std::move(done), size = request.size()] { done(too_large(size)); });
    return;
  }
  auto waiting = std::make_shared<Waiting>();
  waiting->done = std::move(done);
  uint64_t number = 0;
  {
    MutexLock lock(mutex_);
    if (ended_) {
      executor_.post([waiting, why = *ended_] { waiting->done(why); });
      return;
    }
    number = next_++;
    waiting_.emplace(number, waiting);
    waiting->timer = limit(number, context);
  }
  if (!open_frame(number, context, std::move(request), false)) {
    give_up(number, unavailable("the connection to the node was lost"));
    return;
  }
  if (!context.stop.stop_possible()) return;
  // On the executor: the token may be stopped under its owner's locks.
  MutexLock lock(mutex_);
  if (!waiting_.contains(number)) return;
  waiting->on_stop.emplace(context.stop, [weak = weak_from_this(), number] {
    if (auto self = weak.lock()) {
      self->executor_.post([self, number] { self->give_up(number, cancelled("the caller has gone")); });
    }
  });
}

Result<std::unique_ptr<StreamCall>> NodeSession::open(CallContext context, std::string request,
                                                      StreamReceiver receiver) {
  if (request.size() + 65536 > kMaxMessage) return too_large(request.size());
  std::shared_ptr<Carried> carried;
  uint64_t number = 0;
  {
    MutexLock lock(mutex_);
    if (ended_) return *ended_;
    number = next_++;
    carried = std::make_shared<Carried>(weak_from_this(), number);
    DROVER_RETURN_IF_ERROR(carried->start(executor_, std::move(receiver)));
    carried_.emplace(number, carried);
    carried->timer = limit(number, context);
    if (context.stop.stop_possible()) {
      carried->on_stop.emplace(context.stop, [weak = weak_from_this(), number] {
        if (auto self = weak.lock()) {
          self->executor_.post([self, number] { self->give_up(number, cancelled("the caller has gone")); });
        }
      });
    }
  }
  if (!open_frame(number, context, std::move(request), true)) {
    carried->end(unavailable("the connection to the node was lost"));
  }
  return std::unique_ptr<StreamCall>(std::make_unique<Handle>(std::move(carried)));
}

void NodeSession::receive(v1::Frame frame) {
  std::shared_ptr<Waiting> waiting;
  {
    MutexLock lock(mutex_);
    auto at = waiting_.find(frame.call());
    if (at == waiting_.end()) {
      // A streaming call that never got a stream of its own.
      auto stream = carried_.find(frame.call());
      if (stream == carried_.end() || !frame.has_close()) return;
      executor_.post([carried = stream->second, frame] { carried->receive(frame); });
      return;
    }
    if (frame.step_case() == v1::Frame::kMessage) {
      at->second->body = std::move(*frame.mutable_message());
      return;
    }
    if (!frame.has_close()) return;
    waiting = std::move(at->second);
    waiting_.erase(at);
  }
  waiting->on_stop.reset();
  if (waiting->timer != 0) executor_.cancel_timer(waiting->timer);
  const v1::Frame::Close& close = frame.close();
  if (Status status = from_wire(close.code(), close.text(), close.details()); !status.ok()) {
    waiting->done(std::move(status));
  } else {
    waiting->done(Reply{std::move(waiting->body), from_wire(close.meta())});
  }
}

void NodeSession::give_up(uint64_t number, const Status& why) {
  std::shared_ptr<Waiting> waiting;
  std::shared_ptr<Carried> carried;
  {
    MutexLock lock(mutex_);
    if (auto at = waiting_.find(number); at != waiting_.end()) {
      waiting = std::move(at->second);
      waiting_.erase(at);
    } else if (auto stream = carried_.find(number); stream != carried_.end()) {
      carried = stream->second;
    }
  }
  if (carried) carried->end(why);
  if (!waiting) return;
  v1::Frame frame;
  frame.set_call(number);
  frame.mutable_close()->set_code(static_cast<int>(why.code()));
  stream_->post(frame.SerializeAsString());
  waiting->on_stop.reset();
  if (waiting->timer != 0) executor_.cancel_timer(waiting->timer);
  waiting->done(why);
}

void NodeSession::forget(uint64_t number) {
  std::shared_ptr<Carried> carried;  // let go of outside the lock
  {
    MutexLock lock(mutex_);
    auto at = carried_.find(number);
    if (at == carried_.end()) return;
    carried = std::move(at->second);
    carried_.erase(at);
  }
  carried->on_stop.reset();
  if (carried->timer != 0) executor_.cancel_timer(carried->timer);
}

void NodeSession::end(const Status& why) {
  decltype(waiting_) waiting;
  decltype(carried_) carried;
  {
    MutexLock lock(mutex_);
    if (ended_) return;
    ended_ = why;
    waiting.swap(waiting_);
    carried = carried_;
  }
  for (auto& [number, one] : waiting) {
    one->on_stop.reset();
    if (one->timer != 0) executor_.cancel_timer(one->timer);
    one->done(why);
  }
  for (auto& [number, one] : carried) one->end(why);
}

Result<std::shared_ptr<NodeSession::Carried>> NodeSession::carry(uint64_t call, const std::string& secret) {
  if (secret != secret_) return permission_denied("node secret ID does not match");
  MutexLock lock(mutex_);
  auto at = carried_.find(call);
  if (at == carried_.end()) return not_found("the call is over");
  return at->second;
}

// ---------------------------------------------------------------------------------------------------------- one stream

Status NodeSession::Carried::start(Executor& executor, StreamReceiver receiver) {
  return delivery_->start(executor, std::move(receiver),
                          {.next =
                               [self = shared_from_this()] {
                                 MutexLock lock(self->mutex_);
                                 auto stream = self->stream_;
                                 lock.unlock();
                                 if (stream) stream->read_next();
                               },
                           .cancel = [self = shared_from_this()] { self->end(cancelled("the caller has gone")); }});
}

v1::Frame NodeSession::Carried::frame() const {
  v1::Frame frame;
  frame.set_call(number_);
  return frame;
}

bool NodeSession::Carried::link(std::shared_ptr<ServerStream> stream) {
  MutexLock lock(mutex_);
  if (over_ || stream_) return false;
  stream_ = std::move(stream);
  for (std::string& message : early_) stream_->post(std::move(message));
  early_.clear();
  return true;
}

void NodeSession::Carried::receive(const v1::Frame& frame) {
  if (frame.step_case() == v1::Frame::kMessage) {
    delivery_->push(frame.message());  // read on when it has been delivered
  } else if (frame.has_close()) {
    end(from_wire(frame.close().code(), frame.close().text(), frame.close().details()));
  } else {
    MutexLock lock(mutex_);
    auto stream = stream_;
    lock.unlock();
    if (stream) stream->read_next();
  }
}

void NodeSession::Carried::lost() { end(unavailable("the connection to the node was lost")); }

bool NodeSession::Carried::send(std::string message) {
  v1::Frame step = frame();
  step.set_message(std::move(message));
  MutexLock lock(mutex_);
  if (over_) return false;
  if (auto stream = stream_) {
    lock.unlock();
    return stream->send(step.SerializeAsString());
  }
  if (early_.size() >= kEarlyLimit) return false;
  early_.push_back(step.SerializeAsString());
  return true;
}

void NodeSession::Carried::close_sending() {
  v1::Frame step = frame();
  step.set_half_close(true);
  MutexLock lock(mutex_);
  if (over_) return;
  if (stream_) {
    stream_->post(step.SerializeAsString());
  } else {
    early_.push_back(step.SerializeAsString());
  }
}

void NodeSession::Carried::end(const Status& why) {
  std::shared_ptr<ServerStream> stream;
  {
    MutexLock lock(mutex_);
    if (over_) return;
    over_ = true;
    stream = std::move(stream_);
  }
  auto session = session_.lock();
  if (stream) {
    stream->finish(why.code() == Code::cancelled ? why : ok_status());
  } else if (session) {
    // The agent has the call but no stream for it yet: it learns the end by the connection, or when it opens the
    // stream.
    v1::Frame step = frame();
    step.mutable_close()->set_code(static_cast<int>(why.code()));
    session->stream_->post(step.SerializeAsString());
  }
  delivery_->close(why);
  if (session) session->forget(number_);
}

}  // namespace drover::wire
