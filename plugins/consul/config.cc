#include "config.h"

#include "drover/v1/task.pb.h"

namespace drover::consul {
namespace {

using Type = ConfigType;

constexpr const char* kDefaultAddress = "127.0.0.1:8500";

ConfigOption text(std::string name, std::string help, std::string fallback = {}) {
  return {.name = std::move(name), .type = Type::string, .default_text = std::move(fallback), .help = std::move(help)};
}
ConfigOption flag(std::string name, std::string fallback, std::string help) {
  return {.name = std::move(name), .type = Type::boolean, .default_text = std::move(fallback), .help = std::move(help)};
}
ConfigOption secret(ConfigOption option) {
  option.is_secret = true;
  return option;
}
// Known from existing files.
ConfigOption unread(std::string name, Type type) { return {.name = std::move(name), .type = type}; }

std::string first_of(std::string one, std::string other) { return one.empty() ? std::move(other) : std::move(one); }

bool is_true(const std::string& word) {
  return word == "1" || word == "t" || word == "true" || word == "TRUE" || word == "True";
}

// "host:port", with a scheme before it, or "unix:///path".
Status read_address(const std::string& address, bool has_tls, Endpoint& out) {
  constexpr std::string_view kUnix = "unix://", kHttp = "http://", kHttps = "https://";
  if (address.starts_with(kUnix)) {
    out.unix_socket = address.substr(kUnix.size());
    out.origin = "http://localhost";
  } else if (address.starts_with(kHttp) || address.starts_with(kHttps)) {
    out.origin = address;
  } else {
    out.origin = std::string(has_tls ? kHttps : kHttp) + address;
  }
  while (out.origin.ends_with('/')) out.origin.pop_back();
  const std::string_view host = std::string_view(out.origin).substr(out.origin.find("://") + 3);
  if (host.empty() || host.find_first_of("/?# \t\r\n") != std::string_view::npos)
    return invalid_argument("consul.address: \"" + address + "\" is no \"host:port\", with http:// or https:// or not");
  return ok_status();
}

std::shared_ptr<const v1::Identity> identity_of(const ConfigBlock& block) {
  auto out = std::make_shared<v1::Identity>();
  out->set_name(kTaskIdentity);
  for (const std::string& audience : block.string_list("aud")) out->add_audience(audience);
  if (out->audience().empty()) out->add_audience("consul.io");
  out->set_ttl(block.duration("ttl", std::chrono::hours(1)).count());
  out->set_env(block.boolean("env"));
  out->set_file(block.boolean("file"));
  out->set_change_mode("noop");
  return out;
}

}  // namespace

ConfigSchema config_schema() {
  return {.options = {
              text("address", "The Consul agent of this machine: \"host:port\", a URL, or \"unix:///path\". By default "
                              "CONSUL_HTTP_ADDR, else 127.0.0.1:8500."),
              secret(text("token", "The token for Consul; by default CONSUL_HTTP_TOKEN.")),
              secret(text("auth", "\"user:password\" for a proxy before Consul; by default CONSUL_HTTP_AUTH.")),
              flag("ssl", "false", "Speak to Consul by HTTPS; also CONSUL_HTTP_SSL."),
              flag("verify_ssl", "true", "Refuse a certificate of Consul that no authority vouches for."),
              text("ca_file", "The authority that Consul's certificate is of; by default CONSUL_CACERT."),
              text("cert_file", "This agent's certificate for Consul; by default CONSUL_CLIENT_CERT."),
              text("key_file", "The key of that certificate; by default CONSUL_CLIENT_KEY."),
              text("namespace", "The namespace of Consul Enterprise; by default CONSUL_NAMESPACE."),
              {.name = "timeout",
               .type = Type::duration,
               .default_text = "5s",
               .help = "How long an answer of Consul is waited for.",
               .min = 0.1,
               .is_api_text = true},
              text("name", "Jobs call this Consul so; there is one.", "default"),
              text("server_service_name", "The service under which servers are found.", "nomad"),
              text("client_service_name", "The service under which clients are found.", "nomad-client"),
              text("server_http_check_name", "The name of the check.", "Nomad Server HTTP Check"),
              text("server_serf_check_name", "The name of the check.", "Nomad Server Serf Check"),
              text("server_rpc_check_name", "The name of the check.", "Nomad Server RPC Check"),
              text("client_http_check_name", "The name of the check.", "Nomad Client HTTP Check"),
              {.name = "tags", .type = Type::string_list, .help = "Further tags of the agent's own services."},
              flag("auto_advertise", "true", "Register this agent in Consul."),
              flag("checks_use_advertise", "false", "Consul checks this agent at the addresses that others are told."),
              flag("server_auto_join", "true", "A server without a leader looks for others in Consul."),
              flag("client_auto_join", "true", "A client looks for its servers in Consul, too."),
              flag("allow_unauthenticated", "true", "Must be true: tokens of those who submit jobs are not asked for."),
              {.name = "service_identity", .type = Type::any, .help = "Refused: services use the token of this block."},
              {.name = "task_identity",
               .type = Type::block,
               .help = "The identity by which tasks log in at Consul; without the block tasks get none by themselves.",
               .options = {{.name = "aud", .type = Type::string_list, .help = "Whom it is for."},
                           {.name = "ttl",
                            .type = Type::duration,
                            .default_text = "1h",
                            .help = "How long a signed identity is good for.",
                            .min = 5},
                           flag("env", "false", "Tasks see it as a variable, too."),
                           flag("file", "false", "Tasks see it as a file, too.")}},
              text("task_auth_method", "Consul's auth method for tasks.", "nomad-workloads"),
              unread("service_auth_method", Type::string),
              unread("grpc_address", Type::string),
              unread("grpc_ca_file", Type::string),
              unread("share_ssl", Type::boolean),
          }};
}

Result<Config> read_config(const ConfigBlock& block, const Environment& environment) {
  Config out;
  Endpoint& to = out.endpoint;
  const std::string said = first_of(block.string("address"), environment("CONSUL_HTTP_ADDR"));
  const std::string address = first_of(said, kDefaultAddress);
  DROVER_RETURN_IF_ERROR(
      read_address(address, block.boolean("ssl") || is_true(environment("CONSUL_HTTP_SSL")), to));
  to.token = first_of(block.string("token"), environment("CONSUL_HTTP_TOKEN"));
  to.auth = first_of(block.string("auth"), environment("CONSUL_HTTP_AUTH"));
  to.name_space = first_of(block.string("namespace"), environment("CONSUL_NAMESPACE"));
  if (to.name_space == kDefaultNamespace) to.name_space.clear();
  to.tls.ca_file = first_of(block.string("ca_file"), environment("CONSUL_CACERT"));
  to.tls.cert_file = first_of(block.string("cert_file"), environment("CONSUL_CLIENT_CERT"));
  to.tls.key_file = first_of(block.string("key_file"), environment("CONSUL_CLIENT_KEY"));
  to.tls.server_name = environment("CONSUL_TLS_SERVER_NAME");
  const std::string verifies = environment("CONSUL_HTTP_SSL_VERIFY");
  to.tls.is_verified = block.boolean("verify_ssl", true) && (verifies.empty() || is_true(verifies));
  to.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
      block.duration("timeout", std::chrono::seconds(5)));
  if (!block.boolean("allow_unauthenticated", true)) {
    return invalid_argument(
        "consul.allow_unauthenticated: tokens of those who submit jobs are not checked by this version of drover; "
        "take the line out, and say by ACL policies who may submit");
  }
  if (block.has("service_identity") || block.block("service_identity")) {
    return invalid_argument(
        "consul.service_identity: services are registered with the token of this block; take service_identity out");
  }
  if (block.string("name", "default") != "default")
    return invalid_argument("consul.name: there is one Consul, which is called \"default\"");
  out.server_service = block.string("server_service_name", "nomad");
  out.client_service = block.string("client_service_name", "nomad-client");
  out.server_http_check = block.string("server_http_check_name");
  out.server_serf_check = block.string("server_serf_check_name");
  out.server_rpc_check = block.string("server_rpc_check_name");
  out.client_http_check = block.string("client_http_check_name");
  out.tags = block.string_list("tags");
  out.advertises = block.boolean("auto_advertise", true);
  out.checks_use_advertise = block.boolean("checks_use_advertise");
  out.server_joins = block.boolean("server_auto_join", true);
  out.client_joins = block.boolean("client_auto_join", true);
  out.task_auth_method = block.string("task_auth_method", out.task_auth_method);
  const ConfigBlock* identity = block.block("task_identity");
  if (identity && identity->place.line > 0) out.task_identity = identity_of(*identity);
  return out;
}

}  // namespace drover::consul
