// What a client says of itself to a provider in place of its secret: a signed token (RFC 7523 §2.2), by a private key
// (private_key_jwt) or by the secret, which itself does not travel (client_secret_jwt). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/auth_config.h"
#include "drover/jose.h"

namespace drover::oidc {

struct Assertion {
  std::vector<std::string> audience;           // empty: the provider's URL
  std::optional<jose::Algorithm> algorithm;    // of the private key; nothing: the client's secret signs
  int secret_bits = 256;                       // of the digest, where that signs
  std::string private_key;                     // PEM; secret
  std::map<std::string, std::string> headers;  // beside alg and typ
};

// Reads the option OIDCClientAssertion; nothing when it is absent. Errors are the reader's.
std::optional<Assertion> read_assertion(auth::ConfigReader& reader, std::string_view client_secret);

struct Client {
  std::string_view id, secret, issuer;  // issuer: the provider's URL
};

// Good for five minutes from `now`, seconds since 1970. `token_id` is used once. Errors: invalid_argument.
Result<std::string> client_assertion(const Assertion& assertion, const Client& client, std::string_view token_id,
                                     int64_t now);

}  // namespace drover::oidc
