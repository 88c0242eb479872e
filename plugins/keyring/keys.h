// The root keys whose material this server holds: in memory, each with its file. [any]
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "drover/keyring.h"
#include "drover/mutex.h"
#include "key_files.h"
#include "material.h"
#include "tables.h"

namespace drover::v1 {
class KeyMaterial;
}  // namespace drover::v1

namespace drover::keyring {

class Keys final : public Keyring {
 public:
  explicit Keys(const Tables& tables) : tables_(tables) {}
  // Before the first call. Errors: those of the files; then the agent does not start.
  Status start(std::unique_ptr<KeyFiles> files);

  std::shared_ptr<const Material> find(const std::string& key_id) const;
  // Writes it to its file, then uses it. Waits for the disk.
  Status add(const v1::KeyMaterial& key);
  Status remove(const std::string& key_id);

  Result<Sealed> seal(const ReadView& view, std::string_view plain, std::string_view associated) override;
  Result<std::string> open(std::string_view key_id, std::string_view bytes, std::string_view associated) override;
  Result<std::string> sign(const ReadView& view, std::string_view claims, Algorithm algorithm) override;
  Result<std::string> verify(std::string_view token) override;
  std::string public_keys(const ReadView& view) override;
  Status is_ready(const ReadView& view) override { return active(view).status(); }
  std::vector<std::string> retiring(const ReadView& view) override;

 private:
  Result<std::shared_ptr<const Material>> active(const ReadView& view) const;

  const Tables& tables_;
  Mutex files_mutex_;  // before mutex_
  std::unique_ptr<KeyFiles> files_ DROVER_GUARDED_BY(files_mutex_);
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<const Material>> held_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::keyring
