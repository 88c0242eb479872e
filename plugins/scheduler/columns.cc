#include "columns.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "drover/model/allocation.h"
#include "drover/schema.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/host_volume.pb.h"

namespace drover::scheduler {
namespace {

// A commit shows in snapshots a moment before it is in the feed; longer than this it does not take.
constexpr auto kFeedTime = std::chrono::seconds(1);
// In the bytes of every job with a volume of the storage interface: its type.
constexpr std::string_view kCsi = "csi";

// The holding as it is while plans in flight bring, stop or change it: at the most what it may take.
std::shared_ptr<const Holding> as_changed(const std::shared_ptr<const Holding>& row, const InFlight::Change& change) {
  if (row && change.sizes.empty() && !change.ends) return row;
  auto changed = std::make_shared<Holding>(row ? *row : *change.placed->holding);
  changed->evictable = false;
  for (const Usage* size : change.sizes) add(changed->usage, beyond(*size, changed->usage));
  return changed;
}

void drop(std::unordered_map<std::string, std::set<std::string>>& ids, const std::string& node, const std::string& id) {
  const auto at = ids.find(node);
  if (at == ids.end()) return;
  at->second.erase(id);
  if (at->second.empty()) ids.erase(at);
}

}  // namespace

void Columns::clear() {
  cluster_ = Cluster();
  in_flight_ = InFlight();
  held_.clear();
  on_node_.clear();
  stopping_.clear();
  coming_claims_.clear_but({});
}

// Only those that mention a volume of the storage interface are decoded.
void Columns::load_jobs(const ReadView& view) {
  if (!tables_.csi_volumes) return;
  for (auto cursor = view.scan(tables_.job_versions, kPrimary, KeyRange::all()); cursor->valid(); cursor->next()) {
    if (cursor->row().find(kCsi) != std::string_view::npos)
      coming_claims_.put_job(Table<v1::Job>::parse(cursor->row()));
  }
}

void Columns::load(const ReadView& view) {
  InFlight in_flight = std::move(in_flight_);
  const std::vector<std::string> ids = in_flight.allocs();
  ComingClaims coming_claims = std::move(coming_claims_);
  coming_claims_ = {};
  clear();
  in_flight_ = std::move(in_flight);
  coming_claims_ = std::move(coming_claims);
  coming_claims_.clear_but({ids.begin(), ids.end()});
  load_jobs(view);
  Table<v1::Node>(tables_.nodes).scan(view, kPrimary, KeyRange::all(), [&](v1::Node& node, std::string_view) {
    put_node(std::move(node));
    return true;
  });
  tables_.allocs.scan(view, kPrimary, KeyRange::all(), [&](v1::Allocation& alloc, std::string_view) {
    put_alloc(alloc);
    return true;
  });
  for (const std::string& id : in_flight_.allocs()) show(id);
  if (!tables_.csi_claims) return;
  Table<v1::CsiClaim>(*tables_.csi_claims).scan(view, kPrimary, KeyRange::all(), [&](const v1::CsiClaim& claim, auto) {
    coming_claims_.made(claim);
    return true;
  });
}

void Columns::apply(const Change& change) {
  if (change.table == tables_.nodes) {
    if (change.after) {
      put_node(change.after->as<v1::Node>());
    } else {
      erase_node(change.before->as<v1::Node>().id());
    }
  } else if (change.table == tables_.allocs.id()) {
    if (change.after) {
      put_alloc(change.after->as<v1::Allocation>());
    } else {
      erase_alloc(change.before->as<v1::Allocation>().id());
    }
  } else if (change.table == tables_.csi_claims) {
    if (change.after) coming_claims_.made(change.after->as<v1::CsiClaim>());
  } else if (change.table == tables_.job_versions && tables_.csi_volumes) {
    const ChangedRow& row = change.after ? *change.after : *change.before;
    if (row.bytes().find(kCsi) == std::string_view::npos) return;
    if (change.after) {
      coming_claims_.put_job(row.as<v1::Job>());
    } else {
      coming_claims_.erase_job(row.as<v1::Job>());
    }
  }
}

void Columns::put_node(v1::Node node) {
  const std::string id = node.id();
  cluster_.put_node(std::make_shared<const v1::Node>(std::move(node)));
  if (auto at = on_node_.find(id); at != on_node_.end()) {
    for (const std::string& alloc : at->second) cluster_.add(id, held_.at(alloc).shown);
  }
}

void Columns::put_alloc(const v1::Allocation& alloc) {
  in_flight_.arrived(alloc.id());
  if (client_terminal(alloc)) return erase_alloc(alloc.id());
  Held& held = held_[alloc.id()];
  hide(alloc.id(), held);
  held.node_id = alloc.node_id();
  held.row = holding_of(alloc);
  held.stopped = server_terminal(alloc);
  if (alloc.client_status() == v1::CLIENT_STATUS_PENDING) {
    coming_claims_.put(alloc);
  } else {
    coming_claims_.erase(alloc.id());
  }
  show(alloc.id());
}

void Columns::erase_alloc(const std::string& id) {
  const auto at = held_.find(id);
  if (at == held_.end()) return;
  at->second.row.reset();
  at->second.stopped = false;
  show(id);
}

void Columns::hide(const std::string& id, Held& held) {
  if (!held.shown) return;
  cluster_.remove(held.node_id, id);
  drop(on_node_, held.node_id, id);
  drop(stopping_, held.node_id, id);
  held.shown.reset();
}

// Brings the cluster in line with the allocation's row and with what is in flight.
void Columns::show(const std::string& id) {
  const InFlight::Change change = in_flight_.change_of(id);
  auto at = held_.find(id);
  if (at != held_.end()) hide(id, at->second);
  if (!change.placed && (at == held_.end() || !at->second.row)) coming_claims_.erase(id);
  if (at == held_.end() && !change.placed) return;
  if (at == held_.end()) at = held_.try_emplace(id).first;
  Held& held = at->second;
  if (!held.row && !change.placed) {
    held_.erase(at);
    return;
  }
  if (!held.row) held.node_id = change.placed->node_id;
  held.shown = as_changed(held.row, change);
  held.leaves = change.ends && !held.stopped;
  cluster_.add(held.node_id, held.shown);
  on_node_[held.node_id].insert(id);
  if (held.stopped || held.leaves) stopping_[held.node_id].insert(id);
}

std::optional<NodeRoom> Columns::room(const std::string& node_id) const {
  const NodeRoom* known = cluster_.room(node_id);
  if (!known) return std::nullopt;
  NodeRoom room = *known;
  if (const auto at = stopping_.find(node_id); at != stopping_.end()) {
    for (const std::string& id : at->second) room.remove(held_.at(id).shown->usage);
  }
  std::set<std::string_view> counted;  // what several stop is there until the first of them is in the state
  for (const InFlight::Exchange& exchange : in_flight_.exchanges(node_id)) {
    Usage freed;
    for (const std::string& id : exchange.ended) {
      const auto at = held_.find(id);
      if (at == held_.end() || !at->second.leaves || !counted.insert(id).second) continue;
      add(freed, at->second.shown->usage);
    }
    room.add(beyond(freed, exchange.taken));
  }
  return room;
}

bool Columns::is_overcommitted(const std::string& node_id) const {
  const v1::Node* node = cluster_.find(node_id);
  const auto there = on_node_.find(node_id);
  if (!node || there == on_node_.end()) return false;
  NodeRoom room(*node);
  for (const std::string& id : there->second) {
    const Held& held = held_.at(id);
    if (held.row && !held.stopped) room.add(held.row->usage);
  }
  return !room.overcommitted().empty();
}

Columns::Share Columns::share(const std::string& alloc_id) const {
  const auto at = held_.find(alloc_id);
  if (at == held_.end()) return {};
  const Held& held = at->second;
  if (held.leaves) return {.state = Share::State::leaving};
  if (held.stopped) return {};
  const bool is_changing = held.shown != held.row;
  return {.state = is_changing ? Share::State::changing : Share::State::firm, .usage = &held.shown->usage};
}

void Columns::place(InFlight::Entry entry, const v1::Allocation& alloc, std::shared_ptr<const Holding> holding) {
  in_flight_.place(entry, alloc.node_id(), std::move(holding));
  coming_claims_.put(alloc);
  show(alloc.id());
}

void Columns::end(InFlight::Entry entry, const std::string& alloc_id) {
  in_flight_.end(entry, alloc_id);
  show(alloc_id);
}

void Columns::resize(InFlight::Entry entry, const std::string& alloc_id, Usage usage) {
  in_flight_.resize(entry, alloc_id, std::move(usage));
  show(alloc_id);
}

std::vector<Columns::Settled> Columns::shows(uint64_t index) {
  std::vector<Settled> settled;
  for (const InFlight::Gone& gone : in_flight_.take_shown(index)) {
    Settled& one = settled.emplace_back(Settled{.entry = gone.entry, .failed = gone.failed, .gained = {}});
    for (const std::string& id : gone.allocs) {
      const auto at = held_.find(id);
      if (at == held_.end()) continue;
      const v1::Node* node = cluster_.find(at->second.node_id);
      if (node && (gone.failed || !at->second.row)) one.gained.push_back({node->id(), node->computed_class()});
      show(id);
    }
  }
  return settled;
}

OtherJobs others_of(const ReadView& view, const Tables& tables) {
  using Version = std::tuple<std::string, std::string, uint64_t>;
  auto known = std::make_shared<std::map<Version, std::optional<v1::Job>>>();
  const auto find_job = [known, &view, &tables](const std::string& name_space, const std::string& id,
                                                uint64_t version) -> const v1::Job* {
    auto [at, is_new] = known->try_emplace({name_space, id, version});
    if (is_new) {
      at->second = Table<v1::Job>(tables.job_versions).get(view, job_version_key(name_space, id, version));
      if (!at->second) at->second = Table<v1::Job>(tables.jobs).get(view, job_key(name_space, id));
    }
    return at->second ? &*at->second : nullptr;
  };
  return {.job = find_job, .alloc = [&view, &tables](const std::string& id) { return tables.allocs.get(view, id); }};
}

namespace {

StorageRows csi_of(const ReadView& view, const Tables& tables) {
  const Table<v1::CsiVolume> volumes(*tables.csi_volumes);
  const Table<v1::CsiClaim> claims(*tables.csi_claims);
  return {
      .volume = [&view, volumes](const std::string& name_space,
                                 const std::string& id) { return volumes.get(view, csi_volume_key(name_space, id)); },
      .claims = [&view, claims](
                    const std::string& name_space,
                    const std::string& id) { return claims.list(view, kPrimary, of_csi_volume(name_space, id)); },
      .claims_on = [&view,
                    claims](const std::string& node_id) { return claims.list(view, kClaimsByNode, of_id(node_id)); },
      .has_alloc = [&view, &tables](const std::string& id) { return view.get(tables.allocs.id(), id).has_value(); }};
}

void add_host_volumes(const ReadView& view, const Tables& tables, StorageRows& rows) {
  const Table<v1::DynamicHostVolume> volumes(*tables.host_volumes);
  const Table<v1::HostVolumeClaim> claims(*tables.host_volume_claims);
  rows.has_host_volumes = view.scan(volumes.id(), kPrimary, KeyRange::all())->valid();
  rows.host_volume = [&view, volumes](const std::string& name_space, const std::string& id) {
    return volumes.get(view, host_volume_key(name_space, id));
  };
  rows.sticky_claims = [&view, claims](const std::string& name_space, const std::string& job_id,
                                       const std::string& group) {
    std::vector<v1::HostVolumeClaim> found = claims.list(view, kHostVolumeClaimsByJob, of_job(name_space, job_id));
    std::erase_if(found, [&](const v1::HostVolumeClaim& claim) { return claim.task_group_name() != group; });
    return found;
  };
  rows.job = others_of(view, tables).job;
  rows.alloc_name = [&view, &tables](const std::string& id) -> std::optional<std::string> {
    const auto alloc = tables.allocs.get(view, id);
    return alloc ? std::optional(alloc->name()) : std::nullopt;
  };
}

}  // namespace

StorageRows storage_of(const ReadView& view, const Tables& tables) {
  StorageRows rows;
  if (tables.csi_volumes && tables.csi_claims) rows = csi_of(view, tables);
  if (tables.host_volumes && tables.host_volume_claims) add_host_volumes(view, tables, rows);
  return rows;
}

Result<SharedColumns::Look> SharedColumns::look(uint64_t index, SteadyTime deadline, std::stop_token stop) {
  DROVER_RETURN_IF_ERROR(host_.snapshot_at(index, deadline, stop).status());
  MutexLock lock(mutex_);
  DROVER_TRY(auto view, refresh(stop));
  Look look{std::move(view), columns_.cluster()};
  look.cluster.set_coming_claims(columns_.coming_claims());
  return look;
}

Status SharedColumns::use_newest(std::stop_token stop, const std::function<void(Columns&, uint64_t)>& use) {
  MutexLock lock(mutex_);
  DROVER_TRY(const auto view, refresh(stop));
  use(columns_, view->index());
  return ok_status();
}

// The columns become those of the view that it returns.
Result<std::shared_ptr<const ReadView>> SharedColumns::refresh(const std::stop_token& stop) {
  // Taken under the lock, so that the columns are never ahead of it.
  auto view = host_.snapshot();
  if (!feed_ || !catch_up(*view, stop)) {
    if (stop.stop_requested()) return cancelled("this server no longer leads");
    std::vector<TableId> tables = {tables_.nodes, tables_.allocs.id()};
    if (tables_.csi_volumes) tables.push_back(tables_.job_versions);
    if (tables_.csi_claims) tables.push_back(*tables_.csi_claims);
    std::tie(view, feed_) = host_.follow(std::move(tables));
    columns_.load(*view);
    seen_ = view->index();
  }
  for (Columns::Settled& settled : columns_.shows(view->index())) {
    if (settled.failed || !settled.gained.empty()) undone_.push_back(std::move(settled));
  }
  return view;
}

void SharedColumns::forget() {
  MutexLock lock(mutex_);
  feed_.reset();
  columns_.clear();
  undone_.clear();
}

InFlight::Entry SharedColumns::open() {
  MutexLock lock(mutex_);
  return columns_.open();
}

void SharedColumns::settle(InFlight::Entry entry, uint64_t index, bool failed) {
  MutexLock lock(mutex_);
  columns_.settle(entry, index, failed);
}

Result<SharedColumns::Undone> SharedColumns::take_undone(std::stop_token stop) {
  MutexLock lock(mutex_);
  DROVER_TRY(const auto view, refresh(stop));
  return Undone{.entries = std::exchange(undone_, {}), .index = view->index()};
}

// False when the feed has lost something: all must be read anew.
bool SharedColumns::catch_up(const ReadView& view, const std::stop_token& stop) {
  const uint64_t wanted = std::max(view.table_index(tables_.nodes), view.table_index(tables_.allocs.id()));
  while (seen_ < wanted) {
    const auto event = feed_->next(host_.clock().steady() + kFeedTime, stop);
    const auto* batch = std::get_if<std::shared_ptr<const ChangeBatch>>(&event);
    if (!batch) return false;
    for (const Change& change : (*batch)->changes()) columns_.apply(change);
    seen_ = (*batch)->index();
  }
  return true;
}

}  // namespace drover::scheduler
