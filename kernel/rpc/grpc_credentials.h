// What gRPC needs to know about TLS. Only kernel/rpc/grpc_*.cc may include this.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>

#include "kernel/rpc/tls.h"

namespace drover::rpc {

// Without TLS: plain text.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const std::optional<Tls>& tls);
// A channel to an agent's RPC address, with this tree's limits and keep-alives. `lane` names channels that must not
// share a connection with others to the same address.
std::shared_ptr<grpc::Channel> make_channel(const std::string& address, const std::optional<Tls>& tls,
                                            const std::string& lane = {});

}  // namespace drover::rpc
