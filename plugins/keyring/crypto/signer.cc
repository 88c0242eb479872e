#include "crypto/signer.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "drover/freed.h"

namespace drover::keyring {
namespace {

constexpr int kRsaBits = 2048;

const unsigned char* in(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

using Context = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;

std::string number_of(const EVP_PKEY* key, const char* name) {
  BIGNUM* raw = nullptr;
  DROVER_CHECK(EVP_PKEY_get_bn_param(key, name, &raw) == 1);
  const std::unique_ptr<BIGNUM, Freed<BN_free>> number(raw);
  std::string bytes(static_cast<size_t>(BN_num_bytes(raw)), '\0');
  BN_bn2bin(raw, reinterpret_cast<unsigned char*>(bytes.data()));
  return bytes;
}

}  // namespace

Signer::Signer(evp_pkey_st* key, bool is_rsa) : key_(key, EVP_PKEY_free), is_rsa_(is_rsa) {
  DROVER_CHECK(key != nullptr);
}

Signer Signer::ed25519(std::string_view seed) {
  DROVER_CHECK(seed.size() == 32);
  return {EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, in(seed), seed.size()), false};
}

Signer Signer::new_rsa() { return {EVP_RSA_gen(kRsaBits), true}; }

Result<Signer> Signer::rsa(std::string_view private_der) {
  const unsigned char* at = in(private_der);
  EVP_PKEY* key = d2i_PrivateKey(EVP_PKEY_RSA, nullptr, &at, static_cast<long>(private_der.size()));
  if (!key) return invalid_argument("the RSA key cannot be read");
  Signer signer(key, true);
  if (EVP_PKEY_get_bits(key) < kRsaBits) return invalid_argument("the RSA key has fewer than 2048 bits");
  return signer;
}

std::string Signer::sign(std::string_view bytes) const {
  const Context context(EVP_MD_CTX_new());
  DROVER_CHECK(EVP_DigestSignInit(context.get(), nullptr, is_rsa_ ? EVP_sha256() : nullptr, nullptr, key_.get()) == 1);
  size_t size = 0;
  DROVER_CHECK(EVP_DigestSign(context.get(), nullptr, &size, in(bytes), bytes.size()) == 1);
  std::string signature(size, '\0');
  DROVER_CHECK(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, in(bytes),
                              bytes.size()) == 1);
  signature.resize(size);
  return signature;
}

bool Signer::verifies(std::string_view bytes, std::string_view signature) const {
  const Context context(EVP_MD_CTX_new());
  return EVP_DigestVerifyInit(context.get(), nullptr, is_rsa_ ? EVP_sha256() : nullptr, nullptr, key_.get()) == 1 &&
         EVP_DigestVerify(context.get(), in(signature), signature.size(), in(bytes), bytes.size()) == 1;
}

std::string Signer::private_der() const {
  unsigned char* raw = nullptr;
  const int size = i2d_PrivateKey(key_.get(), &raw);
  DROVER_CHECK(size > 0);
  std::string der(reinterpret_cast<char*>(raw), static_cast<size_t>(size));
  OPENSSL_clear_free(raw, static_cast<size_t>(size));
  return der;
}

std::string Signer::ed25519_public() const {
  std::string bytes(32, '\0');
  size_t size = bytes.size();
  DROVER_CHECK(EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(bytes.data()), &size) == 1);
  return bytes;
}

std::string Signer::rsa_modulus() const { return number_of(key_.get(), OSSL_PKEY_PARAM_RSA_N); }
std::string Signer::rsa_exponent() const { return number_of(key_.get(), OSSL_PKEY_PARAM_RSA_E); }

}  // namespace drover::keyring
