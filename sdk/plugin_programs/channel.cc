#include "drover/plugin_programs/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <deque>

#include "drover/mutex.h"
#include "drover/plugin_programs/callback_threads.h"
#include "drover/task_driver.h"

#include "../encoding/utf8.h"

namespace drover::plugin_programs {
namespace {

constexpr int kMaxMessageBytes = 64 << 20;
constexpr size_t kMaxUnsaid = 16;  // requests that are not on their way yet; then the caller waits
constexpr size_t kMaxQueued = 64;  // messages of a stream that nobody has read yet; then the plugin waits

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

Status status_of(const grpc::Status& status) {
  if (status.ok()) return {};
  return translate(Status(static_cast<Code>(status.error_code()), utf8::valid(status.error_message())));
}

// One unary call. The callback may come after the caller has gone, so it holds a share of its own.
struct Call {
  grpc::ClientContext context;
  grpc::ByteBuffer request, answer;
  Mutex mutex;
  CondVar ended;
  std::optional<grpc::Status> status DROVER_GUARDED_BY(mutex);
};

// Owned by the caller and, until it is done, by gRPC.
class Reader final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit Reader(Messages::Keep keep) : keep_(keep) {}

  static std::shared_ptr<Reader> start(grpc::GenericStub& stub, const std::string& method, Messages::Keep keep) {
    auto reader = std::make_shared<Reader>(keep);
    reader->itself_ = reader;
    stub.PrepareBidiStreamingCall(&reader->context_, method, {}, reader.get());
    reader->AddHold();  // until the reading has ended: writes begin outside of gRPC's own calls
    reader->StartRead(&reader->buffer_);
    reader->StartCall();
    return reader;
  }

  bool say(const std::string& message) {
    MutexLock lock(mutex_);
    changed_.wait(lock,
                  [this]() DROVER_REQUIRES(mutex_) { return requests_.size() < kMaxUnsaid || is_over_ || ended_; });
    if (is_over_ || ended_ || is_finished_) return false;
    requests_.push_back(buffer_of(message));
    if (requests_.size() == 1) StartWrite(&requests_.front());
    return true;
  }

  void finish() {
    const MutexLock lock(mutex_);
    if (std::exchange(is_finished_, true) || is_over_ || ended_) return;
    if (requests_.empty()) StartWritesDone();
  }

  std::optional<std::string> next() {
    MutexLock lock(mutex_);
    changed_.wait(lock, [this]() DROVER_REQUIRES(mutex_) { return !queue_.empty() || ended_; });
    if (queue_.empty()) return {};
    std::string message = std::move(queue_.front());
    queue_.pop_front();
    if (std::exchange(is_waiting_, false)) StartRead(&buffer_);
    return message;
  }

  std::optional<std::string> newest(SteadyTime deadline) {
    MutexLock lock(mutex_);
    changed_.wait_until(lock, deadline, [this]() DROVER_REQUIRES(mutex_) { return newest_ || ended_; });
    return ended_ ? std::nullopt : newest_;
  }

  void wait_end() {
    MutexLock lock(mutex_);
    while (!ended_) {
      queue_.clear();
      if (std::exchange(is_waiting_, false)) StartRead(&buffer_);  // a read must be out for the end to come
      changed_.wait(lock);
    }
  }

  Status status() const {
    const MutexLock lock(mutex_);
    return ended_ ? *ended_ : Status();
  }

  void cancel() {
    const MutexLock lock(mutex_);
    if (!ended_) context_.TryCancel();
  }

 private:
  void OnWriteDone(bool ok) override {
    const MutexLock lock(mutex_);
    requests_.pop_front();
    changed_.notify_all();
    if (!ok || is_over_) return;
    if (!requests_.empty()) return StartWrite(&requests_.front());
    if (is_finished_) StartWritesDone();
  }

  void OnReadDone(bool ok) override {
    const MutexLock lock(mutex_);
    if (!ok) {
      is_over_ = true;
      changed_.notify_all();
      return RemoveHold();
    }
    if (auto bytes = bytes_of(buffer_)) {
      if (keep_ == Messages::Keep::newest) {
        newest_ = *std::move(bytes);
      } else {
        queue_.push_back(*std::move(bytes));
      }
    }
    changed_.notify_all();
    is_waiting_ = queue_.size() >= kMaxQueued;
    if (!is_waiting_) StartRead(&buffer_);
  }

  void OnDone(const grpc::Status& status) override {
    std::shared_ptr<Reader> last;
    const MutexLock lock(mutex_);
    ended_ = status_of(status);
    last = std::move(itself_);
    changed_.notify_all();
  }

  const Messages::Keep keep_;
  grpc::ClientContext context_;
  grpc::ByteBuffer buffer_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<grpc::ByteBuffer> requests_ DROVER_GUARDED_BY(mutex_);  // the first is being written
  bool is_finished_ DROVER_GUARDED_BY(mutex_) = false;               // no more of them
  bool is_over_ DROVER_GUARDED_BY(mutex_) = false;                   // nothing may be said any more
  std::deque<std::string> queue_ DROVER_GUARDED_BY(mutex_);
  std::optional<std::string> newest_ DROVER_GUARDED_BY(mutex_);
  bool is_waiting_ DROVER_GUARDED_BY(mutex_) = false;  // the queue is full, no read is out
  std::optional<Status> ended_ DROVER_GUARDED_BY(mutex_);
  std::shared_ptr<Reader> itself_;  // until OnDone: set before the call starts, taken by its last callback
};

class GrpcMessages final : public Dialogue {
 public:
  explicit GrpcMessages(std::shared_ptr<Reader> reader) : reader_(std::move(reader)) {}
  ~GrpcMessages() override {
    reader_->cancel();
    reader_->wait_end();
  }
  std::optional<std::string> next() override { return reader_->next(); }
  std::optional<std::string> newest(SteadyTime deadline) override { return reader_->newest(deadline); }
  Status status() const override { return reader_->status(); }
  void cancel() override { reader_->cancel(); }
  bool say(std::string message) override { return reader_->say(message); }
  void finish() override { reader_->finish(); }

 private:
  const std::shared_ptr<Reader> reader_;
};

class GrpcChannel final : public Channel {
 public:
  GrpcChannel(const std::string& socket, const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      : stub_(make_channel(socket, credentials)) {}

  Result<std::string> call(const std::string& method, std::string request, std::optional<SteadyTime> deadline,
                           std::stop_token stop) override {
    auto call = std::make_shared<Call>();
    call->request = buffer_of(request);
    if (deadline) {
      call->context.set_deadline(std::chrono::system_clock::now() + (*deadline - std::chrono::steady_clock::now()));
    }
    const std::stop_callback cancel(std::move(stop), [&call] { call->context.TryCancel(); });
    stub_.UnaryCall(&call->context, method, {}, &call->request, &call->answer, [call](grpc::Status status) {
      const MutexLock lock(call->mutex);
      call->status = std::move(status);
      call->ended.notify_all();
    });
    MutexLock lock(call->mutex);
    call->ended.wait(lock, [&]() DROVER_REQUIRES(call->mutex) { return call->status.has_value(); });
    DROVER_RETURN_IF_ERROR(status_of(*call->status));
    auto answer = bytes_of(call->answer);
    if (!answer) return internal_error("the plugin's answer to " + method + " cannot be decompressed");
    return *std::move(answer);
  }

  std::shared_ptr<Messages> open(const std::string& method, std::string request, Messages::Keep keep) override {
    auto reader = Reader::start(stub_, method, keep);
    (void)reader->say(request);
    reader->finish();
    return std::make_shared<GrpcMessages>(std::move(reader));
  }

  std::shared_ptr<Dialogue> talk(const std::string& method) override {
    return std::make_shared<GrpcMessages>(Reader::start(stub_, method, Messages::Keep::all));
  }

 private:
  static std::shared_ptr<grpc::Channel> make_channel(const std::string& socket,
                                                     const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    keep_callback_threads();
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
    arguments.SetMaxSendMessageSize(kMaxMessageBytes);
    // One plugin, one connection of its own; a lost one is made again at once, for the supervisor decides about pauses.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetSslTargetNameOverride("localhost");  // the name in every certificate of AutoMTLS
    return grpc::CreateCustomChannel("unix:" + socket, credentials, arguments);
  }

  grpc::GenericStub stub_;
};

}  // namespace

std::shared_ptr<Messages> Channel::converse(const std::string& method, std::vector<std::string> requests) {
  auto dialogue = talk(method);
  for (std::string& request : requests) {
    if (!dialogue->say(std::move(request))) break;
  }
  dialogue->finish();
  return dialogue;
}

std::unique_ptr<Channel> connect(const std::string& socket) {
  return std::make_unique<GrpcChannel>(socket, grpc::InsecureChannelCredentials());
}

std::unique_ptr<Channel> connect(const Handshake& handshake, const TlsIdentity* identity) {
  if (handshake.certificate.empty()) return connect(handshake.socket);
  DROVER_CHECK(identity != nullptr);
  const grpc::SslCredentialsOptions options{
      .pem_root_certs = handshake.certificate, .pem_private_key = identity->key, .pem_cert_chain = identity->cert};
  return std::make_unique<GrpcChannel>(handshake.socket, grpc::SslCredentials(options));
}

Status translate(Status status) {
  if (status.code() != Code::unknown) return status;
  const std::string& text = status.message();
  if (text.find(kTaskNotFound) != std::string::npos) return not_found(text);
  for (const char* missing :
       {"driver does not support exec", "RPC not supported by driver", "stats not implemented for driver"}) {
    if (text.find(missing) != std::string::npos) return Status(Code::unimplemented, text);
  }
  return status;
}

}  // namespace drover::plugin_programs
