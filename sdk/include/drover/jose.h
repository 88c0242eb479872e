// Signed tokens that others made (JWS in its compact form, RFC 7515), and the public keys that they are checked with:
// JWK and JWKS (RFC 7517, 8037), PEM. Signing is not here: keys of the cluster are the keyring's (drover/keyring.h).
//
//   DROVER_TRY(const jose::Token token, jose::parse_token(text));
//   const bool is_good = jose::is_signed(token, keys);    // then: is its algorithm one of the configured ones?
//
// Strict where leniency has cost others dearly: exactly three parts, base64url in its one form, no member twice, no
// unknown "crit", signatures of fixed width. A key verifies by the algorithms of its kind alone, so a header cannot
// make a public key a shared secret; `none` and HS* are no algorithms here. RSA keys have 2048 bits at least.
//
// Pure: no clock, no I/O. [any]
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/auth_method.h"
#include "drover/claims.h"
#include "drover/result.h"

namespace drover::jose {

inline constexpr size_t kMaxToken = kMaxLoginToken;  // bytes
inline constexpr size_t kMaxKeySet = 1 << 20;        // bytes
inline constexpr size_t kMaxKeys = 256;              // of a set
inline constexpr int kMaxDepth = 32;                 // of JSON

enum class Algorithm : uint8_t { rs256, rs384, rs512, ps256, ps384, ps512, es256, es384, es512, eddsa };

std::string_view name_of(Algorithm algorithm);                    // "RS256"
std::optional<Algorithm> algorithm_named(std::string_view name);  // none: not supported, whatever it is

// A public key. Immutable; copies share it.
class Key {
 public:
  // A public key or a certificate in PEM: RSA, ECDSA on P-256, P-384 or P-521, Ed25519. Errors: invalid_argument.
  static Result<Key> from_pem(std::string_view pem);
  // A JSON Web Key. Errors: invalid_argument; unimplemented for a kind, curve, use or algorithm that is not one of the
  // above.
  static Result<Key> from_jwk(std::string_view json);

  const std::string& id() const;  // "kid"; empty: it has none
  // The key's kind, and what it says that it is for, allow it.
  bool fits(Algorithm algorithm) const;
  // False also for an algorithm that does not fit.
  bool verifies(Algorithm algorithm, std::string_view text, std::string_view signature) const;

 private:
  struct Material;
  explicit Key(std::shared_ptr<const Material> material) : material_(std::move(material)) {}
  friend struct KeyReader;
  std::shared_ptr<const Material> material_;
};

// The keys of a JSON Web Key Set that can be used here, in its order; members of other kinds are left out (RFC 7517
// §5). Errors: invalid_argument, for a set that is none, or a key of a kind known here with something wrong in it.
Result<std::vector<Key>> parse_key_set(std::string_view json);

struct Token {
  Algorithm algorithm;
  std::string key_id;  // empty: it names none
  std::string type;    // "typ"
  Claims claims;
  std::string signed_text;
  std::string signature;
};

// Reads the form; says nothing of who made it. Errors: invalid_argument with a text that tells nothing of its content.
Result<Token> parse_token(std::string_view text);

// One of the keys made it: those with the identifier that it names, where it names one and some have one; else any.
bool is_signed(const Token& token, std::span<const Key> keys);

// A key of that identifier is among them, or the token names none.
bool names_known_key(const Token& token, std::span<const Key> keys);

// The left half of the digest that goes with the algorithm, in base64url: at_hash and c_hash (OpenID Connect Core
// 3.1.3.6). With EdDSA it is that of SHA-512, which Ed25519 itself uses.
std::string half_hash(Algorithm algorithm, std::string_view text);

}  // namespace drover::jose
