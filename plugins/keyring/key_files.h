// The key files of one server: `<id>.nks.json`, readable by its user alone, in a folder likewise.
//
// A file holds the key's identifier and times in clear and its secrets wrapped. It is written beside its place, synced,
// and moved there. docs/operator/variables.md says what to back up.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "drover/key_wrapper.h"
#include "drover/result.h"
#include "material.h"

namespace drover::keyring {

// [any thread that may wait; one at a time]
class KeyFiles {
 public:
  // `wrapper` outlives this; `wrapper_name` stands in the files.
  KeyFiles(std::string folder, std::string wrapper_name, KeyWrapper& wrapper)
      : folder_(std::move(folder)), wrapper_name_(std::move(wrapper_name)), wrapper_(wrapper) {}

  // Makes the folder if need be and reads all keys. Names that are no identifiers are skipped. Errors: with the file's
  // path, for one that cannot be read, opened or is another key's.
  Result<std::vector<std::shared_ptr<const Material>>> load();
  // Durable when it returns.
  Status write(const Material& key);
  // Does nothing where there is none. Durable when it returns.
  Status remove(const std::string& key_id);

 private:
  std::string path_of(const std::string& key_id) const;
  Result<std::shared_ptr<const Material>> read(const std::string& path, const std::string& key_id);

  const std::string folder_;
  const std::string wrapper_name_;
  KeyWrapper& wrapper_;
};

}  // namespace drover::keyring
