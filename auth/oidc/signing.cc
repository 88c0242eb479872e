#include "signing.h"

#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <memory>

#include "drover/base64url.h"
#include "drover/freed.h"

namespace drover::oidc {
namespace {

using jose::Algorithm;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Source = std::unique_ptr<BIO, Freed<BIO_free_all>>;

constexpr size_t kMaxPem = 64 << 10;
constexpr int kLeastRsaBits = 2048;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

// OpenSSL asks the terminal for a password unless it is told not to.
int no_password(char*, int, int, void*) { return -1; }

// Null: the text is too long.
Source source_of(std::string_view pem) {
  return Source(pem.size() > kMaxPem ? nullptr : BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Key read_key(std::string_view pem) {
  const Source source = source_of(pem);
  Key key(source ? PEM_read_bio_PrivateKey(source.get(), nullptr, no_password, nullptr) : nullptr);
  ERR_clear_error();
  return key;
}

const EVP_MD* digest_of(int bits) { return bits == 256 ? EVP_sha256() : bits == 384 ? EVP_sha384() : EVP_sha512(); }

// How an algorithm uses a key.
struct Way {
  int kind;        // of the key, OpenSSL's
  int bits;        // of the digest; 0: none
  size_t width;    // of each of the two numbers of a signature on a curve
  bool is_pss;
};

Way way_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::rs256:
      return {EVP_PKEY_RSA, 256, 0, false};
    case Algorithm::rs384:
      return {EVP_PKEY_RSA, 384, 0, false};
    case Algorithm::rs512:
      return {EVP_PKEY_RSA, 512, 0, false};
    case Algorithm::ps256:
      return {EVP_PKEY_RSA, 256, 0, true};
    case Algorithm::ps384:
      return {EVP_PKEY_RSA, 384, 0, true};
    case Algorithm::ps512:
      return {EVP_PKEY_RSA, 512, 0, true};
    case Algorithm::es256:
      return {EVP_PKEY_EC, 256, 32, false};
    case Algorithm::es384:
      return {EVP_PKEY_EC, 384, 48, false};
    case Algorithm::es512:
      return {EVP_PKEY_EC, 512, 66, false};
    case Algorithm::eddsa:
      break;
  }
  return {EVP_PKEY_ED25519, 0, 0, false};
}

bool fits(EVP_PKEY* key, const Way& way) {
  if (EVP_PKEY_get_base_id(key) != way.kind) return false;
  const int bits = EVP_PKEY_get_bits(key);
  if (way.kind == EVP_PKEY_RSA) return bits >= kLeastRsaBits;
  return way.width == 0 || (static_cast<size_t>(bits) + 7) / 8 == way.width;
}

// The two numbers side by side (RFC 7518 §3.4); empty when they cannot be read.
std::string side_by_side(std::string_view der, size_t width) {
  const unsigned char* at = bytes_of(der);
  const std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>> pair(
      d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  std::string out(2 * width, '\0');
  auto* const to = reinterpret_cast<unsigned char*>(out.data());
  const auto size = static_cast<int>(width);
  if (!pair || BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), to, size) < 0 ||
      BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), to + width, size) < 0)
    return {};
  return out;
}

std::string signature_of(EVP_PKEY* key, const Way& way, std::string_view text) {
  const std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* details = nullptr;
  const EVP_MD* digest = way.bits > 0 ? digest_of(way.bits) : nullptr;
  if (!context || EVP_DigestSignInit(context.get(), &details, digest, nullptr, key) != 1) return {};
  if (way.is_pss && (EVP_PKEY_CTX_set_rsa_padding(details, RSA_PKCS1_PSS_PADDING) != 1 ||
                     EVP_PKEY_CTX_set_rsa_pss_saltlen(details, RSA_PSS_SALTLEN_DIGEST) != 1))
    return {};
  size_t size = 0;
  if (EVP_DigestSign(context.get(), nullptr, &size, bytes_of(text), text.size()) != 1) return {};
  std::string out(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, bytes_of(text),
                     text.size()) != 1)
    return {};
  out.resize(size);
  return way.width > 0 ? side_by_side(out, way.width) : out;
}

}  // namespace

Result<std::string> signature_by_key(std::string_view pem, Algorithm algorithm, std::string_view text) {
  const Key key = read_key(pem);
  if (!key) return invalid_argument("is no private key in PEM without a password");
  const Way way = way_of(algorithm);
  if (!fits(key.get(), way))
    return invalid_argument("is no key for " + std::string(jose::name_of(algorithm)) +
                            (way.kind == EVP_PKEY_RSA ? ", of 2048 bits or more" : ""));
  std::string signature = signature_of(key.get(), way, text);
  ERR_clear_error();
  if (signature.empty()) return invalid_argument("cannot sign by " + std::string(jose::name_of(algorithm)));
  return signature;
}

std::string signature_by_secret(std::string_view secret, int bits, std::string_view text) {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(digest_of(bits), secret.data(), static_cast<int>(secret.size()), bytes_of(text), text.size(), sum, &size);
  return {reinterpret_cast<const char*>(sum), size};
}

Result<std::string> thumbprint_of(std::string_view certificate_pem, std::string_view key_pem, Thumbprint kind) {
  const Source source = source_of(certificate_pem);
  const std::unique_ptr<X509, Freed<X509_free>> certificate(
      source ? PEM_read_bio_X509(source.get(), nullptr, no_password, nullptr) : nullptr);
  const Key key = read_key(key_pem);
  const bool is_its = certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (certificate) X509_digest(certificate.get(), kind == Thumbprint::sha1 ? EVP_sha1() : EVP_sha256(), sum, &size);
  ERR_clear_error();
  if (!certificate) return invalid_argument("is no certificate in PEM");
  if (key && !is_its) return invalid_argument("is not the certificate of PemKey");
  return base64url(std::string_view(reinterpret_cast<const char*>(sum), size));
}

}  // namespace drover::oidc
