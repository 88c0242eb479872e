// Services by the DNS: a server for programs that know nothing else.
#include "config.h"
#include "drover/config.h"
#include "drover/log.h"
#include "drover/module.h"
#include "registry/registry.h"
#include "resolver.h"
#include "server.h"

namespace drover::dns {
namespace {

class DnsPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override { return declare.configuration("plugin", config_schema()); }

  Status start(Host& host) override {
    const ConfigBlock* block = host.configuration("plugin");
    if (!block || !block->boolean("enabled")) return ok_status();
    auto config = read_config(*block);
    if (!config) return config.status().with_context("plugin \"dns\"");
    running_ = std::make_unique<Running>(host, *std::move(config));
    const Status status = running_->start();
    return status.ok() ? status : status.with_context("plugin \"dns\"");
  }
  void stop(SteadyTime) override { running_.reset(); }

 private:
  struct Running {
    Running(Host& host, Config its_config)
        : config(std::move(its_config)),
          server({.addresses = config.addresses, .clients = config.clients}, host.metrics()),
          reads(host, server.loop(), config.token_file),
          registry(reads, *server.loop(), config.max_stale),
          resolver(config.zone, registry, host.metrics()) {}
    ~Running() { server.stop(); }

    Status start() {
      if (!config.token_file.empty()) DROVER_RETURN_IF_ERROR(read_token(config.token_file).status());
      DROVER_RETURN_IF_ERROR(server.start([this](std::string_view question, Transport transport, Resolver::Done done) {
        resolver.answer(question, transport, std::move(done));
      }));
      for (const std::string& address : server.addresses())
        log::info("dns", "answering questions", {{"address", address}, {"domain", to_string(config.zone.origin)}});
      return ok_status();
    }

    const Config config;
    Server server;
    ServerReads reads;
    Registry registry;
    Resolver resolver;
  };

  std::unique_ptr<Running> running_;
};

}  // namespace
}  // namespace drover::dns

DROVER_MODULE(drover::dns::DnsPlugin, "module", "dns", "0.1.0");
