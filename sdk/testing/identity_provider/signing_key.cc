#include "sdk/testing/identity_provider/signing_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <optional>

#include "drover/base64url.h"
#include "drover/freed.h"
#include "drover/result.h"

namespace drover::testing {
namespace {

using Kind = SigningKey::Kind;

const unsigned char* raw(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

size_t width_of(Kind kind) { return kind == Kind::p256 ? 32 : kind == Kind::p384 ? 48 : 66; }
const char* group_of(Kind kind) { return kind == Kind::p256 ? "P-256" : kind == Kind::p384 ? "P-384" : "P-521"; }
bool is_elliptic(Kind kind) { return kind == Kind::p256 || kind == Kind::p384 || kind == Kind::p521; }

EVP_PKEY* made(Kind kind) {
  if (kind == Kind::rsa) return EVP_RSA_gen(2048);
  if (kind == Kind::small_rsa) return EVP_RSA_gen(1024);
  if (kind == Kind::ed25519) return EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  return EVP_EC_gen(group_of(kind));
}

const EVP_MD* digest_of(std::string_view algorithm) {
  if (algorithm.ends_with("256")) return EVP_sha256();
  if (algorithm.ends_with("384")) return EVP_sha384();
  return algorithm.ends_with("512") ? EVP_sha512() : nullptr;
}

std::string bytes_of(const BIGNUM* number, size_t width) {
  std::string bytes(width, '\0');
  DROVER_CHECK(BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(width)) >= 0);
  return bytes;
}

// In so many bytes; without: in as few as it has.
std::string number_of(EVP_PKEY* key, const char* name, std::optional<size_t> width = std::nullopt) {
  BIGNUM* number = nullptr;
  DROVER_CHECK(EVP_PKEY_get_bn_param(key, name, &number) == 1);
  const std::unique_ptr<BIGNUM, Freed<BN_free>> owned(number);
  return base64url(bytes_of(number, width.value_or(static_cast<size_t>(BN_num_bytes(number)))));
}

std::string fixed_width(std::string_view der, size_t width) {
  const unsigned char* at = raw(der);
  const std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>> pair(
      d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  return bytes_of(ECDSA_SIG_get0_r(pair.get()), width) + bytes_of(ECDSA_SIG_get0_s(pair.get()), width);
}

template <typename Write>
std::string text_from(Write write) {
  const std::unique_ptr<BIO, Freed<BIO_free_all>> out(BIO_new(BIO_s_mem()));
  DROVER_CHECK(write(out.get()) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<size_t>(size)};
}

std::string usual_algorithm(Kind kind) {
  switch (kind) {
    case Kind::rsa:
    case Kind::small_rsa:
      return "RS256";
    case Kind::p256:
      return "ES256";
    case Kind::p384:
      return "ES384";
    case Kind::p521:
      return "ES512";
    default:
      return "EdDSA";
  }
}

}  // namespace

std::string shared_signature(std::string_view secret, std::string_view text) {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), raw(text), text.size(), sum, &size);
  return {reinterpret_cast<char*>(sum), size};
}

struct SigningKey::Key {
  std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>> evp;
};

SigningKey::SigningKey(Kind kind, std::string id) : kind_(kind), id_(std::move(id)), key_(std::make_unique<Key>()) {
  key_->evp.reset(made(kind));
  DROVER_CHECK(key_->evp != nullptr);
}
SigningKey::~SigningKey() = default;

std::string SigningKey::pem() const {
  return text_from([&](BIO* out) { return PEM_write_bio_PUBKEY(out, key_->evp.get()); });
}

std::string SigningKey::private_pem() const {
  return text_from(
      [&](BIO* out) { return PEM_write_bio_PrivateKey(out, key_->evp.get(), nullptr, nullptr, 0, nullptr, nullptr); });
}

std::string SigningKey::jwk() const {
  EVP_PKEY* const key = key_->evp.get();
  const std::string head = R"({"kid":")" + id_ + R"(","use":"sig",)";
  if (kind_ == Kind::rsa || kind_ == Kind::small_rsa)
    return head + R"("kty":"RSA","n":")" + number_of(key, OSSL_PKEY_PARAM_RSA_N) + R"(","e":")" +
           number_of(key, OSSL_PKEY_PARAM_RSA_E) + "\"}";
  if (is_elliptic(kind_))
    return head + R"("kty":"EC","crv":")" + group_of(kind_) + R"(","x":")" +
           number_of(key, OSSL_PKEY_PARAM_EC_PUB_X, width_of(kind_)) + R"(","y":")" +
           number_of(key, OSSL_PKEY_PARAM_EC_PUB_Y, width_of(kind_)) + "\"}";
  unsigned char bytes[32];
  size_t size = sizeof bytes;
  DROVER_CHECK(EVP_PKEY_get_raw_public_key(key, bytes, &size) == 1);
  return head + R"("kty":"OKP","crv":"Ed25519","x":")" +
         base64url(std::string_view(reinterpret_cast<char*>(bytes), size)) + "\"}";
}

std::string SigningKey::signature(std::string_view text, std::string_view algorithm) const {
  if (algorithm == "none") return "";
  if (algorithm == "HS256") return shared_signature(pem(), text);
  const std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* details = nullptr;
  DROVER_CHECK(EVP_DigestSignInit(context.get(), &details, digest_of(algorithm), nullptr, key_->evp.get()) == 1);
  if (algorithm.starts_with("PS")) {
    EVP_PKEY_CTX_set_rsa_padding(details, RSA_PKCS1_PSS_PADDING);
    EVP_PKEY_CTX_set_rsa_pss_saltlen(details, RSA_PSS_SALTLEN_DIGEST);
  }
  size_t size = 0;
  DROVER_CHECK(EVP_DigestSign(context.get(), nullptr, &size, raw(text), text.size()) == 1);
  std::string bytes(size, '\0');
  DROVER_CHECK(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(bytes.data()), &size, raw(text),
                              text.size()) == 1);
  bytes.resize(size);
  return is_elliptic(kind_) ? fixed_width(bytes, width_of(kind_)) : bytes;
}

std::string SigningKey::token(std::string_view claims, std::string algorithm) const {
  if (algorithm.empty()) algorithm = usual_algorithm(kind_);
  const std::string kid = id_.empty() ? "" : R"("kid":")" + id_ + R"(",)";
  return token_with_header("{" + kid + R"("alg":")" + algorithm + R"(","typ":"JWT"})", claims, algorithm);
}

std::string SigningKey::token_with_header(std::string_view header, std::string_view claims,
                                          std::string_view algorithm) const {
  const std::string text = base64url(header) + "." + base64url(claims);
  return text + "." + base64url(signature(text, algorithm));
}

}  // namespace drover::testing
