#include "assertion.h"

#include <nlohmann/json.hpp>

#include "drover/base64url.h"
#include "drover/v1/auth_method.pb.h"
#include "signing.h"

namespace drover::oidc {
namespace {

using Json = nlohmann::json;

constexpr const char* kOption = "OIDCClientAssertion";
constexpr int64_t kLife = 300;         // seconds
constexpr size_t kLeastSecret = 32;    // bytes: RFC 7518 §3.2 asks for as many as the digest has

// The key's identifier is what one header field says: named, or the digest of a certificate.
void read_key_id(auth::ConfigReader& key, Assertion& assertion) {
  const std::string id = key.text("KeyID"), certificate = key.text("PemCert");
  const std::string said = key.text("KeyIDHeader");
  if (id.empty() == certificate.empty()) return key.error("KeyID", "exactly one of KeyID and PemCert is needed");
  const std::string header = !said.empty() ? said : id.empty() ? "x5t#S256" : "kid";
  if (!id.empty()) {
    if (header != "kid") return key.error("KeyIDHeader", "of a KeyID must be kid");
    assertion.headers["kid"] = id;
    return;
  }
  if (header != "x5t" && header != "x5t#S256") return key.error("KeyIDHeader", "of a PemCert must be x5t or x5t#S256");
  const auto digest =
      thumbprint_of(certificate, assertion.private_key, header == "x5t" ? Thumbprint::sha1 : Thumbprint::sha256);
  if (!digest) return key.error("PemCert", digest.status().message());
  assertion.headers[header] = *digest;
}

void read_private_key(auth::ConfigReader& said, const std::string& algorithm, Assertion& assertion) {
  assertion.algorithm = jose::algorithm_named(algorithm.empty() ? "RS256" : algorithm);
  if (!assertion.algorithm) said.error("KeyAlgorithm", "is none that a private key signs by");
  const std::string object = said.object("PrivateKey").value_or("");
  if (object.empty()) return said.error("PrivateKey", "missing PrivateKey");
  auth::ConfigReader key(object);
  assertion.private_key = key.text("PemKey", auth::Need::must);
  for (const char* file : {"PemKeyFile", "PemCertFile"})
    key.refuse(file, "is not supported: a Config has the text itself, sealed");
  if (!assertion.private_key.empty() && assertion.algorithm) {
    const Status signs = signature_by_key(assertion.private_key, *assertion.algorithm, "").status();
    if (!signs.ok()) key.error("PemKey", signs.message());
  }
  read_key_id(key, assertion);
  said.add("PrivateKey", key.finish());
}

void read_shared_secret(auth::ConfigReader& said, const std::string& algorithm, std::string_view secret,
                        Assertion& assertion) {
  said.refuse("PrivateKey", "is for the KeySource private_key");
  const std::string name = algorithm.empty() ? "HS256" : algorithm;
  if (name != "HS256" && name != "HS384" && name != "HS512")
    return said.error("KeyAlgorithm", "is none that a secret signs by: HS256, HS384, HS512");
  assertion.secret_bits = std::stoi(name.substr(2));
  if (secret.size() < kLeastSecret)
    said.error("KeySource", "needs an OIDCClientSecret of " + std::to_string(kLeastSecret) + " bytes or more");
}

}  // namespace

std::optional<Assertion> read_assertion(auth::ConfigReader& reader, std::string_view client_secret) {
  const auto object = reader.object(kOption);
  if (!object) return std::nullopt;
  auth::ConfigReader said(*object);
  Assertion assertion;
  assertion.audience = said.texts("Audience");
  const std::string source = said.text("KeySource", auth::Need::must), algorithm = said.text("KeyAlgorithm");
  for (const auto& [name, value] : said.text_map("ExtraHeaders")) {
    if (name == "alg" || name == "typ" || name == "crit" || name == "kid" || name.starts_with("x5t")) {
      said.error("ExtraHeaders." + name, "is not for an option to say");
    } else {
      assertion.headers[name] = value;
    }
  }
  if (source == "private_key") {
    read_private_key(said, algorithm, assertion);
  } else if (source == "client_secret") {
    read_shared_secret(said, algorithm, client_secret, assertion);
  } else if (source == "nomad") {
    said.error("KeySource", "nomad is not supported: the cluster's root keys sign identities only; use private_key");
  } else if (!source.empty()) {
    said.error("KeySource", "must be private_key or client_secret");
  }
  reader.add(kOption, said.finish());
  return assertion;
}

Result<std::string> client_assertion(const Assertion& assertion, const Client& client, std::string_view token_id,
                                     int64_t now) {
  Json header = Json::object();
  for (const auto& [name, value] : assertion.headers) header[name] = value;
  header["typ"] = "JWT";
  header["alg"] = assertion.algorithm ? std::string(jose::name_of(*assertion.algorithm))
                                      : "HS" + std::to_string(assertion.secret_bits);
  Json claims{{"iss", client.id}, {"sub", client.id}, {"jti", token_id},
              {"iat", now},       {"nbf", now},       {"exp", now + kLife}};
  if (assertion.audience.size() > 1) {
    claims["aud"] = assertion.audience;
  } else {
    claims["aud"] = assertion.audience.empty() ? std::string(client.issuer) : assertion.audience.front();
  }
  const std::string text = base64url(header.dump()) + "." + base64url(claims.dump());
  std::string signature;
  if (assertion.algorithm) {
    DROVER_TRY(signature, signature_by_key(assertion.private_key, *assertion.algorithm, text));
  } else {
    signature = signature_by_secret(client.secret, assertion.secret_bits, text);
  }
  return text + "." + base64url(signature);
}

}  // namespace drover::oidc
