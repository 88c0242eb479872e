#include "server/keeper.h"

#include <algorithm>
#include <set>

#include "drover/log.h"
#include "drover/pause.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/node.pb.h"
#include "host_volumes.pb.h"

namespace drover::host_volumes {
namespace {

constexpr std::chrono::nanoseconds kLookEvery = std::chrono::seconds(1);
constexpr std::chrono::nanoseconds kLongestPause = std::chrono::minutes(1);
constexpr int kMostDoublings = 6;

}  // namespace

void Keeper::run(const std::stop_token& stop) {
  const uint64_t term = host_->term();
  attempts_.clear();
  while (pause_for(kLookEvery, stop)) sweep(term, stop);
}

// The first time at once, then after pauses that grow.
bool Keeper::is_due(const v1::DynamicHostVolume& row) {
  Attempts& known = attempts_[row.id()];
  if (known.step_index != row.step_index()) known = {.step_index = row.step_index()};
  const SteadyTime now = host_->clock().steady();
  if (now < known.next) return false;
  const std::chrono::nanoseconds pause = kLookEvery * (1 << std::min(known.count, kMostDoublings));
  known.next = now + std::min(pause, kLongestPause);
  ++known.count;
  return true;
}

void Keeper::sweep(uint64_t term, const std::stop_token& stop) {
  const auto view = host_->snapshot();
  find_open(*view);
  for (const std::string& key : open_) {
    const auto row = tables_.volumes.get(*view, key);
    const auto node = row ? node_of(*view, tables_, row->node_id()) : std::nullopt;
    if (!node || node->status() != v1::NODE_STATUS_READY || !is_due(*row)) continue;
    go_on(*row, term, stop);
  }
  forget_claims(*view, term);
}

void Keeper::find_open(const ReadView& view) {
  if (view.table_index(tables_.volumes.id()) == volumes_seen_) return;
  volumes_seen_ = view.table_index(tables_.volumes.id());
  open_.clear();
  std::set<std::string> ids;
  tables_.volumes.scan(view, kPrimary, KeyRange::all(), [&](const v1::DynamicHostVolume& row, std::string_view key) {
    if (row.step() == v1::HOST_VOLUME_STEP_MADE) return true;
    open_.emplace_back(key);
    ids.insert(row.id());
    return true;
  });
  std::erase_if(attempts_, [&](const auto& known) { return !ids.contains(known.first); });
}

// On a thread of its own: a program on one node may take a minute, and the others need not wait for it.
void Keeper::go_on(const v1::DynamicHostVolume& row, uint64_t term, const std::stop_token& stop) {
  auto taken = steps_.take(row.id());
  if (!taken) return;
  auto hold = std::make_shared<Turns::Turn>(*std::move(taken));
  // The hold is newer than the row: the call that had it may have ended meanwhile, and its step with it.
  const auto now = tables_.volumes.get(*host_->snapshot(), host_volume_key(row.namespace_(), row.id()));
  if (!now || now->step_index() != row.step_index()) return;
  host_->post([this, row = *now, term, stop, hold] {
    uint64_t index = 0;
    const Status status = steps_.carry_out(row, term, stop, index);
    if (status.ok()) return;
    log::warn("host_volumes", "a step of a volume was not done",
              {{"volume", Uuid::from_bytes(row.id()).to_string()},
               {"node", Uuid::from_bytes(row.node_id()).to_string()},
               {"error", status.message()}});
  });
}

void Keeper::forget_claims(const ReadView& view, uint64_t term) {
  if (!tables_.jobs) return;
  const uint64_t changed = std::max(view.table_index(tables_.claims.id()), view.table_index(*tables_.jobs));
  if (changed == claims_seen_) return;
  v1::HostVolumeClaimsDeleted command;
  tables_.claims.scan(view, kPrimary, KeyRange::all(), [&](const v1::HostVolumeClaim& claim, std::string_view) {
    if (view.get(*tables_.jobs, job_key(claim.namespace_(), claim.job_id()))) return true;
    auto& name = *command.add_claims();
    name.set_namespace_(claim.namespace_());
    name.set_id(claim.id());
    return true;
  });
  if (command.claims().empty()) {
    claims_seen_ = changed;
    return;
  }
  const auto applied = host_->propose(command, host_->clock().steady() + kProposeTime, term);
  if (!applied) log::warn("host_volumes", "claims of jobs that are gone stay", {{"error", applied.status().message()}});
}

}  // namespace drover::host_volumes
