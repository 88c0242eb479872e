#include "node/records.h"

#include <array>
#include <chrono>

#include "drover/messages.h"
#include "drover/methods.h"
#include "drover/uuid.h"
#include "node/node_state.pb.h"

namespace drover::host_volumes {
namespace {

constexpr std::string_view kPrefix = "volume/";
// No call of a server is so old.
constexpr int64_t kRemembered = std::chrono::nanoseconds(std::chrono::hours(1)).count();

std::string row_key(const std::string& id) { return std::string(kPrefix) + Uuid::from_bytes(id).to_string(); }

StoredVolume parsed(const std::string& bytes) {
  StoredVolume volume;
  volume.ParseFromString(bytes);
  return volume;
}

}  // namespace

Status Records::open(LocalStore& store, int64_t now) {
  store_ = &store;
  DROVER_TRY(const auto rows, store.list(kPrefix));
  for (const auto& [key, bytes] : rows) {
    const auto row = parse_message<StoredVolume>(bytes);
    if (!row || row->id().size() != 16) return data_loss("the record " + key + " of a host volume cannot be read");
    if (row->step() == STORED_STEP_DELETED && now - row->changed_at() > kRemembered) {
      DROVER_RETURN_IF_ERROR(remove(row->id()));
      continue;
    }
    const MutexLock lock(mutex_);
    volumes_[row->id()] = bytes;
  }
  return ok_status();
}

std::optional<StoredVolume> Records::find(const std::string& id) const {
  const MutexLock lock(mutex_);
  const auto at = volumes_.find(id);
  return at == volumes_.end() ? std::nullopt : std::optional(parsed(at->second));
}

std::vector<StoredVolume> Records::all() const {
  const MutexLock lock(mutex_);
  std::vector<StoredVolume> all;
  for (const auto& [id, bytes] : volumes_) {
    StoredVolume volume = parsed(bytes);
    if (volume.step() != STORED_STEP_DELETED) all.push_back(std::move(volume));
  }
  return all;
}

Status Records::put(const StoredVolume& volume) {
  std::string bytes = serialize(volume);
  const std::array<LocalStore::Write, 1> row{{{row_key(volume.id()), bytes}}};
  DROVER_RETURN_IF_ERROR(store_->write(row).with_context("write the record of a host volume"));
  const MutexLock lock(mutex_);
  volumes_[volume.id()] = std::move(bytes);
  return ok_status();
}

Status Records::remove(const std::string& id) {
  const std::array<LocalStore::Write, 1> row{{{row_key(id), std::nullopt}}};
  DROVER_RETURN_IF_ERROR(store_->write(row).with_context("remove the record of a host volume"));
  const MutexLock lock(mutex_);
  volumes_.erase(id);
  return ok_status();
}

}  // namespace drover::host_volumes
