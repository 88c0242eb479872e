#include "credentials.h"

#include "stream.h"

namespace drover::wire {
namespace {

// With this tree's limits and keep-alives.
std::shared_ptr<grpc::Channel> make_channel(const std::string& address, const std::optional<Tls>& tls,
                                            const std::string& connection) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessage);
  arguments.SetMaxSendMessageSize(kMaxMessage);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, 64 * 1024);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 5'000);  // a machine that stands still is noticed within fifteen seconds
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // They share a connection only when their arguments are equal.
  if (!connection.empty()) arguments.SetString("drover.lane", connection);
  if (!tls) return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  if (!tls->server_name.empty()) arguments.SetSslTargetNameOverride(tls->server_name);
  const grpc::SslCredentialsOptions options{
      .pem_root_certs = tls->ca, .pem_private_key = tls->key, .pem_cert_chain = tls->cert};
  return grpc::CreateCustomChannel(address, grpc::SslCredentials(options), arguments);
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> server_credentials(const std::optional<Tls>& tls) {
  if (!tls) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = tls->ca;
  options.pem_key_cert_pairs.push_back({tls->key, tls->cert});
  return grpc::SslServerCredentials(options);
}

Status check_server(const std::shared_ptr<const grpc::AuthContext>& caller, const std::optional<Tls>& tls) {
  if (!tls || tls->server_name.empty()) return ok_status();
  for (const char* kind : {GRPC_X509_SAN_PROPERTY_NAME, GRPC_X509_CN_PROPERTY_NAME}) {
    for (const grpc::string_ref& name : caller->FindPropertyValues(kind)) {
      if (name == grpc::string_ref(tls->server_name)) return ok_status();
    }
  }
  return permission_denied("the caller's certificate does not carry the name " + tls->server_name);
}

std::shared_ptr<grpc::Channel> Channels::to(const std::string& address, const std::string& connection) {
  const MutexLock lock(mutex_);
  auto& known = channels_[{address, connection}];
  if (!known) known = make_channel(address, tls_, connection);
  return known;
}

}  // namespace drover::wire
