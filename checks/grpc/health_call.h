// One call of grpc.health.v1.Health/Check over a connection of its own. gRPC stays behind this.
//
//   begin ──▶ (gRPC's threads) ──▶ told, once ──▶ the connection is closed, with the next begin() or stop()
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "drover/result.h"

namespace drover::check_grpc {

struct HealthQuestion {
  std::string target;   // "127.0.0.1:80"
  std::string service;  // as the server names it; empty: the server as a whole
  bool uses_tls = false;
  bool skip_verify = false;
  std::string server_name;  // the name that the certificate must have; empty: the address
  std::chrono::nanoseconds timeout{};
};

class HealthCalls {
 public:
  // The serialized answer. Errors: those of the call; cancelled.
  using Told = std::function<void(Result<std::string>)>;

  HealthCalls();
  ~HealthCalls();  // stops

  // [any], but not from `told`, which comes on a thread of gRPC.
  void begin(const HealthQuestion& question, std::stop_token stop, Told told);
  // Cancels what is under way, and returns when all have been told. Idempotent.
  void stop();

 private:
  struct Call;
  struct Calls;
  const std::shared_ptr<Calls> calls_;
};

}  // namespace drover::check_grpc
