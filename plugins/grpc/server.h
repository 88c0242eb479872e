// Answers calls from other processes, and keeps the connections that node agents opened to call them back.
//
// An ordinary call is a gRPC call of the router's method name: its context in the request's metadata, the request as
// first message, answers as messages, the reply's meta in the trailing metadata, the error's details in the status.
//
// "/drover.rpc/Attach" is a stream of v1::Frame. The one with call 0 is a node's standing connection: the agent proves
// who it is with the first frame, the server answers with an attach frame and then opens calls on it. Unary calls are
// answered there. For a streaming call N the agent opens a further stream with call N in its first frame, so that a
// slow reader slows down its own call and no other.
//
// "/drover.rpc/Peer" is a lane of another server (lane.h). [any]
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "drover/wire.h"
#include "queues.h"
#include "wire.h"

namespace drover::wire {

class GrpcServer {
 public:
  // As Wire::listen, once for these queues. The objects that the setup names, and the queues, outlive stop().
  static Result<std::unique_ptr<GrpcServer>> start(const std::string& address, const std::string& option,
                                                   const Wire::Setup& setup, const WireLimits& limits, Queues& queues);
  ~GrpcServer();  // stops
  void stop();    // cancels every call and waits for it
  std::string address() const;

  // As Peers.
  bool has_node(const Uuid& node) const;
  void call_node(const Uuid& node, CallContext context, std::string request, std::function<void(Result<Reply>)> done);
  Result<std::unique_ptr<StreamCall>> open_node(const Uuid& node, CallContext context, std::string request,
                                                StreamReceiver receiver);

 private:
  class Impl;
  explicit GrpcServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace drover::wire
