#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <array>
#include <nlohmann/json.hpp>

#include "drover/base64url.h"
#include "drover/freed.h"
#include "drover/jose.h"
#include "pem.h"
#include "strict_json.h"

namespace drover::jose {

enum class KeyKind : uint8_t { rsa, p256, p384, p521, ed25519 };

namespace {

using Json = nlohmann::json;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using PublicKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Context = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;

constexpr int kLeastRsaBits = 2048;
constexpr int kMostRsaBits = 8192;  // a larger one costs a server more than a login is worth
constexpr int kMostExponentBits = 33;
constexpr size_t kMaxPem = 64 << 10;
constexpr size_t kEd25519Bytes = 32;

using Kind = KeyKind;

struct Curve {
  Kind kind;
  const char* name;   // in a JWK
  const char* group;  // OpenSSL's
  size_t width;       // bytes of a coordinate
  Algorithm algorithm;
};
constexpr std::array<Curve, 3> kCurves = {{{Kind::p256, "P-256", "prime256v1", 32, Algorithm::es256},
                                           {Kind::p384, "P-384", "secp384r1", 48, Algorithm::es384},
                                           {Kind::p521, "P-521", "secp521r1", 66, Algorithm::es512}}};

const Curve* curve_of(Kind kind) {
  for (const Curve& curve : kCurves) {
    if (curve.kind == kind) return &curve;
  }
  return nullptr;
}

const EVP_MD* digest_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::rs256:
    case Algorithm::ps256:
    case Algorithm::es256:
      return EVP_sha256();
    case Algorithm::rs384:
    case Algorithm::ps384:
    case Algorithm::es384:
      return EVP_sha384();
    case Algorithm::rs512:
    case Algorithm::ps512:
    case Algorithm::es512:
      return EVP_sha512();
    case Algorithm::eddsa:
      break;
  }
  return nullptr;
}

bool is_pss(Algorithm algorithm) {
  return algorithm == Algorithm::ps256 || algorithm == Algorithm::ps384 || algorithm == Algorithm::ps512;
}

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Number number_of(std::string_view bytes) {
  return Number(BN_bin2bn(bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

// The two numbers side by side (RFC 7518 §3.4) in the form that OpenSSL reads; empty when they have another width.
std::string der_of(std::string_view signature, size_t width) {
  if (signature.size() != 2 * width) return {};
  Number r = number_of(signature.substr(0, width)), s = number_of(signature.substr(width));
  const std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>> pair(ECDSA_SIG_new());
  if (!r || !s || !pair || ECDSA_SIG_set0(pair.get(), r.release(), s.release()) != 1) return {};
  unsigned char* made = nullptr;
  const int size = i2d_ECDSA_SIG(pair.get(), &made);
  if (size <= 0) return {};
  std::string der(reinterpret_cast<char*>(made), static_cast<size_t>(size));
  OPENSSL_free(made);
  return der;
}

bool check_signature(EVP_PKEY* key, Algorithm algorithm, std::string_view text, std::string_view signature) {
  const std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* details = nullptr;
  if (!context || EVP_DigestVerifyInit(context.get(), &details, digest_of(algorithm), nullptr, key) != 1) return false;
  if (is_pss(algorithm) && (EVP_PKEY_CTX_set_rsa_padding(details, RSA_PKCS1_PSS_PADDING) != 1 ||
                            EVP_PKEY_CTX_set_rsa_pss_saltlen(details, RSA_PSS_SALTLEN_DIGEST) != 1))
    return false;
  return EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(text), text.size()) == 1;
}

Status check_rsa(EVP_PKEY* key) {
  const int bits = EVP_PKEY_get_bits(key);
  if (bits < kLeastRsaBits)
    return invalid_argument("an RSA key of " + std::to_string(bits) + " bits; at least " +
                            std::to_string(kLeastRsaBits) + " are needed");
  if (bits > kMostRsaBits) return invalid_argument("an RSA key of more than " + std::to_string(kMostRsaBits) + " bits");
  BIGNUM* exponent = nullptr;
  EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &exponent);
  const Number owned(exponent);
  if (!owned || !BN_is_odd(owned.get()) || BN_is_one(owned.get()) || BN_num_bits(owned.get()) > kMostExponentBits)
    return invalid_argument("an RSA key with an exponent that is no good one");
  return ok_status();
}

Result<Kind> elliptic_kind(EVP_PKEY* key) {
  char group[64] = {};
  size_t size = 0;
  EVP_PKEY_get_group_name(key, group, sizeof group, &size);
  for (const Curve& curve : kCurves) {
    if (std::string_view(group, size) == curve.group) return curve.kind;
  }
  return Status(Code::unimplemented, "a key on another curve than P-256, P-384 and P-521");
}

Result<Kind> kind_of(EVP_PKEY* key) {
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA:
      DROVER_RETURN_IF_ERROR(check_rsa(key));
      return Kind::rsa;
    case EVP_PKEY_EC:
      return elliptic_kind(key);
    case EVP_PKEY_ED25519:
      return Kind::ed25519;
    default:
      return Status(Code::unimplemented, "a key of another kind than RSA, ECDSA and Ed25519");
  }
}

// Builds a key of OpenSSL's type from its parts. Null: they are none.
PublicKey built(const char* type, OSSL_PARAM_BLD* parts) {
  const std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>> parameters(OSSL_PARAM_BLD_to_param(parts));
  const Context context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1)
    return nullptr;
  PublicKey made(key);
  const Context check(EVP_PKEY_CTX_new(key, nullptr));
  if (!check || EVP_PKEY_public_check(check.get()) != 1) return nullptr;
  return made;
}

using Parts = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;

// The bytes of a member. Errors: invalid_argument naming it.
Result<std::string> bytes_in(const Json& jwk, const char* name) {
  const auto at = jwk.find(name);
  if (at == jwk.end() || !at->is_string()) return invalid_argument("\"" + std::string(name) + "\" is missing");
  auto bytes = base64url_decode(at->get<std::string>());
  if (!bytes || bytes->empty()) return invalid_argument("\"" + std::string(name) + "\" is not base64url");
  return bytes;
}

Result<PublicKey> rsa_of(const Json& jwk) {
  DROVER_TRY(const std::string modulus, bytes_in(jwk, "n"));
  DROVER_TRY(const std::string exponent, bytes_in(jwk, "e"));
  if (modulus.size() > kMostRsaBits / 8 + 1) return invalid_argument("\"n\" is too long");
  const Number n = number_of(modulus), e = number_of(exponent);
  const Parts parts(OSSL_PARAM_BLD_new());
  if (!n || !e || !parts || OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return invalid_argument("it is no RSA key");
  PublicKey key = built("RSA", parts.get());
  if (!key) return invalid_argument("it is no RSA key");
  return key;
}

Result<PublicKey> elliptic_of(const Json& jwk, const Curve& curve) {
  DROVER_TRY(const std::string x, bytes_in(jwk, "x"));
  DROVER_TRY(const std::string y, bytes_in(jwk, "y"));
  if (x.size() != curve.width || y.size() != curve.width)
    return invalid_argument("\"x\" and \"y\" do not have the width of " + std::string(curve.name));
  const std::string point = "\x04" + x + y;
  const Parts parts(OSSL_PARAM_BLD_new());
  if (!parts || OSSL_PARAM_BLD_push_utf8_string(parts.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve.group, 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(parts.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) != 1)
    return invalid_argument("it is no point");
  PublicKey key = built("EC", parts.get());
  if (!key) return invalid_argument("its point is not on " + std::string(curve.name));
  return key;
}

Result<PublicKey> ed25519_of(const Json& jwk) {
  DROVER_TRY(const std::string x, bytes_in(jwk, "x"));
  if (x.size() != kEd25519Bytes) return invalid_argument("\"x\" does not have 32 bytes");
  PublicKey key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(x), x.size()));
  if (!key) return invalid_argument("it is no Ed25519 key");
  return key;
}

Result<PublicKey> key_of(const Json& jwk) {
  const std::string type = member_text(jwk, "kty"), curve = member_text(jwk, "crv");
  if (type == "RSA") return rsa_of(jwk);
  for (const Curve& each : kCurves) {
    if (type == "EC" && curve == each.name) return elliptic_of(jwk, each);
  }
  if (type == "OKP" && curve == "Ed25519") return ed25519_of(jwk);
  return Status(Code::unimplemented, "a key of another kind than RSA, ECDSA and Ed25519");
}

// It is for checking signatures, as far as it says.
bool is_for_signatures(const Json& jwk) {
  if (jwk.contains("use") && member_text(jwk, "use") != "sig") return false;
  const auto operations = jwk.find("key_ops");
  if (operations == jwk.end()) return true;
  return operations->is_array() && std::ranges::find(*operations, Json("verify")) != operations->end();
}

}  // namespace

struct Key::Material {
  PublicKey key;
  Kind kind;
  std::string id;
  std::optional<Algorithm> only;  // "alg" of a JWK
};

struct KeyReader {
  static Result<Key> made(PublicKey key, std::string id, std::optional<Algorithm> only) {
    DROVER_TRY(const Kind kind, kind_of(key.get()));
    return Key(std::make_shared<const Key::Material>(
        Key::Material{.key = std::move(key), .kind = kind, .id = std::move(id), .only = only}));
  }
  static Result<Key> of_jwk(const Json& jwk) {
    if (!is_for_signatures(jwk)) return Status(Code::unimplemented, "a key that is not for signatures");
    std::optional<Algorithm> only;
    if (jwk.contains("alg")) {
      only = algorithm_named(member_text(jwk, "alg"));
      if (!only) return Status(Code::unimplemented, "a key for an algorithm that is not supported");
    }
    DROVER_TRY(PublicKey key, key_of(jwk));
    return made(std::move(key), member_text(jwk, "kid"), only);
  }
};

const std::string& Key::id() const { return material_->id; }

bool Key::fits(Algorithm algorithm) const {
  if (material_->only && *material_->only != algorithm) return false;
  if (const Curve* const curve = curve_of(material_->kind)) return curve->algorithm == algorithm;
  if (material_->kind == Kind::ed25519) return algorithm == Algorithm::eddsa;
  return algorithm <= Algorithm::ps512;
}

bool Key::verifies(Algorithm algorithm, std::string_view text, std::string_view signature) const {
  if (!fits(algorithm)) return false;
  const Curve* const curve = curve_of(material_->kind);
  if (!curve) return check_signature(material_->key.get(), algorithm, text, signature);
  const std::string der = der_of(signature, curve->width);
  return !der.empty() && check_signature(material_->key.get(), algorithm, text, der);
}

Result<Key> Key::from_pem(std::string_view pem) {
  if (pem.size() > kMaxPem) return invalid_argument("it is longer than " + std::to_string(kMaxPem) + " bytes");
  PublicKey key(PEM_read_bio_PUBKEY(pem_source(pem).get(), nullptr, no_password, nullptr));
  if (!key) {
    if (const auto certificate = read_certificate(pem_source(pem).get())) key.reset(X509_get_pubkey(certificate.get()));
  }
  if (!key) return invalid_argument("it is neither a public key nor a certificate in PEM");
  return KeyReader::made(std::move(key), "", std::nullopt);
}

Result<Key> Key::from_jwk(std::string_view json) {
  DROVER_TRY(const Json jwk, parse_object(json));
  return KeyReader::of_jwk(jwk);
}

Result<std::vector<Key>> parse_key_set(std::string_view json) {
  if (json.size() > kMaxKeySet)
    return invalid_argument("the key set is longer than " + std::to_string(kMaxKeySet) + " bytes");
  const auto set = parse_object(json);
  if (!set) return set.status().with_context("the key set");
  const auto list = set->find("keys");
  if (list == set->end() || !list->is_array()) return invalid_argument("the key set has no list \"keys\"");
  if (list->size() > kMaxKeys)
    return invalid_argument("the key set has more than " + std::to_string(kMaxKeys) + " keys");
  std::vector<Key> keys;
  for (size_t i = 0; i < list->size(); ++i) {
    const Json& jwk = (*list)[i];
    const std::string place = "keys[" + std::to_string(i) + "]";
    if (!jwk.is_object()) return invalid_argument(place + " of the key set is no object");
    auto key = KeyReader::of_jwk(jwk);
    if (!key && key.status().code() == Code::unimplemented) continue;
    if (!key) return key.status().with_context(place + " of the key set");
    keys.push_back(*std::move(key));
  }
  return keys;
}

std::string half_hash(Algorithm algorithm, std::string_view text) {
  const EVP_MD* const digest = algorithm == Algorithm::eddsa ? EVP_sha512() : digest_of(algorithm);
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  DROVER_CHECK(EVP_Digest(text.data(), text.size(), bytes, &size, digest, nullptr) == 1);
  return base64url(std::string_view(reinterpret_cast<char*>(bytes), size / 2));
}

}  // namespace drover::jose
