// The HTTP API: a route for every method that declares one.
#include <google/protobuf/descriptor.h>

#include <atomic>

#include "drover/api/description.pb.h"
#include "drover/api_listener.h"
#include "drover/config.h"
#include "drover/log.h"
#include "drover/module.h"
#include "drover/reload.h"
#include "openapi.h"
#include "routes.h"
#include "server.h"

namespace drover::api {
namespace {

class HttpPlugin final : public Plugin, public ApiListener, public Reloadable {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.extend<ApiListener>("http", *this));
    DROVER_RETURN_IF_ERROR(declare.extend<Reloadable>("http", *this));
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
             {.name = "http_limit_attempts",
              .type = ConfigType::boolean,
              .default_text = "true",
              .help = "Limits of logins, bootstraps and guessed tokens of one address."},
             {.name = "http_read_timeout",
              .type = ConfigType::duration,
              .default_text = "30s",
              .help = "Time for a request to arrive.",
              .min = 1},
             {.name = "https_handshake_timeout",
              .type = ConfigType::duration,
              .default_text = "5s",
              .help = "Time for a client to begin TLS and to get through its handshake.",
              .min = 0.1,
              .is_api_text = true},
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
      options.limits_attempts = limits->boolean("http_limit_attempts", true);
      options.handshake_timeout = limits->duration("https_handshake_timeout", options.handshake_timeout);
      options.read_timeout =
          std::chrono::duration_cast<std::chrono::seconds>(limits->duration("http_read_timeout", options.read_timeout));
    }
    for (const auto& [name, value] : host.configuration("")->string_map("http_api_response_headers"))
      options.headers[name] = value;
    DROVER_TRY(options.tls, tls_of(host.configuration("tls")));
    has_tls_ = options.tls.has_value();
    server_ = std::make_unique<Server>(std::move(options), routes_, host.caller(), host.metrics());
    DROVER_RETURN_IF_ERROR(server_->start());
    has_started_ = true;
    log::info("http", "serving the API",
              {{"address", server_->address()}, {"tls", has_tls_}, {"routes", routes_.size()}});
    return ok_status();
  }

  void stop(SteadyTime) override {
    if (server_) server_->stop();
  }

  void reload() override {
    if (!has_started_ || !has_tls_) return;
    if (const Status status = server_->reload_tls(); !status.ok())
      return log::error("http", "the files of TLS cannot be used; those of before stay", {{"error", status.message()}});
    log::info("http", "the files of TLS were read again");
  }

  Result<std::unique_ptr<Served>> serve(Fd listening) override {
    if (!has_started_) return failed_precondition("the HTTP API has not started yet");
    return server_->serve(std::move(listening));
  }

 private:
  static Result<std::optional<TlsSettings>> tls_of(const ConfigBlock* tls) {
    if (!tls) return std::optional<TlsSettings>();
    if (!tls->boolean("http")) {
      if (tls->boolean("verify_https_client"))
        return invalid_argument("tls.verify_https_client needs tls.http: without it clients show no certificate");
      warn_of_idle_options(*tls);
      return std::optional<TlsSettings>();
    }
    DROVER_TRY(TlsSettings settings, tls_settings(*tls));
    return std::optional(std::move(settings));
  }

  static void warn_of_idle_options(const ConfigBlock& tls) {
    const auto warn = [](std::string_view option, std::string_view without) {
      log::warn("config", "option without effect",
                {{"detail", "tls." + std::string(option) + " without " + std::string(without)}});
    };
    for (const char* option : {"tls_min_version", "tls_cipher_suites"}) {
      if (tls.has(option)) warn(option, "tls.http");
    }
    if (tls.boolean("tls_prefer_server_cipher_suites")) warn("tls_prefer_server_cipher_suites", "tls.http");
    for (const char* option : {"ca_file", "cert_file", "key_file"}) {
      if (tls.has(option) && !tls.boolean("rpc")) warn(option, "tls.http and tls.rpc");
    }
  }

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
  bool has_tls_ = false;  // constant after start
  std::unique_ptr<Server> server_;
  std::atomic<bool> has_started_ = false;  // server_ is there for other threads
};

}  // namespace
}  // namespace drover::api

DROVER_MODULE(drover::api::HttpPlugin, "module", "http", "0.1.0");
