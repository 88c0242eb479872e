// The agent's end of the connection that lets servers call this node: opened here, opened again whenever it is lost,
// with a jittered pause that grows.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "drover/executor.h"
#include "drover/mutex.h"
#include "drover/uuid.h"
#include "stream.h"

namespace drover::wire {

class NodeLink {
 public:
  struct Setup {
    Uuid node;
    std::string secret;
    std::function<std::string()> server;
    std::function<void(const std::string& address)> unreachable;
    std::function<std::shared_ptr<grpc::Channel>(const std::string& address)> channel;
    Caller& router;
    Executor& executor;
    Clock& clock;
    StreamGroup& streams;
    std::chrono::nanoseconds patience = kPatience;  // until the server says that the node is attached
  };
  explicit NodeLink(Setup setup);
  ~NodeLink() { stop(); }
  // From the next connection on. [any]
  void prove_by(std::string secret);
  void stop();

 private:
  void run(const std::stop_token& stop);

  const Setup setup_;
  Mutex mutex_;
  std::string secret_ DROVER_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace drover::wire
