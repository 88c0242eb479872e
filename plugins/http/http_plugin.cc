// The HTTP API: a route for every method that declares one.
#include <google/protobuf/descriptor.h>

#include "drover/api/description.pb.h"
#include "drover/config.h"
#include "drover/log.h"
#include "drover/module.h"
#include "openapi.h"
#include "routes.h"
#include "server.h"

namespace drover::api {
namespace {

class HttpPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(
        declare.service("drover.v1.ApiDescription", {method<&HttpPlugin::open_api>("OpenApi", this)}));
    return declare.configuration(
        "limits",
        {.options = {
             {.name = "http_max_conns_per_client",
              .type = ConfigType::integer,
              .default_text = "100",
              .help = "Connections that one address may hold; 0: no limit.",
              .min = 0},
             {.name = "http_max_body_bytes",
              .type = ConfigType::bytes,
              .default_text = "8MiB",
              .help = "Largest request body."},
             {.name = "http_read_timeout",
              .type = ConfigType::duration,
              .default_text = "30s",
              .help = "Time for a request to arrive.",
              .min = 1},
             {.name = "https_handshake_timeout",
              .type = ConfigType::duration,
              .default_text = "5s",
              .is_api_text = true},
             {.name = "rpc_handshake_timeout", .type = ConfigType::duration, .default_text = "5s", .is_api_text = true},
             {.name = "rpc_max_conns_per_client", .type = ConfigType::integer, .default_text = "100"},
         }});
  }

  Status start(Host& host) override {
    for (const std::string& name : host.methods()) {
      const size_t slash = name.rfind('/');
      const auto* service =
          google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name.substr(1, slash - 1));
      const auto* method = service ? service->FindMethodByName(name.substr(slash + 1)) : nullptr;
      if (!method) return internal_error("no descriptor of method " + name);
      DROVER_RETURN_IF_ERROR(routes_.add(*method));
    }
    version_ = host.agent().version;
    ServerOptions options;
    options.addresses = {host.agent().http_address};
    if (const ConfigBlock* limits = host.configuration("limits")) {
      options.max_connections_per_address = static_cast<size_t>(limits->integer("http_max_conns_per_client", 100));
      options.max_body_bytes = limits->bytes("http_max_body_bytes", options.max_body_bytes);
      options.read_timeout =
          std::chrono::duration_cast<std::chrono::seconds>(limits->duration("http_read_timeout", options.read_timeout));
    }
    for (const auto& [name, value] : host.configuration("")->string_map("http_api_response_headers"))
      options.headers[name] = value;
    server_ = std::make_unique<Server>(std::move(options), routes_, host.caller(), host.metrics());
    DROVER_RETURN_IF_ERROR(server_->start());
    log::info("http", "serving the API", {{"address", server_->address()}, {"routes", routes_.size()}});
    return ok_status();
  }

  void stop(SteadyTime) override {
    if (server_) server_->stop();
  }

 private:
  // The document is made when the first caller asks.
  Result<v1::OpenApiResponse> open_api(const v1::OpenApiRequest&, Call&) {
    std::call_once(is_described_, [this] { document_ = openapi_document(routes_, version_); });
    v1::OpenApiResponse response;
    response.set_document(document_);
    return response;
  }

  Routes routes_;
  std::string version_;
  std::once_flag is_described_;
  std::string document_;
  std::unique_ptr<Server> server_;
};

}  // namespace
}  // namespace drover::api

DROVER_MODULE(drover::api::HttpPlugin, "module", "http", "0.1.0");
