// Answers calls from other processes, and keeps the connections that node agents opened to call them back.
//
// An ordinary call is a gRPC call of the router's method name: its context in the request's metadata, the request as
// first message, answers as messages, the reply's meta in the trailing metadata, the error's details in the status.
//
// "/drover.rpc/Attach" is a stream of v1::Frame. The one with call 0 is a node's standing connection: the agent proves
// who it is with the first frame, the server answers with an attach frame and then opens calls on it. Unary calls are
// answered there. For a streaming call N the agent opens a further stream with call N in its first frame, so that a
// slow reader slows down its own call and no other. [any]
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "drover/clock.h"
#include "drover/methods.h"
#include "drover/uuid.h"
#include "kernel/rpc/method_table.h"
#include "kernel/rpc/pool.h"
#include "kernel/rpc/tls.h"

namespace drover::rpc {

class GrpcPeers;

class GrpcServer {
 public:
  // Whether the secret is the node's own. Runs on the pool, may wait.
  using NodeVerifier = std::function<Status(const Uuid& node, const std::string& secret)>;
  struct Options {
    std::string address;  // "host:port"; port 0 takes a free one
    std::string option;   // named in the error when the address cannot be had
    NodeVerifier verify;
    std::optional<Tls> tls;
    GrpcPeers* peers = nullptr;  // takes the streams of other servers
  };
  // Errors: failed_precondition when it cannot listen. Everything outlives the server; the pool runs until after
  // stop().
  static Result<std::unique_ptr<GrpcServer>> start(Options options, Caller& router, const MethodTable& methods,
                                                   Pool& pool, Clock& clock);
  ~GrpcServer();  // stops
  void stop();    // cancels every call and waits for it
  std::string address() const;

  // As rpc::Peers.
  bool has_node(const Uuid& node) const;
  void call_node(const Uuid& node, CallContext context, std::string request, std::function<void(Result<Reply>)> done);
  Result<std::unique_ptr<StreamCall>> open_node(const Uuid& node, CallContext context, std::string request,
                                                StreamReceiver receiver);

 private:
  class Impl;
  explicit GrpcServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace drover::rpc
