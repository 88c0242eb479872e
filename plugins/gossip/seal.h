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
#include <vector>

#include "drover/result.h"

namespace drover::gossip {

// A key in the one form in which two of them can be compared. Errors: invalid_argument, with the reason, unless it is
// 16, 24 or 32 bytes in base64.
Result<std::string> canonical_key(std::string_view base64);

// [any]
class Seal {
 public:
  // The first key seals, every one opens. None: everything in the clear. Errors: as canonical_key.
  static Result<Seal> make(const std::vector<std::string>& base64_keys);

  std::string close(std::string_view payload) const;
  // Nothing for another version, another form than this server's, a key that it has not, or damage.
  std::optional<std::string> open(std::string_view bytes) const;

  static constexpr size_t kOverhead = 2 + 12 + 16;

 private:
  std::vector<std::string> keys_;  // secret
};

}  // namespace drover::gossip
