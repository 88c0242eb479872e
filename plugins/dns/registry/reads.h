// Reads services from the servers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/plugin.h"
#include "registry/loop.h"
#include "zone/zone.h"

namespace drover::dns {

struct ServiceName {
  std::string name_space, name;
  auto operator<=>(const ServiceName&) const = default;
};

// Answers come on the loop, once each, and not before the call has returned. [dns]
class Reads {
 public:
  virtual ~Reads() = default;
  using Names = std::vector<ServiceName>;
  struct Instances {
    std::vector<Instance> all;
    uint64_t index = 0;
    std::chrono::nanoseconds last_contact{};  // of the server that answered, with its leader
  };
  // The services of all namespaces that may be seen.
  virtual void names(std::function<void(Result<Names>)> done) = 0;
  // Waits for what is newer than the index; zero: does not wait.
  virtual void instances(const ServiceName& name, uint64_t index, std::stop_token stop,
                         std::function<void(Result<Instances>)> done) = 0;
};

// Asks with the token of the file where there is one, else as the node that this agent is, else as nobody. The file is
// read for each call, so that a new token counts at once. Host and loop outlive it; after a stop nothing is asked.
class ServerReads final : public Reads {
 public:
  ServerReads(Host& host, std::weak_ptr<Loop> loop, std::string token_file)
      : host_(host), loop_(std::move(loop)), token_file_(std::move(token_file)) {}
  ~ServerReads() override { stop_.request_stop(); }

  void names(std::function<void(Result<Names>)> done) override;
  void instances(const ServiceName& name, uint64_t index, std::stop_token stop,
                 std::function<void(Result<Instances>)> done) override;

 private:
  Result<CallContext> context(const char* method, std::chrono::nanoseconds time, std::stop_token stop) const;
  void call(Result<CallContext> context, std::string request, std::function<void(Result<Reply>)> done) const;

  Host& host_;
  const std::weak_ptr<Loop> loop_;
  const std::string token_file_;
  std::stop_source stop_;
};

// The token in that file. Errors: of reading it; failed_precondition where it is empty.
Result<std::string> read_token(const std::string& path);

}  // namespace drover::dns
