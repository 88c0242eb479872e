#include "server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <utility>

#include "call_codec.h"
#include "credentials.h"
#include "drover/log.h"
#include "drover/mutex.h"
#include "lane.h"
#include "node_session.h"
#include "places.h"
#include "stream.h"

namespace drover::wire {
namespace {

// Every call that is out is a stream of its agent's one connection: blocking queries, logs and consoles of a thousand
// tasks. Without a limit one client could open as many as it likes.
constexpr int kMaxStreams = 10'000;
constexpr int kExpected = 16;  // calls that may come at once, before one waits for the next round of a queue
constexpr auto kStopTime = std::chrono::milliseconds(300);  // for answers on their way; then calls are cancelled

// One call that this process answers or forwards.
class Served : public std::enable_shared_from_this<Served> {
 public:
  Served(std::shared_ptr<ServerStream> stream, std::string name, const Wire::Setup& setup, bool from_server)
      : stream_(std::move(stream)), name_(std::move(name)), setup_(setup), from_server_(from_server) {}

  void start() {
    stream_->start({.message = [self = shared_from_this()](std::string message) { self->receive(std::move(message)); },
                    .half_closed = [self = shared_from_this()] { self->half_closed(); },
                    .cancelled = [self = shared_from_this()] { self->stop_.request_stop(); }});
  }

 private:
  void receive(std::string message) {
    if (begun_) {
      // On a thread that may wait: the handler may take its time with earlier messages. Reads follow one another, so do
      // these.
      const Status lent = setup_.executor.run_blocking([self = shared_from_this(), message = std::move(message)] {
        if (auto call = self->stream_call()) call->send(message);
        self->stream_->read_next();
      });
      if (!lent.ok()) stream_->finish(lent);
      return;
    }
    begun_ = true;
    v1::CallContext context_message;
    if (!context_message.ParseFromString(stream_->metadata(kContextKey)))
      return stream_->finish(invalid_argument(std::string(kContextKey) + " is not a valid CallContext"));
    CallContext context = from_wire(context_message, setup_.clock.steady());
    context.method = name_;
    context.stop = stop_.get_token();
    context.from_server = from_server_;
    if (context.remote_address.empty()) context.remote_address = stream_->peer();
    const MethodForm form = setup_.form_of(name_);
    if (form == MethodForm::unknown) return stream_->finish(unimplemented("unknown method " + name_));
    if (form == MethodForm::streaming) {
      setup_.executor.post(
          [self = shared_from_this(), context = std::move(context), message = std::move(message)]() mutable {
            self->open(std::move(context), std::move(message));
          });
      return;
    }
    setup_.router.call(std::move(context), std::move(message), [self = shared_from_this()](Result<Reply> reply) {
      if (!reply) return self->stream_->finish(reply.status());
      if (reply->body.size() > kMaxMessage) return self->stream_->finish(too_large(reply->body.size()));
      self->stream_->answer(std::move(reply->body), to_wire(reply->meta).SerializeAsString());
    });
  }

  void open(CallContext context, std::string request) {
    StreamReceiver receiver{
        .message = [stream = stream_](std::string message) { return stream->send(std::move(message)); },
        .closed =
            [self = shared_from_this()](const Status& status) {
              self->stream_->finish(status);
              std::shared_ptr<StreamCall> ended;  // dropped outside the lock
              MutexLock lock(self->mutex_);
              self->closed_ = true;
              ended = std::move(self->call_);
            }};
    auto opened = setup_.router.open(std::move(context), std::move(request), std::move(receiver));
    if (!opened) return stream_->finish(opened.status());
    {
      MutexLock lock(mutex_);
      if (closed_) return;
      call_ = *std::move(opened);
    }
    stream_->read_next();
  }

  void half_closed() {
    if (!begun_) return stream_->finish(invalid_argument("a call begins with its request"));
    if (auto call = stream_call()) call->close_sending();
  }

  std::shared_ptr<StreamCall> stream_call() {
    MutexLock lock(mutex_);
    return call_;
  }

  const std::shared_ptr<ServerStream> stream_;
  const std::string name_;
  const Wire::Setup& setup_;
  const bool from_server_;
  std::stop_source stop_;
  bool begun_ = false;  // only touched by reads
  Mutex mutex_;
  std::shared_ptr<StreamCall> call_ DROVER_GUARDED_BY(mutex_);  // nothing once the call has ended
  bool closed_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace

class GrpcServer::Impl {
 public:
  Impl(const Wire::Setup& setup, const WireLimits& limits, Queues& queues)
      : setup_(setup), limits_(limits), queues_(queues), places_(limits.connections_per_address) {}
  ~Impl() { stop(); }

  Status listen(const std::string& address, const std::string& option);
  void stop();
  std::string address() const { return address_; }

  std::shared_ptr<NodeSession> session(const Uuid& node) const {
    MutexLock lock(mutex_);
    auto at = sessions_.find(node);
    return at == sessions_.end() ? nullptr : at->second;
  }

 private:
  class Attached;
  void expect(grpc::ServerCompletionQueue& queue);
  void begin(std::shared_ptr<ServerStream> stream);

  const Wire::Setup& setup_;
  const WireLimits limits_;
  Queues& queues_;
  Places places_;
  std::string address_;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::Server> server_;
  mutable Mutex mutex_;
  CondVar ended_;
  size_t calls_ DROVER_GUARDED_BY(mutex_) = 0;  // expected ones, too
  bool is_stopping_ DROVER_GUARDED_BY(mutex_) = false;
  std::map<Uuid, std::shared_ptr<NodeSession>> sessions_ DROVER_GUARDED_BY(mutex_);
};

// One stream that an agent opened.
class GrpcServer::Impl::Attached : public std::enable_shared_from_this<Attached> {
 public:
  Attached(std::shared_ptr<ServerStream> stream, Impl& server) : stream_(std::move(stream)), server_(server) {}

  void start() {
    stream_->start({.message = [self = shared_from_this()](const std::string& message) { self->receive(message); },
                    .half_closed = [self = shared_from_this()] { self->gone(); },
                    .cancelled = [self = shared_from_this()] { self->gone(); }});
  }

 private:
  void receive(const std::string& message) {
    v1::Frame frame;
    if (!frame.ParseFromString(message)) return stream_->finish(invalid_argument("not a valid Frame"));
    MutexLock lock(mutex_);
    const auto session = session_;
    const auto carried = carried_;
    const bool first = !std::exchange(begun_, true);
    lock.unlock();
    if (carried) return carried->receive(frame);
    if (session) {
      session->receive(std::move(frame));
      return stream_->read_next();
    }
    const Uuid node = Uuid::from_bytes(frame.attach().node_id());
    if (!first || node.is_zero())
      return stream_->finish(invalid_argument("the first frame must say which node attaches"));
    if (frame.call() != 0) return carry(node, frame);
    const Status lent = server_.setup_.executor.run_blocking(
        [self = shared_from_this(), node, secret = frame.attach().secret_id()] { self->attach(node, secret); });
    if (!lent.ok()) stream_->finish(lent);
  }

  void carry(const Uuid& node, const v1::Frame& frame) {
    auto session = server_.session(node);
    if (!session) return stream_->finish(not_found("the node is not attached"));
    auto carried = session->carry(frame.call(), frame.attach().secret_id());
    if (!carried) return stream_->finish(carried.status());
    {
      MutexLock lock(mutex_);
      carried_ = *carried;
    }
    if (!(*carried)->link(stream_)) return stream_->finish(not_found("the call is over"));
    stream_->read_next();
  }

  void attach(const Uuid& node, const std::string& secret) {
    if (Status proven = server_.setup_.verify_node(node, secret); !proven.ok()) return stream_->finish(proven);
    auto session = std::make_shared<NodeSession>(node, secret, stream_, server_.setup_.executor, server_.setup_.clock);
    std::shared_ptr<NodeSession> former;
    {
      MutexLock lock(mutex_);
      if (gone_) return stream_->finish(cancelled("the agent has gone"));
      session_ = session;
      MutexLock sessions(server_.mutex_);
      former = std::exchange(server_.sessions_[node], session);
    }
    if (former) {
      former->end(unavailable("the node attached anew"));
      former->close(aborted("the node attached anew"));
    }
    log::info("rpc", "node attached", {{"node", node.to_string()}});
    v1::Frame welcome;
    welcome.mutable_attach()->set_node_id(node.bytes());
    stream_->post(welcome.SerializeAsString());
    stream_->read_next();
  }

  void gone() {
    std::shared_ptr<NodeSession> session;
    std::shared_ptr<NodeSession::Carried> carried;
    bool waits_for_proof = false;
    {
      MutexLock lock(mutex_);
      if (std::exchange(gone_, true)) return;
      session = std::move(session_);
      carried = std::move(carried_);
      waits_for_proof = begun_ && !session && !carried;
    }
    if (carried) carried->lost();
    if (session) {
      {
        MutexLock lock(server_.mutex_);
        auto at = server_.sessions_.find(session->node());
        if (at != server_.sessions_.end() && at->second == session) server_.sessions_.erase(at);
      }
      log::info("rpc", "node detached", {{"node", session->node().to_string()}});
      session->end(unavailable("the connection to the node was lost"));
    }
    if (!waits_for_proof) stream_->finish(ok_status());  // else attach() does
  }

  const std::shared_ptr<ServerStream> stream_;
  Impl& server_;
  Mutex mutex_;
  bool begun_ DROVER_GUARDED_BY(mutex_) = false;
  bool gone_ DROVER_GUARDED_BY(mutex_) = false;
  std::shared_ptr<NodeSession> session_ DROVER_GUARDED_BY(mutex_);
  std::shared_ptr<NodeSession::Carried> carried_ DROVER_GUARDED_BY(mutex_);
};

void GrpcServer::Impl::expect(grpc::ServerCompletionQueue& queue) {
  {
    const MutexLock lock(mutex_);
    if (is_stopping_) return;
    ++calls_;
  }
  ServerStream::expect(service_, queue,
                       {.arrived =
                            [this, &queue](std::shared_ptr<ServerStream> stream) {
                              expect(queue);
                              begin(std::move(stream));
                            },
                        .over =
                            [this] {
                              const MutexLock lock(mutex_);
                              if (--calls_ == 0) ended_.notify_all();
                            }});
}

void GrpcServer::Impl::begin(std::shared_ptr<ServerStream> stream) {
  auto place = places_.take(stream->peer());
  if (!place) {
    stream->start({.message = [](const std::string&) {}, .half_closed = [] {}, .cancelled = [] {}});
    stream->finish(
        resource_exhausted("this address has too many connections to this server's RPC port; see "
                           "limits { rpc_max_conns_per_client }"));
    return;
  }
  stream->keep(std::move(place));
  if (stream->method() == kAttachMethod) {
    std::make_shared<Attached>(std::move(stream), *this)->start();
  } else if (stream->method() == kPeerMethod) {
    accept_lane(stream, setup_.lanes, check_server(stream->caller(), setup_.tls));
  } else {
    const bool from_server = check_server(stream->caller(), setup_.tls).ok();
    std::string method = stream->method();
    std::make_shared<Served>(std::move(stream), std::move(method), setup_, from_server)->start();
  }
}

Status GrpcServer::Impl::listen(const std::string& address, const std::string& option) {
  grpc::ServerBuilder& builder = queues_.builder();
  int port = 0;
  builder.RegisterAsyncGenericService(&service_);
  builder.AddListeningPort(address, server_credentials(setup_.tls), &port);
  builder.SetMaxReceiveMessageSize(kMaxMessage);
  builder.SetMaxSendMessageSize(kMaxMessage);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 64 * 1024);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 2'000);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(limits_.handshake).count()));
  server_ = builder.BuildAndStart();
  if (!server_ || port == 0) {
    server_.reset();
    const std::string port_text = address.substr(address.rfind(':') + 1);
    return failed_precondition("cannot listen for calls on " + address + ": port " + port_text +
                               " is in use by another program, or the address is not this machine's; stop it, or set " +
                               option);
  }
  address_ = address.substr(0, address.rfind(':') + 1) + std::to_string(port);
  for (const auto& queue : queues_.all()) {
    for (int i = 0; i < kExpected; ++i) expect(*queue);
  }
  return ok_status();
}

void GrpcServer::Impl::stop() {
  if (!server_) return;
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
  }
  server_->Shutdown(std::chrono::system_clock::now() + kStopTime);
  {
    MutexLock lock(mutex_);
    ended_.wait(lock, [this]() DROVER_REQUIRES(mutex_) { return calls_ == 0; });
  }
  server_.reset();
}

GrpcServer::GrpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrpcServer::~GrpcServer() = default;

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const std::string& address, const std::string& option,
                                                      const Wire::Setup& setup, const WireLimits& limits,
                                                      Queues& queues) {
  auto impl = std::make_unique<Impl>(setup, limits, queues);
  DROVER_RETURN_IF_ERROR(impl->listen(address, option));
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(impl)));
}

void GrpcServer::stop() { impl_->stop(); }
std::string GrpcServer::address() const { return impl_->address(); }

bool GrpcServer::has_node(const Uuid& node) const { return impl_->session(node) != nullptr; }

void GrpcServer::call_node(const Uuid& node, CallContext context, std::string request,
                           std::function<void(Result<Reply>)> done) {
  if (auto session = impl_->session(node))
    return session->call(std::move(context), std::move(request), std::move(done));
  done(not_found("No path to node"));
}

Result<std::unique_ptr<StreamCall>> GrpcServer::open_node(const Uuid& node, CallContext context, std::string request,
                                                          StreamReceiver receiver) {
  if (auto session = impl_->session(node))
    return session->open(std::move(context), std::move(request), std::move(receiver));
  return not_found("No path to node");
}

}  // namespace drover::wire
