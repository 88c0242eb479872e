// The claims of a token or of a provider's answer (RFC 7519 §4, OpenID Connect Core), and how they become those of an
// identity. Pure. [any]
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::v1 {
class AuthIdentity;
}

namespace drover::jose {

// Immutable; copies share it.
class Claims {
 public:
  // Errors: invalid_argument, for what is no object or has a member twice.
  static Result<Claims> parse(std::string_view json);

  bool has(std::string_view name) const;
  // Nothing: it is absent, or no text.
  std::optional<std::string> text(std::string_view name) const;
  // Seconds since 1970, fractions cut off. Nothing: it is absent or null. Errors: invalid_argument for any other value
  // than a number within 2^53.
  Result<std::optional<int64_t>> time(std::string_view name) const;
  // "aud": a text, or a list of texts. Others are left out.
  std::vector<std::string> audiences() const;

  // With the other ones laid over these, but for `iss` and `sub`.
  Claims with(const Claims& over) const;

  // A claim by its name or, where that begins with '/', by a JSON pointer. Nothing: it is absent or null. Texts as they
  // are, true and false, numbers cut to whole. Errors: invalid_argument `error converting claim '…' to string …`.
  Result<std::optional<std::string>> value(const std::string& claim) const;
  // The same as a list: a single value is a list of one, empty texts are dropped.
  Result<std::optional<std::vector<std::string>>> list(const std::string& claim) const;

 private:
  explicit Claims(std::shared_ptr<const nlohmann::json> object) : object_(std::move(object)) {}
  const nlohmann::json* find(const std::string& claim) const;
  std::shared_ptr<const nlohmann::json> object_;
};

// Claim → name in the identity.
struct ClaimMappings {
  std::map<std::string, std::string> values, lists;
};

// Absent claims are left out. Errors: invalid_argument, as Claims::value.
Status map_claims(const Claims& claims, const ClaimMappings& mappings, v1::AuthIdentity& identity);

// The times of a token as RFC 7519 has them, after what Config says of absent ones.
struct TimeRules {
  std::chrono::seconds expiration_leeway{150};  // from the later of iat and nbf to an exp that is absent
  std::chrono::seconds not_before_leeway{150};  // from an nbf that is absent, where iat is too, to exp
  std::chrono::seconds clock_skew{60};
};
struct TokenTimes {
  int64_t issued_at = 0, not_before = 0, expires_at = 0;  // seconds since 1970
  bool has_issued_at = false;
};
// Errors: invalid_argument `no issued at (iat), not before (nbf), or expiration time (exp) claims in token`.
Result<TokenTimes> times_of(const Claims& claims, const TimeRules& rules);
// Errors: invalid_argument `token not yet valid`, `token is expired`, `token issued in the future`.
Status check_times(const TokenTimes& times, const TimeRules& rules, int64_t now);

}  // namespace drover::jose
