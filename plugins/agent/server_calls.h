// Calls of this node to the servers, with its proof of identity. [any]
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>

#include "client.h"
#include "drover/methods.h"

namespace drover::agent {

inline CallContext node_call(const Client& client, std::string method, std::chrono::nanoseconds timeout,
                             std::stop_token stop) {
  CallContext context;
  context.method = std::move(method);
  context.query.region = client.host.agent().region;
  context.node_secret = client.proof.in_context();
  context.deadline = client.now() + timeout;
  context.stop = std::move(stop);
  return context;
}

}  // namespace drover::agent
