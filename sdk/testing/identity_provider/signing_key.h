// A key that signs tokens, for tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace drover::testing {

class SigningKey {
 public:
  enum class Kind { rsa, small_rsa, p256, p384, p521, ed25519 };
  SigningKey(Kind kind, std::string id);
  ~SigningKey();

  const std::string& id() const { return id_; }
  std::string pem() const;  // public
  std::string private_pem() const;
  std::string jwk() const;
  // "PS256" and its like of an RSA key, too.
  std::string signature(std::string_view text, std::string_view algorithm) const;
  // A token over these claims, a JSON object. `algorithm` empty: the usual one of the kind. "none" has no signature,
  // "HS256" one by the public key's text.
  std::string token(std::string_view claims, std::string algorithm = "") const;
  std::string token_with_header(std::string_view header, std::string_view claims, std::string_view algorithm) const;

 private:
  struct Key;
  Kind kind_;
  std::string id_;
  std::unique_ptr<Key> key_;
};

// HMAC with SHA-256.
std::string shared_signature(std::string_view secret, std::string_view text);

}  // namespace drover::testing
