// Asks Vault over HTTP: one typed function for each call that drover makes. Knows no task and keeps no token. [any];
// calls wait, ten seconds at most, and come back soon when they are to stop.
//
// Errors of all calls: "Vault answers 403: permission denied" with the code of the status: invalid_argument (400),
// permission_denied (403), not_found (404), unavailable (429, 5xx, and whatever fails on the way), internal for others;
// data_loss for an answer that cannot be read; cancelled.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>

#include "config.h"
#include "drover/result.h"

namespace drover::vault {

struct SealStatus {
  std::string version, cluster_id, cluster_name;
  bool is_sealed = false;
};

// On whose behalf Vault is asked.
struct Session {
  std::string name_space;  // empty: Vault's own
  std::string token;       // secret
};

struct Lease {
  std::chrono::nanoseconds duration{};  // zero: it does not end
  bool is_renewable = false;
};

struct Login {
  std::string token;  // secret
  Lease lease;
};

// An answer with a secret: an object with the members data, lease_id, lease_duration and so on. Secret.
using Answer = std::shared_ptr<const nlohmann::json>;

// The mount that a path belongs to, as "secret/" and the version of its key-value store; 0: it is none.
struct Mount {
  std::string path;
  int kv_version = 0;
};

class VaultClient {
 public:
  explicit VaultClient(Config config) : config_(std::move(config)) {}

  Result<SealStatus> seal_status(std::stop_token stop) const;

  // With a signed identity; the empty role is the auth method's default.
  Result<Login> log_in(const std::string& name_space, const std::string& role, const std::string& jwt,
                       std::stop_token stop) const;
  // Vault may grant less than it is asked for. `increment`: zero leaves it to Vault.
  Result<Lease> renew_token(const Session& session, std::chrono::nanoseconds increment, std::stop_token stop) const;
  Status revoke_token(const Session& session, std::stop_token stop) const;

  // Paths are those of Vault's API, without "v1/"; "PATH?version=3" has a query. not_found where nothing is there.
  Result<Answer> read(const Session& session, const std::string& path, std::stop_token stop) const;
  Result<Answer> list(const Session& session, const std::string& path, std::stop_token stop) const;
  // An object for a write that answers nothing, too: an empty one.
  Result<Answer> write(const Session& session, const std::string& path, const nlohmann::json& body,
                       std::stop_token stop) const;
  Result<Lease> renew_lease(const Session& session, const std::string& lease, std::chrono::nanoseconds increment,
                            std::stop_token stop) const;
  // Errors also where the session may not know: it is no key-value store then, as far as it goes.
  Result<Mount> mount_of(const Session& session, const std::string& path, std::stop_token stop) const;

 private:
  struct Question;
  Result<Answer> ask(const Question& question, std::stop_token stop) const;

  const Config config_;
};

}  // namespace drover::vault
