// Encryption and derivation of keys, over OpenSSL. Pure but for random bytes. [any]
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::keyring {

inline constexpr size_t kKeyBytes = 32;
inline constexpr size_t kNonceBytes = 12;
inline constexpr size_t kTagBytes = 16;

// From the system's generator for keys. A system that has none left ends the process.
std::string random_bytes(size_t count);

// AES-256-GCM: nonce, cipher text, tag. Requires: a key of kKeyBytes.
std::string seal(std::string_view key, std::string_view plain, std::string_view associated);
// The same with a nonce of the caller's, which must never come twice with one key. For tests of known answers.
std::string seal_with_nonce(std::string_view key, std::string_view nonce, std::string_view plain,
                            std::string_view associated);
// Errors: data_loss, when the bytes are not what this key sealed beside these associated ones.
Result<std::string> open(std::string_view key, std::string_view sealed, std::string_view associated);

// HKDF with SHA-256 (RFC 5869).
std::string derive(std::string_view secret, std::string_view salt, std::string_view info, size_t count);

// Overwrites a secret that nobody needs any more.
void wipe(std::string& secret);

}  // namespace drover::keyring
