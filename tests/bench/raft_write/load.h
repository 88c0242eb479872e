// Calls over gRPC by a method's name, and many writers that each wait for their answer before they write again. The
// same code drives every compared cluster.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace drover::bench {

using Steady = std::chrono::steady_clock;

double microseconds(Steady::duration time);
// `values` may be in any order. Requires: at least one.
double percentile(std::vector<double> values, double part);

using Channels = std::vector<std::shared_ptr<grpc::Channel>>;
// Connections of their own to one server.
Channels connect(const std::string& address, size_t connections);

// One call; nothing when it fails or takes longer than `limit`.
std::optional<std::string> call(grpc::Channel& channel, const std::string& method, const std::string& request,
                                std::chrono::milliseconds limit);

struct Answers {
  std::vector<double> microseconds;  // of each call that succeeded
  size_t failed = 0;
  std::string error;  // of the last failed call
  double seconds = 0;

  void add(const Answers& other);
  double rate() const { return static_cast<double>(microseconds.size()) / seconds; }
};

// `writers` at once, each a call after the other with names and a text of its own, for `time`. One thread.
Answers run_load(const Channels& channels, const std::string& method, size_t writers, size_t text_bytes,
                 Steady::duration time);

}  // namespace drover::bench
