#include "health_call.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/byte_buffer.h>

#include <list>
#include <optional>
#include <vector>

#include "drover/messages.h"
#include "drover/mutex.h"
#include "drover/plugin_programs/callback_threads.h"

#include "health.pb.h"

namespace drover::check_grpc {
namespace {

constexpr const char* kMethod = "/grpc.health.v1.Health/Check";
constexpr int kMaxAnswer = 64 << 10;  // bytes; an answer has three

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const HealthQuestion& question) {
  if (!question.uses_tls) return grpc::InsecureChannelCredentials();
  if (!question.skip_verify) return grpc::SslCredentials({});
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(std::make_shared<grpc::experimental::NoOpCertificateVerifier>());
  return grpc::experimental::TlsCredentials(options);
}

std::shared_ptr<grpc::Channel> channel_to(const HealthQuestion& question) {
  plugin_programs::keep_callback_threads();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswer);
  // A look at the service as it is now: a connection of its own, tried once.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  if (question.uses_tls && !question.server_name.empty()) arguments.SetSslTargetNameOverride(question.server_name);
  return grpc::CreateCustomChannel(question.target, credentials_of(question), arguments);
}

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string out;
  if (!buffer.Dump(&slices).ok()) return out;
  for (const grpc::Slice& slice : slices) out.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return out;
}

}  // namespace

struct HealthCalls::Call {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::GenericStub> stub;
  grpc::ClientContext context;
  grpc::ByteBuffer request, answer;
  bool is_over = false;
  std::optional<std::stop_callback<std::function<void()>>> stop;
};

// The last reference to a channel must not fall on a thread of gRPC, so what is over waits here for another one.
struct HealthCalls::Calls {
  Mutex mutex;
  CondVar changed;
  std::list<std::shared_ptr<Call>> calls DROVER_GUARDED_BY(mutex);
  bool is_stopped DROVER_GUARDED_BY(mutex) = false;

  void bury() {
    std::list<std::shared_ptr<Call>> over;  // released without the lock
    const MutexLock lock(mutex);
    for (auto at = calls.begin(); at != calls.end();) {
      const auto next = std::next(at);
      if ((*at)->is_over) over.splice(over.end(), calls, at);
      at = next;
    }
  }
};

HealthCalls::HealthCalls() : calls_(std::make_shared<Calls>()) {}
HealthCalls::~HealthCalls() { stop(); }

void HealthCalls::begin(const HealthQuestion& question, std::stop_token stop, Told told) {
  calls_->bury();
  HealthRequest asked;
  asked.set_service(question.service);
  const grpc::Slice bytes(serialize(asked));
  auto call = std::make_shared<Call>();
  call->request = grpc::ByteBuffer(&bytes, 1);
  call->channel = channel_to(question);
  call->stub = std::make_unique<grpc::GenericStub>(call->channel);
  call->context.set_deadline(std::chrono::system_clock::now() + question.timeout);
  bool is_taken = false;
  {
    const MutexLock lock(calls_->mutex);
    is_taken = !calls_->is_stopped;
    if (is_taken) calls_->calls.push_back(call);
  }
  if (!is_taken) return told(unavailable("the check provider is stopping"));
  Call* const made = call.get();
  call->stop.emplace(std::move(stop), [made] { made->context.TryCancel(); });
  call->stub->UnaryCall(&made->context, kMethod, {}, &made->request, &made->answer,
                        [calls = calls_, made, told = std::move(told)](const grpc::Status& status) {
                          if (status.ok()) {
                            told(bytes_of(made->answer));
                          } else {
                            told(Status(static_cast<Code>(status.error_code()), status.error_message()));
                          }
                          const MutexLock lock(calls->mutex);
                          made->is_over = true;
                          calls->changed.notify_all();
                        });
}

void HealthCalls::stop() {
  {
    MutexLock lock(calls_->mutex);
    calls_->is_stopped = true;
    for (const auto& call : calls_->calls) call->context.TryCancel();
    const auto are_over = [this]() DROVER_REQUIRES(calls_->mutex) {
      for (const auto& call : calls_->calls) {
        if (!call->is_over) return false;
      }
      return true;
    };
    calls_->changed.wait(lock, are_over);
  }
  calls_->bury();
}

}  // namespace drover::check_grpc
