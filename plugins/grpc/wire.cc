#include "wire.h"

#include <atomic>
#include <utility>

#include "client.h"
#include "credentials.h"
#include "lane.h"
#include "queues.h"
#include "server.h"

namespace drover::wire {
namespace {

class GrpcWire final : public Wire {
 public:
  explicit GrpcWire(std::shared_ptr<const WireLimits> limits) : limits_(std::move(limits)) {}
  ~GrpcWire() override { stop(); }

  void start(Setup setup) override {
    prepare_process();
    setup_.emplace(std::move(setup));
    channels_.emplace(setup_->tls);
    queues_.emplace();
    streams_.emplace(*queues_);
    client_.emplace(*setup_, *limits_, *channels_, *streams_);
  }

  Status listen(const std::string& address, const std::string& option) override {
    DROVER_TRY(server_, GrpcServer::start(address, option, *setup_, *limits_, *queues_));
    listening_ = server_.get();
    return ok_status();
  }

  std::string address() const override {
    const GrpcServer* server = listening_;
    return server ? server->address() : "";
  }

  void attach(Attachment attachment) override { client_->attach(std::move(attachment)); }

  std::unique_ptr<Lane> open_lane(const std::string& address, const std::string& connection, std::string greeting,
                                  LaneEvents events) override {
    return wire::open_lane({.channel = channels_->to(address, connection),
                            .streams = *streams_,
                            .executor = setup_->executor,
                            .clock = setup_->clock,
                            .greeting = std::move(greeting),
                            .events = std::move(events)});
  }

  void stop() override {
    if (client_) client_->stop();
    if (streams_) streams_->stop();
    if (server_) server_->stop();
    if (queues_) queues_->stop();
  }

  void call_server(const std::string& address, CallContext context, std::string request,
                   std::function<void(Result<Reply>)> done) override {
    client_->call_server(address, std::move(context), std::move(request), std::move(done));
  }
  Result<std::unique_ptr<StreamCall>> open_server(const std::string& address, CallContext context, std::string request,
                                                  StreamReceiver receiver) override {
    return client_->open_server(address, std::move(context), std::move(request), std::move(receiver));
  }

  bool has_node(const Uuid& node) const override {
    const GrpcServer* server = listening_;
    return server && server->has_node(node);
  }
  void call_node(const Uuid& node, CallContext context, std::string request,
                 std::function<void(Result<Reply>)> done) override {
    GrpcServer* server = listening_;
    if (!server) return done(not_found("No path to node"));
    server->call_node(node, std::move(context), std::move(request), std::move(done));
  }
  Result<std::unique_ptr<StreamCall>> open_node(const Uuid& node, CallContext context, std::string request,
                                                StreamReceiver receiver) override {
    GrpcServer* server = listening_;
    if (!server) return not_found("No path to node");
    return server->open_node(node, std::move(context), std::move(request), std::move(receiver));
  }

 private:
  const std::shared_ptr<const WireLimits> limits_;
  // Constant after start(), in the order of their use.
  std::optional<Setup> setup_;
  std::optional<Channels> channels_;
  std::optional<Queues> queues_;
  std::optional<StreamGroup> streams_;  // everything that this agent opened
  std::optional<GrpcClient> client_;
  std::unique_ptr<GrpcServer> server_;           // constant after listen()
  std::atomic<GrpcServer*> listening_{nullptr};  // null: no node attaches here
};

}  // namespace

std::unique_ptr<Wire> make_grpc_wire(std::shared_ptr<const WireLimits> limits) {
  return std::make_unique<GrpcWire>(std::move(limits));
}

}  // namespace drover::wire
