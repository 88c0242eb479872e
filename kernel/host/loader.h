// From a file to a plugin object. The checks run in one order, each with its own text, and nothing of the plugin runs
// before the probe (a child process) has loaded the file first:
//
//   1 manifest   2 file: regular, ours, opened once   3 pinned digest   4 ELF   5 note, equal to the manifest
//   6 tier and ABI   7 exact tag   8 needed libraries   9 probe   10 dlopen, entry
//
// Code is never unloaded. [main]
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drover/manifest.h"
#include "drover/plugin.h"
#include "drover/result.h"

namespace drover::host {

// A plugin as it was found on disk.
struct PluginFile {
  Manifest manifest;
  std::string manifest_path;
  std::string path;  // of the shared object
};

// A found file that passed the checks 2 to 8. Owns the descriptor that the file is loaded through.
class CheckedFile {
 public:
  CheckedFile(PluginFile file, int fd) : file_(std::move(file)), fd_(fd) {}
  CheckedFile(CheckedFile&& other) noexcept;
  CheckedFile& operator=(CheckedFile&&) = delete;
  ~CheckedFile();
  const PluginFile& file() const { return file_; }
  int fd() const { return fd_; }
  // Changes whenever the file does: device, inode, size and times.
  std::string identity() const;

 private:
  PluginFile file_;
  int fd_;
};

struct Discovery {
  std::vector<PluginFile> plugins;  // by name
  std::vector<Status> problems;     // one per file that is no good, with its path
};
// Check 1 for every manifest of the folders. Two files of one name exclude each other: neither is listed.
Discovery discover(const std::vector<std::string>& folders);

// Checks 2 to 8. `pinned`: the SHA-256 digests in hexadecimal that the operator allows; empty: any.
Result<CheckedFile> check_file(const PluginFile& file, const std::vector<std::string>& pinned = {});

// Check 9, for many files at once: `program` ("drover") is run as `drover plugin check --probe FILE…` and must come to
// its end within ten seconds. Errors name the file and carry the child's last words.
Status probe(const std::string& program, const std::vector<const CheckedFile*>& files);

// Verdicts of earlier probes, by identity of the file; kept in a small text file. A folder that cannot be written only
// means that the next start probes again.
class ProbeMemory {
 public:
  explicit ProbeMemory(std::string path);
  bool knows(const CheckedFile& file) const;
  void remember(const std::vector<const CheckedFile*>& files);

 private:
  std::string path_;
  std::vector<std::string> known_;
};

// Check 10. The object's code stays mapped for the life of the process. One of the stable tier declares its entry
// (drover/stable_plugin.h) and nothing else.
Result<std::unique_ptr<Plugin>> load(const CheckedFile& file);

}  // namespace drover::host
