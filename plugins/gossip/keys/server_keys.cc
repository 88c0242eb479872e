#include "keys/server_keys.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "drover/log.h"
#include "drover/private_file.h"
#include "drover/read_all.h"

namespace drover::gossip {
namespace {

namespace fs = std::filesystem;

// Nothing where there is no file.
Result<std::vector<std::string>> read_file(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return std::vector<std::string>();
    return errno_status(errno, path);
  }
  if ((found.st_mode & 077) != 0) {
    if (::chmod(path.c_str(), 0600) != 0) return errno_status(errno, path);
    log::warn("gossip", "others could read the keys of the gossip; their file is this user's alone again",
              {{"file", path}});
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return errno_status(errno, path);
  auto keys = read_keys(read_all(file));
  if (!keys) return keys.status().with_context(path);
  return keys;
}

}  // namespace

Status ServerKeyring::start(const std::string& data_dir, const std::string& configured) {
  const fs::path folder = fs::path(data_dir) / "server";
  path_ = (folder / "serf.keyring").string();
  std::string key;
  if (!configured.empty()) {
    auto read = canonical_key(configured);
    if (!read) return read.status().with_context("server.encrypt");
    key = *std::move(read);
  }
  DROVER_TRY(std::vector<std::string> keys, read_file(path_));
  if (keys.empty() && !key.empty()) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return internal_error(folder.string() + ": " + error.message());
    keys.push_back(key);
    DROVER_RETURN_IF_ERROR(write_private_file(path_, write_keys(keys)));
  } else if (!key.empty() && std::ranges::find(keys, key) == keys.end()) {
    log::warn("gossip", "the key of server.encrypt is none of this server's keys; those of the file are used",
              {{"file", path_}});
  }
  const MutexLock lock(mutex_);
  keys_ = std::move(keys);
  return ok_status();
}

std::vector<std::string> ServerKeyring::keys() const {
  const MutexLock lock(mutex_);
  return keys_;
}

Result<Seal> ServerKeyring::seal() const { return Seal::make(keys()); }

Result<std::vector<std::string>> ServerKeyring::step(Step step, const std::string& key) {
  const MutexLock stepping(stepping_);
  const std::vector<std::string> before = keys();
  if (before.empty()) {
    return failed_precondition(
        "the gossip of this server is in the clear, it has no keys; set server { encrypt } on every server, and restart "
        "them");
  }
  DROVER_TRY(std::vector<std::string> after, keys_after(step, key, before));
  if (after == before) return after;
  DROVER_TRY(Seal seal, Seal::make(after));
  DROVER_RETURN_IF_ERROR(write_private_file(path_, write_keys(after)));
  {
    const MutexLock lock(mutex_);
    keys_ = after;
  }
  if (change_) change_(std::move(seal));
  return after;
}

}  // namespace drover::gossip
