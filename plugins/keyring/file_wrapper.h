// The wrapper "aead": a key of this server's own, in a file that only its user may read.
#pragma once

#include <string>

#include "drover/key_wrapper.h"

namespace drover::keyring {

class FileWrapper final : public KeyWrapper {
 public:
  ~FileWrapper() override;
  // Reads the file, and writes a new one where there is none and `may_make` says so. Errors: with the path.
  Status start(const std::string& path, bool may_make);

  Result<std::string> wrap(std::string_view plain, std::string_view associated) override;
  Result<std::string> unwrap(std::string_view wrapped, std::string_view associated) override;

 private:
  std::string key_;
};

}  // namespace drover::keyring
