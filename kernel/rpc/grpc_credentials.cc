#include "kernel/rpc/grpc_credentials.h"

#include <fstream>
#include <sstream>

#include "kernel/rpc/grpc_stream.h"

namespace drover::rpc {
namespace {

Result<std::string> read_pem(const std::string& path, const std::string& option) {
  std::ifstream file(path);
  if (!file) return failed_precondition("tls." + option + ": " + path + " cannot be read");
  std::stringstream text;
  text << file.rdbuf();
  if (text.str().find("-----BEGIN ") == std::string::npos) {
    return failed_precondition("tls." + option + ": " + path + " is not a PEM file");
  }
  return text.str();
}

}  // namespace

Result<Tls> read_tls(const std::string& ca_file, const std::string& cert_file, const std::string& key_file,
                     std::string server_name) {
  Tls tls{.server_name = std::move(server_name)};
  DROVER_TRY(tls.ca, read_pem(ca_file, "ca_file"));
  DROVER_TRY(tls.cert, read_pem(cert_file, "cert_file"));
  DROVER_TRY(tls.key, read_pem(key_file, "key_file"));
  return tls;
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const std::optional<Tls>& tls) {
  if (!tls) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = tls->ca;
  options.pem_key_cert_pairs.push_back({tls->key, tls->cert});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::Channel> make_channel(const std::string& address, const std::optional<Tls>& tls,
                                            const std::string& lane) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessage);
  arguments.SetMaxSendMessageSize(kMaxMessage);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, 64 * 1024);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (!lane.empty()) arguments.SetString("drover.lane", lane);  // channels share a connection only with equal arguments
  if (!tls) return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  if (!tls->server_name.empty()) arguments.SetSslTargetNameOverride(tls->server_name);
  const grpc::SslCredentialsOptions options{
      .pem_root_certs = tls->ca, .pem_private_key = tls->key, .pem_cert_chain = tls->cert};
  return grpc::CreateCustomChannel(address, grpc::SslCredentials(options), arguments);
}

}  // namespace drover::rpc
