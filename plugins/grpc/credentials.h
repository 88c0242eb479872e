// Connections as gRPC makes them: who both ends are, with which limits, and which calls share one.
#pragma once

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "drover/mutex.h"
#include "drover/tls.h"

namespace drover::wire {

// Without TLS: plain text.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const std::optional<Tls>& tls);
// Ok when the caller's certificate is a server's: one of the same authority may be a node's. Without TLS every caller
// counts as a server. Errors: permission_denied.
Status check_server(const std::shared_ptr<const grpc::AuthContext>& caller, const std::optional<Tls>& tls);

// The channels to other agents' RPC addresses, kept until the end: the last reference to a channel must not fall on a
// thread of gRPC, which would wait for itself. [any]
class Channels {
 public:
  explicit Channels(std::optional<Tls> tls) : tls_(std::move(tls)) {}
  // Channels to one address share a connection when they name the same one.
  std::shared_ptr<grpc::Channel> to(const std::string& address, const std::string& connection = {});

 private:
  const std::optional<Tls> tls_;
  Mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<grpc::Channel>> channels_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::wire
