#include "crypto/cipher.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <memory>

#include "drover/freed.h"

namespace drover::keyring {
namespace {

using Context = std::unique_ptr<EVP_CIPHER_CTX, Freed<EVP_CIPHER_CTX_free>>;

const unsigned char* in(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* out(std::string& bytes, size_t at = 0) { return reinterpret_cast<unsigned char*>(bytes.data()) + at; }

}  // namespace

std::string random_bytes(size_t count) {
  std::string bytes(count, '\0');
  DROVER_CHECK(RAND_priv_bytes(out(bytes), static_cast<int>(count)) == 1);
  return bytes;
}

std::string seal_with_nonce(std::string_view key, std::string_view nonce, std::string_view plain,
                            std::string_view associated) {
  DROVER_CHECK(key.size() == kKeyBytes && nonce.size() == kNonceBytes);
  std::string sealed(nonce);
  sealed.resize(kNonceBytes + plain.size() + kTagBytes);
  const Context context(EVP_CIPHER_CTX_new());
  int done = 0;
  DROVER_CHECK(EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, in(key), in(nonce)) == 1);
  DROVER_CHECK(EVP_EncryptUpdate(context.get(), nullptr, &done, in(associated),
                                 static_cast<int>(associated.size())) == 1);
  DROVER_CHECK(EVP_EncryptUpdate(context.get(), out(sealed, kNonceBytes), &done, in(plain),
                                 static_cast<int>(plain.size())) == 1);
  unsigned char rest[kTagBytes];
  DROVER_CHECK(EVP_EncryptFinal_ex(context.get(), rest, &done) == 1 && done == 0);
  DROVER_CHECK(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(kTagBytes),
                                   out(sealed, kNonceBytes + plain.size())) == 1);
  return sealed;
}

std::string seal(std::string_view key, std::string_view plain, std::string_view associated) {
  return seal_with_nonce(key, random_bytes(kNonceBytes), plain, associated);
}

Result<std::string> open(std::string_view key, std::string_view sealed, std::string_view associated) {
  DROVER_CHECK(key.size() == kKeyBytes);
  const Status damaged = data_loss("the bytes were not sealed by this key for this place, or are damaged");
  if (sealed.size() < kNonceBytes + kTagBytes) return damaged;
  const std::string_view nonce = sealed.substr(0, kNonceBytes);
  const std::string_view text = sealed.substr(kNonceBytes, sealed.size() - kNonceBytes - kTagBytes);
  std::string tag(sealed.substr(sealed.size() - kTagBytes));
  std::string plain(text.size(), '\0');
  const Context context(EVP_CIPHER_CTX_new());
  int done = 0;
  DROVER_CHECK(EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, in(key), in(nonce)) == 1);
  DROVER_CHECK(EVP_DecryptUpdate(context.get(), nullptr, &done, in(associated),
                                 static_cast<int>(associated.size())) == 1);
  DROVER_CHECK(EVP_DecryptUpdate(context.get(), out(plain), &done, in(text), static_cast<int>(text.size())) == 1);
  DROVER_CHECK(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(kTagBytes), out(tag)) == 1);
  unsigned char rest[kTagBytes];
  if (EVP_DecryptFinal_ex(context.get(), rest, &done) == 1) return plain;
  wipe(plain);
  return damaged;
}

std::string derive(std::string_view secret, std::string_view salt, std::string_view info, size_t count) {
  const std::unique_ptr<EVP_KDF, Freed<EVP_KDF_free>> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const std::unique_ptr<EVP_KDF_CTX, Freed<EVP_KDF_CTX_free>> context(EVP_KDF_CTX_new(kdf.get()));
  std::string own_secret(secret), own_salt(salt), own_info(info), hash("SHA256");
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, hash.data(), hash.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, own_secret.data(), own_secret.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, own_salt.data(), own_salt.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, own_info.data(), own_info.size()),
      OSSL_PARAM_construct_end()};
  std::string derived(count, '\0');
  DROVER_CHECK(EVP_KDF_derive(context.get(), out(derived), count, parameters) == 1);
  wipe(own_secret);
  return derived;
}

void wipe(std::string& secret) {
  OPENSSL_cleanse(secret.data(), secret.size());
  secret.clear();
}

}  // namespace drover::keyring
