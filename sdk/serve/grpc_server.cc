#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <optional>
#include <thread>

#include "../encoding/utf8.h"
#include "drover/mutex.h"
#include "server.h"
#include "workers.h"

namespace drover::serve {
namespace {

constexpr int kMaxMessageBytes = 64 << 20;
constexpr size_t kMaxErrorBytes = 2000;  // an error travels as a header, of which 8 KiB are read, written with escapes

grpc::ByteBuffer buffer_of(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::optional<std::string> bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return {};
  std::string out;
  out.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) out.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return out;
}

grpc::Status to_grpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), std::string(utf8::cut(status.message(), kMaxErrorBytes)),
          status.details()};
}

Status run(const Handler& handler, Call& call) {
  try {
    return handler(call);
  } catch (const std::exception& error) {
    return Status(Code::unknown, std::string("the plugin failed: ") + error.what());
  } catch (...) {
    return Status(Code::unknown, "the plugin failed with an exception of a type of its own");
  }
}

// Owned by gRPC until OnDone, and by the handler's thread.
class ServedCall final : public grpc::ServerGenericBidiReactor, public Call {
 public:
  // `handler` is null for a method that there is not: that is said before any request has come.
  static ServedCall* start(const Handler* handler, Workers& workers) {
    auto call = std::make_shared<ServedCall>(handler, workers);
    call->itself_ = call;
    if (handler) {
      call->StartRead(&call->read_);
    } else {
      call->Finish({grpc::StatusCode::UNIMPLEMENTED, "the plugin has no such method"});
    }
    return call.get();
  }

  ServedCall(const Handler* handler, Workers& workers) : handler_(handler), workers_(workers) {}

  const std::string& request() const override { return request_; }
  std::stop_token stop() const override { return stop_.get_token(); }

  std::optional<std::string> receive(std::stop_token stop) override {
    MutexLock lock(mutex_);
    if (!received_ && !has_heard_all_ && !std::exchange(is_reading_, true)) StartRead(&read_);
    changed_.wait(lock, stop, [this]() DROVER_REQUIRES(mutex_) { return received_ || has_heard_all_; });
    return std::exchange(received_, std::nullopt);
  }

  bool send(std::string message) override {
    MutexLock lock(mutex_);
    if (stop_.stop_requested()) return false;
    written_.reset();
    write_ = buffer_of(message);
    StartWrite(&write_);
    changed_.wait(lock, [this]() DROVER_REQUIRES(mutex_) { return written_.has_value(); });
    return *written_;
  }

 private:
  void OnReadDone(bool ok) override {
    std::optional<std::string> bytes = ok ? bytes_of(read_) : std::nullopt;
    if (has_request_) return take_next(std::move(bytes));
    if (!bytes) return Finish({grpc::StatusCode::INVALID_ARGUMENT, "the call has no request that can be read"});
    request_ = *std::move(bytes);
    has_request_ = true;
    const bool is_posted = workers_.post([call = itself_] { call->Finish(to_grpc(run(*call->handler_, *call))); });
    if (!is_posted) Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "the plugin has too many calls at once"});
  }

  void take_next(std::optional<std::string> message) {
    const MutexLock lock(mutex_);
    is_reading_ = false;
    received_ = std::move(message);
    has_heard_all_ = !received_;
    changed_.notify_all();
  }

  void OnWriteDone(bool ok) override {
    const MutexLock lock(mutex_);
    written_ = ok;
    changed_.notify_all();
  }

  void OnCancel() override { stop_.request_stop(); }

  void OnDone() override { const std::shared_ptr<ServedCall> last = std::move(itself_); }

  const Handler* const handler_;
  Workers& workers_;
  grpc::ByteBuffer read_, write_;
  std::string request_;       // constant once the handler runs
  bool has_request_ = false;  // of gRPC's calls, one at a time
  std::stop_source stop_;
  Mutex mutex_;
  CondVarAny changed_;
  std::optional<bool> written_ DROVER_GUARDED_BY(mutex_);
  bool is_reading_ DROVER_GUARDED_BY(mutex_) = false;  // one more request was asked for
  bool has_heard_all_ DROVER_GUARDED_BY(mutex_) = false;
  std::optional<std::string> received_ DROVER_GUARDED_BY(mutex_);
  std::shared_ptr<ServedCall> itself_;  // of gRPC's calls, until OnDone
};

class GrpcServer final : public Server, public grpc::CallbackGenericService {
 public:
  explicit GrpcServer(Methods methods) : methods_(std::move(methods)) {}
  ~GrpcServer() override {
    if (shutdown_.joinable()) shutdown_.join();
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

  Status start(const std::string& socket, const std::optional<ServerTls>& tls) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, credentials(tls));
    builder.RegisterCallbackGenericService(this);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.SetMaxSendMessageSize(kMaxMessageBytes);
    server_ = builder.BuildAndStart();
    return server_ ? ok_status() : unavailable("cannot listen on " + socket);
  }

  bool stop(SteadyTime open_until, SteadyTime deadline) override {
    const auto grace = std::max(open_until - std::chrono::steady_clock::now(), SteadyTime::duration::zero());
    // On a thread of its own: it waits for the handlers for ever, and a driver may block for ever.
    shutdown_ = std::thread([this, until = std::chrono::system_clock::now() + grace] { server_->Shutdown(until); });
    return workers_.wait_idle(deadline);
  }

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    const auto found = methods_.find(context->method());
    return ServedCall::start(found == methods_.end() ? nullptr : &found->second, workers_);
  }

 private:
  static std::shared_ptr<grpc::ServerCredentials> credentials(const std::optional<ServerTls>& tls) {
    if (!tls) return grpc::InsecureServerCredentials();
    grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = tls->client;
    options.pem_key_cert_pairs.push_back({tls->identity.key, tls->identity.cert});
    return grpc::SslServerCredentials(options);
  }

  const Methods methods_;
  Workers workers_{kMaxCalls};
  std::unique_ptr<grpc::Server> server_;
  std::thread shutdown_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(const std::string& socket, Methods methods,
                                               const std::optional<ServerTls>& tls) {
  auto server = std::make_unique<GrpcServer>(std::move(methods));
  DROVER_RETURN_IF_ERROR(server->start(socket, tls));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace drover::serve
