// Calls to other processes: to servers by address, to nodes down the connections that their agents opened. [any]
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "drover/clock.h"
#include "kernel/rpc/grpc_server.h"
#include "kernel/rpc/method_table.h"
#include "kernel/rpc/pool.h"
#include "kernel/rpc/surroundings.h"

namespace drover::rpc {

class GrpcClient final : public Peers {
 public:
  // `unreachable` hears of every address whose call failed with unavailable. The pool outlives the client and runs
  // until after stop().
  GrpcClient(Pool& pool, Clock& clock, std::optional<Tls> tls,
             std::function<void(const std::string& address)> unreachable);
  ~GrpcClient() override;  // stops
  // Cancels every call and waits for it; later calls are refused.
  void stop();

  void set_server(GrpcServer* server) { server_ = server; }  // null: no node attaches here

  void call_server(const std::string& address, CallContext context, std::string request,
                   std::function<void(Result<Reply>)> done) override;
  Result<std::unique_ptr<StreamCall>> open_server(const std::string& address, CallContext context, std::string request,
                                                  StreamReceiver receiver) override;
  bool has_node(const Uuid& node) const override {
    const GrpcServer* server = server_;
    return server && server->has_node(node);
  }
  void call_node(const Uuid& node, CallContext context, std::string request,
                 std::function<void(Result<Reply>)> done) override;
  Result<std::unique_ptr<StreamCall>> open_node(const Uuid& node, CallContext context, std::string request,
                                                StreamReceiver receiver) override;

  // The agent's side of the connection that lets servers call this node. Once; it lives until stop().
  struct Attachment {
    Uuid node;
    std::string secret;
    std::function<std::string()> server;  // the address to try now
    Caller* router = nullptr;
  };
  void attach(Attachment attachment);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
  std::atomic<GrpcServer*> server_{nullptr};
};

}  // namespace drover::rpc
