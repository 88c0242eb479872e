// The cluster's root keys, for plugins that store secrets or sign tokens. Provided by the plugin keyring, as "keyring".
//
//   Keyring* keys = host.extension<Keyring>("keyring");   // null: it is not loaded
//   DROVER_TRY(const Keyring::Sealed sealed, keys->seal(call.view(), plain, "default/nomad/jobs"));
//   DROVER_TRY(const std::string plain, keys->open(sealed.key_id, sealed.bytes, "default/nomad/jobs"));
//
// Which key is active stands in the state, so calls that use it take a view; the keys' material lies on this server's
// disk and in its memory. A server that has just joined may lack material for some seconds.
//
// Errors of all calls: failed_precondition `keyring has not been initialized yet`, while no key is active;
// unavailable `no such key "<id>" in keyring`, for material that is not here.
//
// Threads: [any]; calls do not wait. Not for apply functions: sealing draws random bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"
#include "drover/tables.h"

namespace drover {

class Keyring {
 public:
  static constexpr std::string_view kExtensionPoint = "keyring";
  virtual ~Keyring() = default;

  struct Sealed {
    std::string key_id;  // sixteen bytes
    std::string bytes;   // 28 longer than what was sealed
  };
  // Encrypts under the active key. `associated` is not stored, and what opens it must name the same: it ties the bytes
  // to their place.
  virtual Result<Sealed> seal(const ReadView& view, std::string_view plain, std::string_view associated) = 0;
  // Errors also: data_loss, when the bytes were not sealed by that key for that place.
  virtual Result<std::string> open(std::string_view key_id, std::string_view bytes, std::string_view associated) = 0;

  enum class Algorithm : uint8_t { eddsa, rs256 };
  // A JWT over these claims (a JSON object) by the active key: header with alg, kid and typ.
  virtual Result<std::string> sign(const ReadView& view, std::string_view claims, Algorithm algorithm) = 0;
  // The claims of a JWT that a key of this cluster signed. Looks at the form, the algorithm, the key and the signature;
  // times and audience are the caller's to check. Errors: permission_denied, saying why.
  virtual Result<std::string> verify(std::string_view token) = 0;
  // The public keys of all keys that this server holds, as a JSON Web Key Set (RFC 7517).
  virtual std::string public_keys(const ReadView& view) = 0;

  // Ok when a key is active and its material is here.
  virtual Status is_ready(const ReadView& view) = 0;
  // The keys that are to be emptied: those who sealed with them seal anew.
  virtual std::vector<std::string> retiring(const ReadView& view) = 0;
};

// Whoever keeps bytes that a root key sealed: a key that is in use is not removed.
class KeyUser {
 public:
  static constexpr std::string_view kExtensionPoint = "key_user";
  virtual ~KeyUser() = default;
  // How many rows are sealed by that key, counted up to `most`. A function of the view alone. Once it is none for a key
  // that is not active, it stays none: who applies writes refuses those under such a key. [any]
  virtual uint64_t uses(const ReadView& view, std::string_view key_id, uint64_t most) const = 0;
};

}  // namespace drover
