#include "keeper/mount_records.h"

#include <array>

#include "drover/messages.h"
#include "drover/methods.h"
#include "mounts_state.pb.h"

namespace drover::mounts {
namespace {

constexpr std::string_view kPrefix = "mount/";

static_assert(static_cast<int>(Step::claiming) == STORED_STEP_CLAIMING);
static_assert(static_cast<int>(Step::published) == STORED_STEP_PUBLISHED);
static_assert(static_cast<int>(Step::undone) == STORED_STEP_UNDONE);

std::string row_key(const MountKey& key) {
  std::string row = std::string(kPrefix) + key.alloc.to_string() + "/" + key.name_space;
  row += '\0';
  return row + key.volume_id;
}

StoredMount stored_of(const Mount& mount) {
  StoredMount row;
  row.set_alloc_id(mount.key.alloc.bytes());
  row.set_namespace_(mount.key.name_space);
  row.set_volume_id(mount.key.volume_id);
  row.set_plugin_id(mount.plugin_id);
  row.set_external_volume_id(mount.external_volume_id);
  row.set_plugin_type(mount.plugin_type);
  row.set_read_only(mount.usage.is_read_only);
  row.set_access_mode(mount.usage.access_mode);
  row.set_attachment_mode(mount.usage.attachment_mode);
  row.set_stages(mount.stages);
  row.set_step(static_cast<StoredStep>(mount.step));
  return row;
}

Result<Mount> mount_of(const StoredMount& row) {
  if (row.step() < STORED_STEP_CLAIMING || row.step() > STORED_STEP_UNDONE)
    return data_loss("the record of the volume \"" + row.volume_id() + "\" has no step that this agent knows");
  return Mount{.key = {Uuid::from_bytes(row.alloc_id()), row.namespace_(), row.volume_id()},
               .plugin_id = row.plugin_id(),
               .external_volume_id = row.external_volume_id(),
               .plugin_type = row.plugin_type(),
               .usage = {row.read_only(), row.access_mode(), row.attachment_mode()},
               .stages = row.stages(),
               .step = static_cast<Step>(row.step())};
}

}  // namespace

Status MountRecords::open(LocalStore& store) {
  store_ = &store;
  DROVER_TRY(const auto rows, store.list(kPrefix));
  const MutexLock lock(mutex_);
  for (const auto& [key, bytes] : rows) {
    DROVER_TRY(const StoredMount row, parse_message<StoredMount>(bytes));
    DROVER_TRY(Mount mount, mount_of(row));
    mounts_[mount.key] = std::move(mount);
  }
  return ok_status();
}

std::optional<Mount> MountRecords::find(const MountKey& key) const {
  const MutexLock lock(mutex_);
  const auto at = mounts_.find(key);
  return at == mounts_.end() ? std::nullopt : std::optional(at->second);
}

std::vector<Mount> MountRecords::all() const {
  const MutexLock lock(mutex_);
  std::vector<Mount> out;
  for (const auto& [key, mount] : mounts_) out.push_back(mount);
  return out;
}

std::vector<Mount> MountRecords::of_alloc(const Uuid& alloc) const {
  std::vector<Mount> out = all();
  std::erase_if(out, [&](const Mount& mount) { return mount.key.alloc != alloc; });
  return out;
}

Status MountRecords::put(const Mount& mount) {
  const MutexLock writing(writing_);
  const std::array<LocalStore::Write, 1> row{{{row_key(mount.key), serialize(stored_of(mount))}}};
  DROVER_RETURN_IF_ERROR(store_->write(row).with_context("write the record of a mount"));
  const MutexLock lock(mutex_);
  mounts_[mount.key] = mount;
  return ok_status();
}

Status MountRecords::remove(const MountKey& key) {
  const MutexLock writing(writing_);
  const std::array<LocalStore::Write, 1> row{{{row_key(key), std::nullopt}}};
  DROVER_RETURN_IF_ERROR(store_->write(row).with_context("remove the record of a mount"));
  const MutexLock lock(mutex_);
  mounts_.erase(key);
  return ok_status();
}

}  // namespace drover::mounts
