// Signatures by which a client of a provider proves itself (RFC 7518 §3). Pure; the keys and secrets are the caller's.
#pragma once

#include <string>
#include <string_view>

#include "drover/jose.h"
#include "drover/result.h"

namespace drover::oidc {

// By a private key in PEM. Errors: invalid_argument, for a key that cannot be read or does not fit the algorithm; the
// text tells nothing of the key.
Result<std::string> signature_by_key(std::string_view pem, jose::Algorithm algorithm, std::string_view text);

// By a shared secret. Requires: `bits` is 256, 384 or 512.
std::string signature_by_secret(std::string_view secret, int bits, std::string_view text);

// The digest of a certificate in PEM as header fields name it (RFC 7515 §4.1.7): SHA-256, or SHA-1 for "x5t". Errors:
// invalid_argument, also when it is not the key's.
enum class Thumbprint : uint8_t { sha1, sha256 };
Result<std::string> thumbprint_of(std::string_view certificate_pem, std::string_view key_pem, Thumbprint kind);

}  // namespace drover::oidc
