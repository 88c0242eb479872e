// Encrypts root keys at rest with a key of its own: a file of this server, or a key service elsewhere. The operator
// names one by the option `wrapper` of the plugin keyring.
#pragma once

#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover {

class KeyWrapper {
 public:
  static constexpr std::string_view kExtensionPoint = "key_wrapper";
  virtual ~KeyWrapper() = default;
  // `associated` is not stored, and unwrap must be given the same. Both may wait for a service; they are called on a
  // thread that may wait, one call at a time.
  virtual Result<std::string> wrap(std::string_view plain, std::string_view associated) = 0;
  // Errors: data_loss, for bytes that this wrapper's key did not wrap; unavailable, to be tried again.
  virtual Result<std::string> unwrap(std::string_view wrapped, std::string_view associated) = 0;
};

}  // namespace drover
