#include "client.h"

#include <atomic>
#include <optional>
#include <utility>

#include "call_codec.h"
#include "delivery.h"

namespace drover::wire {
namespace {

// One unary call. Shared by the stream's events and the caller's stop token.
struct Asked {
  std::function<void(Result<Reply>)> done;
  std::optional<std::string> body;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
  std::shared_ptr<ClientStream> stream;
  uint64_t timer = 0;  // of a deadline that gRPC does not know; 0: none
  std::atomic<bool> is_late{false};
};

// The caller's end of a streaming call.
class RemoteStream final : public StreamCall {
 public:
  RemoteStream(std::shared_ptr<ClientStream> stream, std::stop_token stop)
      : stream_(std::move(stream)), on_stop_(std::move(stop), [stream = stream_] { stream->cancel(); }) {}
  ~RemoteStream() override { stream_->cancel(); }
  bool send(std::string message) override { return stream_->send(std::move(message)); }
  void close_sending() override { stream_->close_sending(); }
  void cancel() override { stream_->cancel(); }

 private:
  const std::shared_ptr<ClientStream> stream_;
  const std::stop_callback<std::function<void()>> on_stop_;
};

}  // namespace

void GrpcClient::stop() {
  std::unique_ptr<NodeLink> link;
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
    link = std::move(link_);
  }
  if (link) link->stop();
}

ClientStream::Call GrpcClient::start_of(const CallContext& context) const {
  return {.method = context.method,
          .context = to_wire(context, setup_.clock.steady()).SerializeAsString(),
          .deadline = context.deadline};
}

void GrpcClient::call_server(const std::string& address, CallContext context, std::string request,
                             std::function<void(Result<Reply>)> done) {
  if (request.size() > kMaxMessage) return done(too_large(request.size()));
  if (context.stop.stop_requested()) return done(cancelled("the caller has gone"));
  auto asked = std::make_shared<Asked>();
  asked->done = std::move(done);
  asked->stream = std::make_shared<ClientStream>(channels_.to(address));
  auto stream = asked->stream;
  asked->on_stop.emplace(context.stop, [stream] { stream->cancel(); });
  ClientStream::Call start = start_of(context);
  if (start.deadline != SteadyTime::max() && start.deadline - setup_.clock.steady() > limits_.near_deadline) {
    asked->timer = setup_.executor.post_at(std::exchange(start.deadline, SteadyTime::max()),
                                           [late = std::weak_ptr(asked), open = std::weak_ptr(stream)] {
                                             const auto call = late.lock();
                                             const auto its_stream = open.lock();
                                             if (!call || !its_stream) return;
                                             call->is_late = true;
                                             its_stream->cancel();
                                           });
  }
  ClientStream::Events events{.message =
                                  [asked](std::string message) {
                                    asked->body = std::move(message);
                                    asked->stream->read_next();
                                  },
                              .ended =
                                  [asked, address, this](Status status, const std::string& meta_bytes) {
                                    asked->on_stop.reset();
                                    asked->stream.reset();
                                    if (asked->timer != 0) setup_.executor.cancel_timer(asked->timer);
                                    if (asked->is_late && status.code() == Code::cancelled)
                                      status = deadline_exceeded("no answer in time");
                                    if (status.code() == Code::unavailable) setup_.unreachable(address);
                                    if (!status.ok()) return asked->done(std::move(status));
                                    if (!asked->body)
                                      return asked->done(internal_error("server " + address + " sent no answer"));
                                    v1::ReplyMeta meta;
                                    meta.ParseFromString(meta_bytes);
                                    asked->done(Reply{*std::move(asked->body), from_wire(meta)});
                                  }};
  if (!ClientStream::start(stream, streams_, start, std::move(events))) {
    asked->on_stop.reset();
    asked->stream.reset();
    if (asked->timer != 0) setup_.executor.cancel_timer(asked->timer);
    return asked->done(unavailable("this agent is stopping"));
  }
  stream->post_only(std::move(request));
}

Result<std::unique_ptr<StreamCall>> GrpcClient::open_server(const std::string& address, CallContext context,
                                                            std::string request, StreamReceiver receiver) {
  if (request.size() > kMaxMessage) return too_large(request.size());
  auto stream = std::make_shared<ClientStream>(channels_.to(address));
  auto delivery = std::make_shared<Delivery>();
  DROVER_RETURN_IF_ERROR(
      delivery->start(setup_.executor, std::move(receiver),
                      {.next = [stream] { stream->read_next(); }, .cancel = [stream] { stream->cancel(); }}));
  ClientStream::Events events{.message = [delivery](std::string message) { delivery->push(std::move(message)); },
                              .ended =
                                  [delivery, address, this](Status status, const std::string&) {
                                    if (status.code() == Code::unavailable) setup_.unreachable(address);
                                    delivery->close(std::move(status));
                                  }};
  if (!ClientStream::start(stream, streams_, start_of(context), std::move(events))) {
    delivery->close(unavailable("this agent is stopping"));
  } else {
    stream->post(std::move(request));
  }
  return std::unique_ptr<StreamCall>(std::make_unique<RemoteStream>(std::move(stream), std::move(context.stop)));
}

void GrpcClient::attach(Wire::Attachment attachment) {
  const MutexLock lock(mutex_);
  if (is_stopped_) return;
  if (link_) return link_->prove_by(std::move(attachment.secret));
  link_ = std::make_unique<NodeLink>(
      NodeLink::Setup{.node = attachment.node,
                      .secret = std::move(attachment.secret),
                      .server = std::move(attachment.server),
                      .unreachable = setup_.unreachable,
                      .channel = [this](const std::string& address) { return channels_.to(address); },
                      .router = setup_.router,
                      .executor = setup_.executor,
                      .clock = setup_.clock,
                      .streams = streams_});
}

}  // namespace drover::wire
