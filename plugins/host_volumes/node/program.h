// Plugins of host volumes that are programs in a folder of this machine: `NAME fingerprint`, `NAME create`, `NAME
// delete`, told by the environment (DHV_*), answering by JSON on standard output. The contract is that of Nomad 1.10.
// [any]
#pragma once

#include <chrono>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::host_volumes {

class StoredVolume;

// The outcome of creating a volume.
struct MadeVolume {
  std::string path;
  int64_t bytes = 0;  // 0: nobody knows
};

// The answers of programs. Pure. Errors: invalid_argument, saying what is wrong.
Result<MadeVolume> read_made(std::string_view output);
Result<std::string> read_version(std::string_view output);
// The reason that a program which failed gives; empty: none.
std::string read_reason(std::string_view output);

class Programs {
 public:
  struct Folders {
    std::string plugins;  // absolute; need not exist
    std::string volumes;  // where volumes should go
  };
  // How long a program may take.
  struct Times {
    std::chrono::nanoseconds fingerprint = std::chrono::seconds(5);
    std::chrono::nanoseconds step = std::chrono::seconds(60);
  };
  Programs(Folders folders, Times times) : folders_(std::move(folders)), times_(times) {}
  explicit Programs(Folders folders) : Programs(std::move(folders), Times()) {}

  // The executable files of the folder, with what tells that one was replaced.
  std::map<std::string, std::string> present() const;
  // The version of the program, as it says it.
  Result<std::string> version(const std::string& name, const std::stop_token& stop) const;
  // Errors: failed_precondition: there is no such program, it failed, or took too long; cancelled.
  Result<MadeVolume> create(const StoredVolume& volume, const std::stop_token& stop) const;
  Status erase(const StoredVolume& volume, const std::stop_token& stop) const;

 private:
  Result<std::string> path_of(const std::string& name) const;
  std::vector<std::string> environment(const char* operation, const StoredVolume& volume) const;
  Result<std::string> run(const char* operation, const StoredVolume& volume, const std::stop_token& stop) const;

  const Folders folders_;
  const Times times_;
};

}  // namespace drover::host_volumes
