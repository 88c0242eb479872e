#include "config.h"

#include <algorithm>

namespace drover::vault {
namespace {

using Type = ConfigType;

constexpr char kDefaultAddress[] = "https://vault.service.consul:8200";
constexpr char kDefaultAuthPath[] = "jwt-nomad";

constexpr char kNoServerToken[] =
    "no agent holds a token of Vault in this version: each task logs in with its own identity. Configure Vault's jwt "
    "auth method, and remove this option";

ConfigOption text(std::string name, std::string api_name, std::string help) {
  return {.name = std::move(name), .help = std::move(help), .api_name = std::move(api_name)};
}

ConfigOption legacy(std::string name, bool is_secret) {
  return {.name = std::move(name), .is_secret = is_secret, .refusal = kNoServerToken};
}

std::vector<ConfigOption> default_identity() {
  return {{.name = "aud", .type = Type::string_list, .help = "For whom it is; vault.io by default."},
          {.name = "ttl", .type = Type::duration, .help = "How long it lives; an hour by default."},
          {.name = "env", .type = Type::boolean, .help = "The task finds it in NOMAD_TOKEN_vault_default."},
          {.name = "file", .type = Type::boolean, .help = "The task finds it in secrets/nomad_vault_default.jwt."}};
}

// A path as it stands between two slashes of a URL.
std::string trimmed(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  path.erase(0, std::min(path.find_first_not_of('/'), path.size()));
  return path;
}

}  // namespace

ConfigSchema schema() {
  return {.options = {
              {.name = "enabled", .type = Type::boolean, .default_text = "false", .help = "Tasks get tokens of Vault."},
              {.name = "name", .one_of = {"default"}},
              text("address", "Addr",
                   "Where Vault is; VAULT_ADDR, or https://vault.service.consul:8200, where nothing is said."),
              text("namespace", "", "Vault's namespace for tasks that name none; VAULT_NAMESPACE by default."),
              text("jwt_auth_backend_path", "JWTAuthBackendPath",
                   "The path of the auth method that takes the identities of tasks; jwt-nomad by default."),
              text("create_from_role", "Role", "The role of that auth method for tasks that name none."),
              text("ca_file", "TLSCaFile", "The authority that Vault's certificate is of."),
              text("ca_path", "TLSCaPath", "A folder of such authorities."),
              text("cert_file", "TLSCertFile", "The certificate that the agent shows to Vault."),
              text("key_file", "TLSKeyFile", "The key of that certificate."),
              text("tls_server_name", "TLSServerName",
                   "The name in Vault's certificate; that of the address by default."),
              {.name = "tls_skip_verify",
               .type = Type::boolean,
               .help = "Believe any certificate: whoever is between the agent and Vault reads all secrets.",
               .api_name = "TLSSkipVerify"},
              {.name = "default_identity",
               .type = Type::block,
               .help = "On servers: the identity of tasks that have no vault_default of their own.",
               .options = default_identity()},
              {.name = "allow_unauthenticated",
               .type = Type::boolean,
               .default_text = "true",
               .help = "Must be true: tokens of those who submit jobs are not asked for."},
              legacy("token", /*is_secret=*/true),
              legacy("task_token_ttl", /*is_secret=*/false),
          }};
}

Result<Config> read_config(const ConfigBlock* block, const std::function<std::string(const char*)>& variable) {
  Config config;
  config.is_enabled = block && block->boolean("enabled");
  if (!config.is_enabled) return config;
  if (!block->boolean("allow_unauthenticated", true))
    return invalid_argument(
        "vault.allow_unauthenticated: tokens of those who submit jobs are not checked by this version of drover; "
        "remove it, and let the role in Vault say which jobs it is for");
  const auto said = [&](const char* option, const char* name, const char* fallback) {
    const std::string own = block->string(option);
    const std::string others = own.empty() && *name ? variable(name) : own;
    return others.empty() ? std::string(fallback) : others;
  };
  config.address = said("address", "VAULT_ADDR", kDefaultAddress);
  while (config.address.ends_with('/')) config.address.pop_back();
  if (http_client::origin_of(config.address).empty() ||
      !(config.address.starts_with("https://") || config.address.starts_with("http://")))
    return invalid_argument("vault: address must be a URL that begins with https:// or http://: \"" + config.address +
                            "\"");
  config.name_space = said("namespace", "VAULT_NAMESPACE", "");
  config.auth_path = trimmed(said("jwt_auth_backend_path", "", kDefaultAuthPath));
  config.role = block->string("create_from_role");
  config.tls = {.ca_file = block->string("ca_file"),
                .ca_path = block->string("ca_path"),
                .ca = {},
                .cert_file = block->string("cert_file"),
                .key_file = block->string("key_file"),
                .server_name = block->string("tls_server_name"),
                .is_verified = !block->boolean("tls_skip_verify")};
  if (config.tls.cert_file.empty() != config.tls.key_file.empty())
    return invalid_argument("vault: cert_file and key_file are given together, or neither");
  return config;
}

}  // namespace drover::vault
