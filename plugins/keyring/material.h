// A root key's material, ready for use. Immutable; wipes its secrets. [any]
#pragma once

#include <memory>
#include <string>

#include "crypto/signer.h"
#include "drover/result.h"

namespace drover::v1 {
class KeyMaterial;
}  // namespace drover::v1

namespace drover::keyring {

inline constexpr const char* kAlgorithm = "aes256-gcm";

class Material {
 public:
  // A new key with an identifier of its own.
  static v1::KeyMaterial make(int64_t now_ns);
  // Errors: invalid_argument, for what is no key of this version.
  static Result<std::shared_ptr<const Material>> read(const v1::KeyMaterial& message);
  ~Material();
  Material(const Material&) = delete;

  const std::string& id() const { return id_; }  // sixteen bytes
  const std::string& encryption_key() const { return encryption_; }
  const Signer& ed25519() const { return ed25519_; }
  const Signer& rsa() const { return rsa_; }
  // The whole key, for another server or for its file; secret.
  v1::KeyMaterial message() const;

 private:
  Material(const v1::KeyMaterial& message, Signer rsa);
  const std::string id_;
  const int64_t create_time_;
  std::string root_, encryption_, rsa_private_;
  const Signer ed25519_, rsa_;
};

// "no such key "<id>" in keyring". `id`: sixteen bytes.
Status no_such_key(const std::string& id);
std::string key_text(const std::string& id);

}  // namespace drover::keyring
