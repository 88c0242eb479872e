// The agent's block `vault`.
#pragma once

#include <functional>
#include <string>

#include "drover/config.h"
#include "drover/http_client.h"

namespace drover::vault {

struct Config {
  bool is_enabled = false;
  std::string address;     // "https://vault.example:8200"
  std::string name_space;  // empty: Vault's own
  std::string auth_path;   // of the auth method that takes the tasks' identities, "jwt-nomad"
  std::string role;        // of tasks that name none; empty: the auth method's own default
  http_client::Tls tls;
};

ConfigSchema schema();

// `variable` gives the agent's environment, "" where a name is not there: VAULT_ADDR and VAULT_NAMESPACE stand for what
// the block does not say. Errors: invalid_argument naming the option.
Result<Config> read_config(const ConfigBlock* block, const std::function<std::string(const char*)>& variable);

}  // namespace drover::vault
