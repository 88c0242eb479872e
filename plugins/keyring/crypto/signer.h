// Signatures: Ed25519 (RFC 8032) and RSA with PKCS #1 and SHA-256 (RFC 8017), over OpenSSL. Immutable. [any]
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "drover/result.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace drover::keyring {

class Signer {
 public:
  // Requires: 32 bytes.
  static Signer ed25519(std::string_view seed);
  // Takes a moment: looks for primes of 1024 bits.
  static Signer new_rsa();
  // Errors: invalid_argument, for bytes that are no RSA key of 2048 bits or more.
  static Result<Signer> rsa(std::string_view private_der);

  std::string sign(std::string_view bytes) const;
  bool verifies(std::string_view bytes, std::string_view signature) const;

  std::string private_der() const;      // of RSA; secret
  std::string ed25519_public() const;   // 32 bytes
  std::string rsa_modulus() const;      // big endian, without leading zeros
  std::string rsa_exponent() const;

 private:
  Signer(evp_pkey_st* key, bool is_rsa);
  std::shared_ptr<evp_pkey_st> key_;
  bool is_rsa_;
};

}  // namespace drover::keyring
