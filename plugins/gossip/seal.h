// Packets and frames as they lie on the wire: a version, a form, and the payload, in the clear or under AES-GCM.
//
//     byte 0   version, 1
//     byte 1   form: 0 clear, 1 sealed
//     clear    payload
//     sealed   12 bytes nonce, ciphertext, 16 bytes tag; bytes 0 and 1 are authenticated
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::gossip {

// [any]
class Seal {
 public:
  // An empty key: everything in the clear. Errors: invalid_argument unless it is 16, 24 or 32 bytes in base64.
  static Result<Seal> make(std::string_view base64_key);

  std::string close(std::string_view payload) const;
  // Nothing for another version, another form than this server's, a wrong key, or damage.
  std::optional<std::string> open(std::string_view bytes) const;

  static constexpr size_t kOverhead = 2 + 12 + 16;

 private:
  std::string key_;  // secret
};

}  // namespace drover::gossip
