// The files that `operator debug` collects, in a folder that this user alone may read, packed at the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "drover/mutex.h"
#include "drover/result.h"

namespace drover::cli {

class Bundle {
 public:
  // Makes the folder. Errors: already_exists; unavailable, with the system's reason.
  static Result<std::unique_ptr<Bundle>> create(const std::filesystem::path& folder);

  // Adds bytes to the end of a file, "server/one/monitor.log"; it and its folders are made. Names of others become
  // parts of it by file_name(). [any]
  void add(const std::string& name, std::string_view bytes);
  // Notes why a file is missing or not whole. [any]
  void note_failure(const std::string& name, const Status& status);
  size_t failures() const;

  // Writes index.json: `about`, the files with their sizes, and what failed. The last of the files. Errors: of the
  // disk, also those that add() met.
  Status finish(nlohmann::json about);
  // Packs the folder as a tar file with gzip, which this user alone may read. Errors: already_exists; of the disk.
  Status pack(const std::filesystem::path& archive) const;

 private:
  explicit Bundle(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path folder_;
  mutable Mutex mutex_;
  std::map<std::string, uint64_t> files_ DROVER_GUARDED_BY(mutex_);  // bytes by name
  std::map<std::string, std::string> failures_ DROVER_GUARDED_BY(mutex_);
  Status disk_ DROVER_GUARDED_BY(mutex_);  // the first failure
};

// A name that is one part of a path: what may not stand there is "_".
std::string file_name(std::string_view name);

}  // namespace drover::cli
