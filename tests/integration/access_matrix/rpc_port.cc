#include "rpc_port.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "plugins/grpc/call_codec.h"

namespace drover::matrix {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<grpc::Channel> connect(const std::string& address, const Certificate& own) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (own.authority.empty()) return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  arguments.SetSslTargetNameOverride("server.global.nomad");
  return grpc::CreateCustomChannel(
      address, grpc::SslCredentials({text_of(own.authority), text_of(own.key), text_of(own.certificate)}), arguments);
}

}  // namespace

class RpcPort::Impl {
 public:
  explicit Impl(std::shared_ptr<grpc::Channel> channel) : stub_(std::move(channel)) {}
  Result<std::string> call(const CallContext& context, const std::string& request) {
    grpc::ClientContext client;
    client.set_deadline(std::chrono::system_clock::now() + kPatience);
    client.set_wait_for_ready(true);
    client.AddMetadata("drover-context-bin", wire::to_wire(context, SystemClock().steady()).SerializeAsString());
    const grpc::Slice slice(request);
    grpc::CompletionQueue queue;
    const auto reader = stub_.PrepareUnaryCall(&client, context.method, grpc::ByteBuffer(&slice, 1), &queue);
    grpc::ByteBuffer answer;
    grpc::Status status;
    reader->StartCall();
    reader->Finish(&answer, &status, nullptr);
    void* tag = nullptr;
    bool is_ok = false;
    queue.Next(&tag, &is_ok);
    if (!status.ok()) return wire::from_wire(status.error_code(), status.error_message(), status.error_details());
    std::vector<grpc::Slice> slices;
    std::string bytes;
    if (!answer.Dump(&slices).ok()) return internal_error("an answer that cannot be read");
    for (const grpc::Slice& each : slices) bytes.append(reinterpret_cast<const char*>(each.begin()), each.size());
    return bytes;
  }

 private:
  grpc::GenericStub stub_;
};

RpcPort::RpcPort(const std::string& address, const Certificate& own)
    : impl_(std::make_unique<Impl>(connect(address, own))) {}
RpcPort::~RpcPort() = default;

Result<std::string> RpcPort::call(const CallContext& context, const std::string& request) {
  return impl_->call(context, request);
}

}  // namespace drover::matrix
