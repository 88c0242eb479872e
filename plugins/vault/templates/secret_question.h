// The questions of a template to Vault by secret, secrets and pkiCert, and what becomes of the answer. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "client/vault_client.h"
#include "drover/text_template.h"

namespace drover::vault {

struct SecretQuestion {
  enum class Kind : uint8_t { read, list, write, certificate };
  Kind kind = Kind::read;
  std::string path;  // without slashes at its ends; a read may have a query
  std::map<std::string, std::string> data{};  // of what is written; secret

  // The same for the same question: "vault.read(secret/db)". A write's data stands in it as a digest.
  std::string name() const;
};

// The question of a call. Errors: invalid_argument.
Result<SecretQuestion> read_question(std::string_view function, std::span<const text_template::Value> arguments);

// The path at which a key-value store of that mount answers it: version 2 has data/ and metadata/ behind the mount.
std::string path_at(const Mount& mount, const SecretQuestion& question);
// The body of a write.
nlohmann::json body_at(const Mount& mount, const SecretQuestion& question);

// The value of the function in the template, and when it is looked at again; zero: not before the token is another.
struct SecretValue {
  text_template::Value value{};  // null: there is none
  std::string lease;             // that can be renewed; empty: there is none
  std::chrono::nanoseconds lease_duration{};
  std::chrono::nanoseconds again{};
};
// Errors: invalid_argument for an answer that is none of this kind.
Result<SecretValue> read_answer(const SecretQuestion& question, const nlohmann::json& answer, int64_t now_ns);

// When a lease of that length is renewed or read again: at two thirds of it, a second at least.
std::chrono::nanoseconds again_after(std::chrono::nanoseconds lease);

}  // namespace drover::vault
