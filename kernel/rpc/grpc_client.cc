#include "kernel/rpc/grpc_client.h"

#include <pthread.h>

#include <map>
#include <mutex>

#include "kernel/rpc/delivery.h"
#include "kernel/rpc/grpc_credentials.h"
#include "kernel/rpc/grpc_node_link.h"
#include "kernel/rpc/grpc_stream.h"
#include "kernel/rpc/wire.h"

namespace drover::rpc {
namespace {

// One unary call. Shared by the stream's events and the caller's stop token.
struct Asked {
  std::function<void(Result<Reply>)> done;
  std::optional<std::string> body;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
  std::shared_ptr<ClientStream> stream;
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

class GrpcClient::Impl {
 public:
  Impl(Pool& p, Clock& c, std::optional<Tls> t, std::function<void(const std::string&)> u)
      : pool(p), clock(c), tls(std::move(t)), unreachable(std::move(u)) {}

  std::shared_ptr<grpc::Channel> channel(const std::string& address) {
    std::lock_guard lock(mutex);
    auto& known = channels[address];
    if (!known) known = make_channel(address, tls);
    return known;
  }

  Pool& pool;
  Clock& clock;
  const std::optional<Tls> tls;
  const std::function<void(const std::string& address)> unreachable;
  StreamGroup streams;
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels;  // guarded by mutex, like the following
  std::unique_ptr<NodeLink> link;
  bool stopped = false;
};

GrpcClient::GrpcClient(Pool& pool, Clock& clock, std::optional<Tls> tls,
                       std::function<void(const std::string& address)> unreachable)
    : impl_(std::make_unique<Impl>(pool, clock, std::move(tls), std::move(unreachable))) {
  take_over_log();
}

GrpcClient::~GrpcClient() { stop(); }

void GrpcClient::stop() {
  std::unique_ptr<NodeLink> link;
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stopped = true;
    link = std::move(impl_->link);
  }
  if (link) link->stop();
  impl_->streams.stop();
}

void GrpcClient::call_server(const std::string& address, CallContext context, std::string request,
                             std::function<void(Result<Reply>)> done) {
  if (request.size() > kMaxMessage) return done(too_large(request.size()));
  if (context.stop.stop_requested()) return done(cancelled("the caller has gone"));
  auto asked = std::make_shared<Asked>();
  asked->done = std::move(done);
  asked->stream = std::make_shared<ClientStream>(impl_->channel(address));
  auto stream = asked->stream;
  asked->on_stop.emplace(context.stop, [stream] { stream->cancel(); });
  ClientStream::Events events{.message =
                                  [asked](std::string message) {
                                    asked->body = std::move(message);
                                    asked->stream->read_next();
                                  },
                              .ended =
                                  [asked, address, impl = impl_.get()](Status status, const std::string& meta_bytes) {
                                    asked->on_stop.reset();
                                    asked->stream.reset();
                                    if (status.code() == Code::unavailable) impl->unreachable(address);
                                    if (!status.ok()) return asked->done(std::move(status));
                                    if (!asked->body)
                                      return asked->done(internal_error("server " + address + " sent no answer"));
                                    v1::ReplyMeta meta;
                                    meta.ParseFromString(meta_bytes);
                                    asked->done(Reply{*std::move(asked->body), from_wire(meta)});
                                  }};
  const ClientStream::Call call{.method = context.method,
                                .context = to_wire(context, impl_->clock.steady()).SerializeAsString(),
                                .deadline = context.deadline};
  if (!ClientStream::start(stream, impl_->streams, call, std::move(events))) {
    asked->on_stop.reset();
    asked->stream.reset();
    return asked->done(unavailable("this agent is stopping"));
  }
  stream->post(std::move(request));
  stream->close_sending();
}

Result<std::unique_ptr<StreamCall>> GrpcClient::open_server(const std::string& address, CallContext context,
                                                            std::string request, StreamReceiver receiver) {
  if (request.size() > kMaxMessage) return too_large(request.size());
  auto stream = std::make_shared<ClientStream>(impl_->channel(address));
  auto delivery = std::make_shared<Delivery>();
  DROVER_RETURN_IF_ERROR(
      delivery->start(impl_->pool, std::move(receiver),
                      {.next = [stream] { stream->read_next(); }, .cancel = [stream] { stream->cancel(); }}));
  ClientStream::Events events{.message = [delivery](std::string message) { delivery->push(std::move(message)); },
                              .ended =
                                  [delivery, address, impl = impl_.get()](Status status, const std::string&) {
                                    if (status.code() == Code::unavailable) impl->unreachable(address);
                                    delivery->close(std::move(status));
                                  }};
  const ClientStream::Call call{.method = context.method,
                                .context = to_wire(context, impl_->clock.steady()).SerializeAsString(),
                                .deadline = context.deadline};
  if (!ClientStream::start(stream, impl_->streams, call, std::move(events))) {
    delivery->close(unavailable("this agent is stopping"));
  } else {
    stream->post(std::move(request));
  }
  return std::unique_ptr<StreamCall>(std::make_unique<RemoteStream>(std::move(stream), std::move(context.stop)));
}

void GrpcClient::call_node(const Uuid& node, CallContext context, std::string request,
                           std::function<void(Result<Reply>)> done) {
  GrpcServer* server = server_;
  if (!server) return done(not_found("No path to node"));
  server->call_node(node, std::move(context), std::move(request), std::move(done));
}

Result<std::unique_ptr<StreamCall>> GrpcClient::open_node(const Uuid& node, CallContext context, std::string request,
                                                          StreamReceiver receiver) {
  GrpcServer* server = server_;
  if (!server) return not_found("No path to node");
  return server->open_node(node, std::move(context), std::move(request), std::move(receiver));
}

void GrpcClient::attach(Attachment attachment) {
  std::lock_guard lock(impl_->mutex);
  if (impl_->link || impl_->stopped) return;
  impl_->link = std::make_unique<NodeLink>(
      NodeLink::Setup{.node = attachment.node,
                      .secret = std::move(attachment.secret),
                      .server = std::move(attachment.server),
                      .unreachable = impl_->unreachable,
                      .channel = [impl = impl_.get()](const std::string& address) { return impl->channel(address); },
                      .router = *attachment.router,
                      .pool = impl_->pool,
                      .clock = impl_->clock,
                      .streams = impl_->streams});
}

}  // namespace drover::rpc
