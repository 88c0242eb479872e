#include "node/made_volumes.h"

#include <pthread.h>

#include <algorithm>
#include <filesystem>

#include "drover/log.h"
#include "drover/pause.h"
#include "drover/uuid.h"
#include "drover/v1/node.pb.h"
#include "node/mkdir.h"
#include "node/node_state.pb.h"

namespace drover::host_volumes {
namespace {

constexpr auto kRestoreEvery = std::chrono::seconds(10);
constexpr auto kFirstLook = std::chrono::seconds(10);  // that the agent's start waits for
constexpr std::string_view kAttributes = "plugins.host_volume.";

std::string attribute_of(const std::string& plugin) { return std::string(kAttributes) + plugin + ".version"; }

std::string text_of(const std::string& id) { return Uuid::from_bytes(id).to_string(); }

}  // namespace

Status MadeVolumes::start(Setup setup) {
  setup_.emplace(std::move(setup));
  programs_.emplace(setup_->folders, setup_->times);
  DROVER_RETURN_IF_ERROR(records_.open(setup_->host->local_store(), setup_->host->clock().wall_ns()));
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  return ok_status();
}

void MadeVolumes::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void MadeVolumes::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "host_volumes");
  do {
    find_plugins(stop);
    const bool has_changed = restore(stop);
    {
      const MutexLock lock(mutex_);
      has_looked_ = true;
      looked_.notify_all();
    }
    if (has_changed) tell();
  } while (pause_for(kRestoreEvery, stop));
}

// Makes those again that were made before and are not offered. True when one is offered now.
bool MadeVolumes::restore(const std::stop_token& stop) {
  bool has_changed = false;
  for (const StoredVolume& known : records_.all()) {
    if (stop.stop_requested()) break;
    if (known.step() != STORED_STEP_MADE || find(known.namespace_(), known.name())) continue;
    const auto turn = turns_.take(known.id(), SteadyTime::max(), stop);
    if (!turn) break;
    auto volume = records_.find(known.id());
    if (!volume || volume->step() != STORED_STEP_MADE) continue;
    const auto made = make_now(*volume, stop);
    if (!made) {
      if (stop.stop_requested()) break;
      if (failed_.insert(volume->id()).second)
        log::error(
            "host_volumes", "a volume cannot be restored, and is not offered; it is tried again",
            {{"volume", text_of(volume->id())}, {"plugin", volume->plugin_id()}, {"error", made.status().message()}});
      continue;
    }
    volume->set_host_path(made->path);
    if (const Status written = records_.put(*volume); !written.ok())
      log::error("host_volumes", "the record of a volume is not written", {{"error", written.message()}});
    offer(*volume, true);
    failed_.erase(volume->id());
    has_changed = true;
  }
  return has_changed;
}

void MadeVolumes::find_plugins(const std::stop_token& stop) {
  auto present = programs_->present();
  if (present == present_) return;
  std::map<std::string, std::string> versions;
  for (const auto& [name, file] : present) {
    const auto version = programs_->version(name, stop);
    if (version) {
      versions[name] = *version;
    } else {
      log::warn("host_volumes", "a plugin does not say its version, and is not offered",
                {{"plugin", name}, {"error", version.status().message()}});
    }
  }
  present_ = std::move(present);
  {
    const MutexLock lock(mutex_);
    versions_ = std::move(versions);
  }
  tell();
}

void MadeVolumes::tell() {
  std::function<void()> changed;
  {
    const MutexLock lock(mutex_);
    changed = changed_;
  }
  if (changed) changed();
}

void MadeVolumes::offer(const StoredVolume& volume, bool is_offered) {
  const MutexLock lock(mutex_);
  if (is_offered) {
    offered_[volume.name()] = {.id = volume.id(), .name_space = volume.namespace_(), .path = volume.host_path()};
    return;
  }
  const auto at = offered_.find(volume.name());
  if (at != offered_.end() && at->second.id == volume.id()) offered_.erase(at);
}

// An order of an earlier leader, or one that was sent before the last, comes too late.
Status MadeVolumes::heed(const StoredVolume& order, uint64_t term) {
  DROVER_RETURN_IF_ERROR(leaders_.heed(term));
  const auto known = records_.find(order.id());
  if (known && (known->step_index() > order.step_index() || known->step() == STORED_STEP_DELETED))
    return aborted("a later order about volume " + text_of(order.id()) + " has come already");
  return ok_status();
}

Status MadeVolumes::check_name(const StoredVolume& order) const {
  const Status taken = already_exists("a host volume of the name \"" + order.name() + "\" exists on this node");
  if (setup_->taken.contains(order.name())) return taken;
  for (const StoredVolume& other : records_.all()) {
    if (other.name() == order.name() && other.id() != order.id()) return taken;
  }
  return ok_status();
}

Result<MadeVolume> MadeVolumes::make_now(const StoredVolume& order, const std::stop_token& stop) const {
  if (!order.is_registered()) {
    return order.plugin_id() == kMkdir ? make_folder(setup_->folders.volumes, order) : programs_->create(order, stop);
  }
  std::error_code error;
  if (!std::filesystem::exists(order.host_path(), error))
    return failed_precondition("could not verify host path for \"" + order.name() + "\": " + order.host_path() +
                               " is not there");
  return MadeVolume{.path = order.host_path()};
}

Status MadeVolumes::erase_now(const StoredVolume& order, const std::stop_token& stop) const {
  if (order.plugin_id().empty()) return ok_status();
  // A folder that was there before the cluster knew of it is not one of mkdir's.
  if (order.plugin_id() == kMkdir)
    return order.is_registered() ? ok_status() : erase_folder(setup_->folders.volumes, order);
  return programs_->erase(order, stop);
}

Result<MadeVolume> MadeVolumes::make(StoredVolume order, uint64_t term, const std::stop_token& stop) {
  if (!setup_) return unavailable("this agent is still starting");
  DROVER_TRY(const Turns::Turn turn, turns_.take(order.id(), SteadyTime::max(), stop));
  DROVER_RETURN_IF_ERROR(heed(order, term));
  DROVER_RETURN_IF_ERROR(check_name(order));
  const auto before = records_.find(order.id());
  order.set_step(STORED_STEP_MAKING);
  order.set_changed_at(setup_->host->clock().wall_ns());
  if (before && !order.is_registered()) order.set_host_path(before->host_path());
  DROVER_RETURN_IF_ERROR(records_.put(order));
  auto made = make_now(order, stop);
  if (!made) {
    // Cancelled: nobody knows, and the record stays as it is until the servers ask again.
    if (made.status().code() == Code::cancelled) return made;
    DROVER_RETURN_IF_ERROR(before ? records_.put(*before) : records_.remove(order.id()));
    return made;
  }
  order.set_step(STORED_STEP_MADE);
  order.set_host_path(made->path);
  DROVER_RETURN_IF_ERROR(records_.put(order));
  offer(order, true);
  tell();
  return made;
}

Status MadeVolumes::erase(StoredVolume order, uint64_t term, const std::stop_token& stop) {
  if (!setup_) return unavailable("this agent is still starting");
  DROVER_TRY(const Turns::Turn turn, turns_.take(order.id(), SteadyTime::max(), stop));
  const auto before = records_.find(order.id());
  if (before && before->step() == STORED_STEP_DELETED) return ok_status();
  DROVER_RETURN_IF_ERROR(heed(order, term));
  order.set_step(STORED_STEP_DELETING);
  order.set_changed_at(setup_->host->clock().wall_ns());
  if (before) order.set_host_path(before->host_path());
  DROVER_RETURN_IF_ERROR(records_.put(order));
  offer(order, false);
  tell();
  const Status erased = erase_now(order, stop);
  if (erased.ok()) {
    order.set_step(STORED_STEP_DELETED);
    order.clear_parameters();
    return records_.put(order);
  }
  if (erased.code() == Code::cancelled) return erased;
  if (!before) {
    DROVER_RETURN_IF_ERROR(records_.remove(order.id()));
  } else {
    DROVER_RETURN_IF_ERROR(records_.put(*before));
    if (before->step() == STORED_STEP_MADE) offer(*before, true);
    tell();
  }
  return erased;
}

Status MadeVolumes::describe(v1::Node& node) {
  if (!setup_) return ok_status();
  {
    // Volumes that take longer come later: the node says so then.
    MutexLock lock(mutex_);
    looked_.wait_until(lock, std::stop_token(), SystemClock().steady() + kFirstLook,
                      [this]() DROVER_REQUIRES(mutex_) { return has_looked_; });
  }
  refresh(node);
  return ok_status();
}

bool MadeVolumes::refresh(v1::Node& node) {
  if (!setup_) return false;
  const MutexLock lock(mutex_);
  std::map<std::string, std::string> before, now = {{attribute_of(kMkdir), kMkdirVersion}};
  for (const auto& [plugin, version] : versions_) now.emplace(attribute_of(plugin), version);
  for (const auto& [name, value] : node.attributes()) {
    if (name.starts_with(kAttributes)) before[name] = value;
  }
  bool has_changed = before != now;
  for (const auto& [name, value] : before) node.mutable_attributes()->erase(name);
  for (const auto& [name, value] : now) (*node.mutable_attributes())[name] = value;
  auto& volumes = *node.mutable_host_volumes();
  for (auto at = volumes.begin(); at != volumes.end();) {
    const auto own = offered_.find(at->first);
    const bool is_gone = !at->second.id().empty() && (own == offered_.end() || own->second.id != at->second.id());
    has_changed = has_changed || is_gone;
    at = is_gone ? volumes.erase(at) : std::next(at);
  }
  for (const auto& [name, offered] : offered_) {
    v1::HostVolume& shown = volumes[name];
    // A folder of the agent's configuration goes before.
    if (shown.id().empty() && !shown.path().empty()) continue;
    has_changed = has_changed || shown.id() != offered.id || shown.path() != offered.path;
    shown.set_name(name);
    shown.set_id(offered.id);
    shown.set_path(offered.path);
  }
  return has_changed;
}

void MadeVolumes::watch(std::function<void()> changed) {
  const MutexLock lock(mutex_);
  changed_ = std::move(changed);
}

std::optional<std::string> MadeVolumes::find(const std::string& name_space, const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto at = offered_.find(name);
  if (at == offered_.end() || at->second.name_space != name_space) return std::nullopt;
  return at->second.path;
}

}  // namespace drover::host_volumes
