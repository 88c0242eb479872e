#include "tests/support/fault_file_system.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace drover::raft {
namespace {

constexpr size_t kSector = 512;

Status power_is_off(const char* call, const std::string& path) {
  return internal_error(std::string(call) + " " + path + ": the power is off");
}

}  // namespace

class FaultFile final : public File {
 public:
  FaultFile(FaultFileSystem& files, FaultFileSystem::NodePtr node, std::string path, OpenMode mode, uint64_t life)
      : files_(files), node_(std::move(node)), path_(std::move(path)), mode_(mode), life_(life) {}

  Status write(uint64_t offset, std::string_view bytes) override {
    const std::lock_guard lock(files_.mutex_);
    if (mode_ == OpenMode::write_direct) {
      const bool is_aligned =
          offset % kBlock == 0 && bytes.size() % kBlock == 0 && reinterpret_cast<uintptr_t>(bytes.data()) % kBlock == 0;
      if (!is_aligned) return errno_status(EINVAL, "pwrite " + path_);
    }
    if (life_ != files_.life_) return power_is_off("pwrite", path_);
    bool is_last = false;
    DROVER_RETURN_IF_ERROR(files_.begin(path_, "pwrite", is_last));
    if (files_.write_error_ != 0 && path_.find(files_.fail_write_part_) != std::string::npos) {
      return errno_status(files_.write_error_, "pwrite " + path_);
    }
    const uint64_t end = offset + bytes.size();
    const uint64_t growth = end > node_->current.size() ? end - node_->current.size() : 0;
    if (growth > files_.space_) {
      // A short write, then the error.
      const uint64_t fits = bytes.size() - (growth - files_.space_);
      node_->write(offset, bytes.substr(0, fits));
      files_.space_ = 0;
      return errno_status(ENOSPC, "pwrite " + path_);
    }
    files_.space_ -= growth;
    node_->write(offset, bytes);
    if (is_last) return power_is_off("pwrite", path_);
    if (mode_ == OpenMode::write_direct) {
      if (files_.sync_error_ != 0 && path_.find(files_.fail_sync_part_) != std::string::npos) {
        return errno_status(files_.sync_error_, "pwrite " + path_);
      }
      if (node_->synced.size() < node_->current.size()) node_->synced.resize(node_->current.size(), '\0');
      node_->synced.replace(offset, bytes.size(), bytes);
    }
    return ok_status();
  }

  Result<size_t> read(uint64_t offset, std::span<char> buffer) const override {
    const std::lock_guard lock(files_.mutex_);
    if (life_ != files_.life_) return power_is_off("pread", path_);
    if (files_.read_error_ != 0 && path_.find(files_.fail_read_part_) != std::string::npos) {
      return errno_status(files_.read_error_, "pread " + path_);
    }
    if (offset >= node_->current.size()) return size_t{0};
    const size_t n = std::min<size_t>(buffer.size(), node_->current.size() - offset);
    std::memcpy(buffer.data(), node_->current.data() + offset, n);
    return n;
  }

  Status sync() override {
    const std::lock_guard lock(files_.mutex_);
    if (life_ != files_.life_) return power_is_off("fdatasync", path_);
    bool is_last = false;
    DROVER_RETURN_IF_ERROR(files_.begin(path_, "fdatasync", is_last));
    if (is_last) return power_is_off("fdatasync", path_);
    if (files_.sync_error_ != 0 && path_.find(files_.fail_sync_part_) != std::string::npos) {
      return errno_status(files_.sync_error_, "fdatasync " + path_);
    }
    node_->sync();
    return ok_status();
  }

  Result<uint64_t> size() const override {
    const std::lock_guard lock(files_.mutex_);
    return static_cast<uint64_t>(node_->current.size());
  }

 private:
  FaultFileSystem& files_;
  const FaultFileSystem::NodePtr node_;
  const std::string path_;
  const OpenMode mode_;
  const uint64_t life_;
};

namespace {

class FaultLock final : public FileLock {
 public:
  FaultLock(std::mutex& mutex, std::map<std::string, bool>& locks, std::string path)
      : mutex_(mutex), locks_(locks), path_(std::move(path)) {}
  ~FaultLock() override {
    const std::lock_guard lock(mutex_);
    locks_.erase(path_);
  }
  Status describe(std::string_view) override { return ok_status(); }

 private:
  std::mutex& mutex_;
  std::map<std::string, bool>& locks_;
  const std::string path_;
};

}  // namespace

void FaultFileSystem::Node::write(uint64_t offset, std::string_view bytes) {
  if (offset + bytes.size() > current.size()) current.resize(offset + bytes.size(), '\0');
  current.replace(offset, bytes.size(), bytes);
  dirty_from = std::min<size_t>(dirty_from, offset);
  dirty_to = std::max<size_t>(dirty_to, offset + bytes.size());
  std::erase_if(rot, [&](size_t at) { return at >= offset && at < offset + bytes.size(); });
}

void FaultFileSystem::Node::sync() {
  synced.resize(current.size(), '\0');
  if (dirty_from < dirty_to)
    synced.replace(dirty_from, dirty_to - dirty_from, current, dirty_from, dirty_to - dirty_from);
  dirty_from = std::string::npos;
  dirty_to = 0;
}

Status FaultFileSystem::begin(const std::string& path, const char* call, bool& is_last) {
  if (has_crashed_) return power_is_off(call, path);
  ++operations_;
  if (crash_at_ != 0 && operations_ >= crash_at_) is_last = has_crashed_ = true;
  return ok_status();
}

Result<std::unique_ptr<File>> FaultFileSystem::open(const std::string& path, OpenMode mode) {
  const std::lock_guard lock(mutex_);
  if (has_crashed_) return power_is_off("open", path);
  if (mode == OpenMode::write_direct && !takes_direct_) return errno_status(EINVAL, "open " + path);
  auto found = names_.find(path);
  if (mode == OpenMode::create) {
    bool is_last = false;
    DROVER_RETURN_IF_ERROR(begin(path, "open", is_last));
    change_names({.kind = Change::Kind::create, .name = path, .node = std::make_shared<Node>()});
    found = names_.find(path);
    if (is_last) return power_is_off("open", path);
  }
  if (found == names_.end()) return errno_status(ENOENT, "open " + path);
  return std::unique_ptr<File>(new FaultFile(*this, found->second, path, mode, life_));
}

Status FaultFileSystem::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  bool is_last = false;
  DROVER_RETURN_IF_ERROR(begin(from, "rename", is_last));
  if (!names_.contains(from)) return errno_status(ENOENT, "rename " + from + " to " + to);
  change_names({.kind = Change::Kind::rename, .name = from, .to = to});
  return is_last ? power_is_off("rename", from) : ok_status();
}

Status FaultFileSystem::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  bool is_last = false;
  DROVER_RETURN_IF_ERROR(begin(path, "remove", is_last));
  if (!names_.contains(path)) return errno_status(ENOENT, "remove " + path);
  const auto below = names_.lower_bound(path + "/");
  if (below != names_.end() && below->first.starts_with(path + "/")) return errno_status(ENOTEMPTY, "remove " + path);
  change_names({.kind = Change::Kind::remove, .name = path});
  return is_last ? power_is_off("remove", path) : ok_status();
}

Status FaultFileSystem::make_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  bool is_last = false;
  DROVER_RETURN_IF_ERROR(begin(path, "mkdir", is_last));
  if (names_.contains(path)) return ok_status();
  auto node = std::make_shared<Node>();
  node->is_directory = true;
  change_names({.kind = Change::Kind::create, .name = path, .node = std::move(node)});
  return is_last ? power_is_off("mkdir", path) : ok_status();
}

Status FaultFileSystem::sync_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  bool is_last = false;
  DROVER_RETURN_IF_ERROR(begin(path, "fsync", is_last));
  if (is_last) return power_is_off("fsync", path);
  if (sync_error_ != 0 && path.find(fail_sync_part_) != std::string::npos)
    return errno_status(sync_error_, "fsync " + path);
  sync_names(unsynced_.size());
  return ok_status();
}

void FaultFileSystem::carry_out(const Change& change, Names& names) {
  if (change.kind == Change::Kind::create) {
    names.insert_or_assign(change.name, change.node);
    return;
  }
  auto moved = names.extract(change.name);
  if (change.kind == Change::Kind::remove) return;
  names.insert_or_assign(change.to, std::move(moved.mapped()));
  // A directory takes what is in it along.
  const std::string below = change.name + "/";
  for (auto at = names.lower_bound(below); at != names.end() && at->first.starts_with(below);) {
    auto child = names.extract(at++);
    names.insert_or_assign(change.to + child.key().substr(change.name.size()), std::move(child.mapped()));
  }
}

void FaultFileSystem::sync_names(size_t changes) {
  for (size_t i = 0; i < changes; ++i) carry_out(unsynced_[i], synced_names_);
  unsynced_.clear();
}

Result<std::vector<std::string>> FaultFileSystem::list(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (has_crashed_) return power_is_off("opendir", path);
  if (!names_.contains(path)) return errno_status(ENOENT, "opendir " + path);
  std::vector<std::string> names;
  const std::string below = path + "/";
  for (auto at = names_.lower_bound(below); at != names_.end() && at->first.starts_with(below); ++at) {
    std::string rest = at->first.substr(below.size());
    if (rest.find('/') == std::string::npos) names.push_back(std::move(rest));
  }
  return names;
}

Result<std::unique_ptr<FileLock>> FaultFileSystem::lock(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (has_crashed_) return power_is_off("flock", path);
  if (!locks_.emplace(path, true).second) return failed_precondition(path + " is held by another process");
  return std::unique_ptr<FileLock>(new FaultLock(mutex_, locks_, path));
}

Result<uint64_t> FaultFileSystem::free_space(const std::string&) {
  const std::lock_guard lock(mutex_);
  return space_;
}

void FaultFileSystem::crash_after(uint64_t operations) {
  const std::lock_guard lock(mutex_);
  crash_at_ = operations_ + operations;
}

bool FaultFileSystem::has_crashed() const {
  const std::lock_guard lock(mutex_);
  return has_crashed_;
}

void FaultFileSystem::tear(Node& node) {
  // The size, too, is somewhere between the two.
  const size_t shorter = std::min(node.synced.size(), node.current.size());
  const size_t longer = std::max(node.synced.size(), node.current.size());
  std::string torn(shorter + (longer > shorter ? random_() % (longer - shorter + 1) : 0), '\0');
  for (size_t at = 0; at < torn.size(); at += kSector) {
    const size_t size = std::min(kSector, torn.size() - at);
    const std::string_view before = std::string_view(node.synced).substr(std::min(at, node.synced.size()), size);
    const std::string_view after = std::string_view(node.current).substr(std::min(at, node.current.size()), size);
    if (before == after || random_() % 1'000'000 < survives_) {
      std::ranges::copy(after, torn.begin() + static_cast<ptrdiff_t>(at));
    } else if (is_garbage_ != 0 && random_() % 1'000'000 < is_garbage_) {
      for (size_t i = at; i < at + size; ++i) torn[i] = static_cast<char>(random_());
    } else {
      std::ranges::copy(before, torn.begin() + static_cast<ptrdiff_t>(at));
    }
  }
  node.synced = node.current = std::move(torn);
  node.dirty_from = std::string::npos;
  node.dirty_to = 0;
}

void FaultFileSystem::reboot() {
  const std::lock_guard lock(mutex_);
  sync_names(random_() % (unsynced_.size() + 1));
  names_ = synced_names_;
  for (auto& [name, node] : names_) {
    if (node->dirty_from < node->dirty_to || node->current.size() != node->synced.size()) tear(*node);
  }
  synced_names_ = names_;
  locks_.clear();
  has_crashed_ = false;
  crash_at_ = 0;
  ++life_;
}

void FaultFileSystem::set_survival(uint64_t survives, uint64_t is_garbage) {
  const std::lock_guard lock(mutex_);
  survives_ = survives;
  is_garbage_ = is_garbage;
}

bool FaultFileSystem::flip_bit(const std::string& path, uint64_t offset, int bit) {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(path);
  if (found == names_.end() || offset >= found->second->synced.size()) return false;
  for (std::string* view : {&found->second->synced, &found->second->current}) {
    if (offset < view->size()) (*view)[offset] = static_cast<char>((*view)[offset] ^ (1 << bit));
  }
  found->second->rot.push_back(offset);
  return true;
}

bool FaultFileSystem::is_rotten() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(names_, [](const auto& one) { return !one.second->rot.empty(); });
}

bool FaultFileSystem::may_hold(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return names_.contains(path) || synced_names_.contains(path);
}

void FaultFileSystem::wipe() {
  const std::lock_guard lock(mutex_);
  names_.clear();
  synced_names_.clear();
  unsynced_.clear();
  locks_.clear();
}

void FaultFileSystem::fail_writes(std::string part, int error) {
  const std::lock_guard lock(mutex_);
  fail_write_part_ = std::move(part);
  write_error_ = error;
}

void FaultFileSystem::fail_syncs(std::string part, int error) {
  const std::lock_guard lock(mutex_);
  fail_sync_part_ = std::move(part);
  sync_error_ = error;
}

void FaultFileSystem::fail_reads(std::string part, int error) {
  const std::lock_guard lock(mutex_);
  fail_read_part_ = std::move(part);
  read_error_ = error;
}

void FaultFileSystem::set_space(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  space_ = bytes;
}

uint64_t FaultFileSystem::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

std::string FaultFileSystem::content(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(path);
  return found == names_.end() ? std::string() : found->second->current;
}

void FaultFileSystem::set_content(const std::string& path, std::string bytes) {
  const std::lock_guard lock(mutex_);
  auto node = std::make_shared<Node>();
  node->synced = node->current = std::move(bytes);
  change_names({.kind = Change::Kind::create, .name = path, .node = std::move(node)});
  sync_names(unsynced_.size());
}

std::vector<std::string> FaultFileSystem::paths() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [name, node] : names_) {
    if (!node->is_directory) paths.push_back(name);
  }
  return paths;
}

}  // namespace drover::raft
