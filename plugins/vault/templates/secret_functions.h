// secret, secrets, pkiCert: what templates of a task read from Vault, with the task's own token. A template with
// something that cannot be read yet is not written, and says why.
#pragma once

#include <optional>

#include "drover/plugin.h"
#include "drover/template_source.h"
#include "node/task_vault.h"

namespace drover::vault {

class SecretFunctions final : public TemplateSource {
 public:
  struct Means {
    Host& host;
    const Config& config;
    const VaultClient& client;
    TaskVaults& vaults;
  };
  // Before anything is called; all of it outlives the functions.
  void start(const Means& means) { means_.emplace(means); }
  // Nothing is asked any more, and nobody waits.
  void stop() { stop_.request_stop(); }

  std::vector<std::string> functions() const override { return {"pkiCert", "secret", "secrets"}; }
  Result<text_template::Value> call(std::string_view name, std::span<const text_template::Value> arguments,
                                    TemplateLooks& looks) override;

 private:
  std::optional<Means> means_;
  std::stop_source stop_;
};

}  // namespace drover::vault
