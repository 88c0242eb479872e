#include "columns.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "drover/model/allocation.h"
#include "drover/schema.h"

namespace drover::scheduler {
namespace {

// A commit shows in snapshots a moment before it is in the feed; longer than this it does not take.
constexpr auto kFeedTime = std::chrono::seconds(1);

}  // namespace

void Columns::clear() {
  cluster_ = Cluster();
  held_.clear();
  on_node_.clear();
}

void Columns::load(const ReadView& view) {
  clear();
  Table<v1::Node>(tables_.nodes).scan(view, kPrimary, KeyRange::all(), [&](v1::Node& node, std::string_view) {
    put_node(std::move(node));
    return true;
  });
  tables_.allocs.scan(view, kPrimary, KeyRange::all(), [&](v1::Allocation& alloc, std::string_view) {
    put_alloc(alloc);
    return true;
  });
}

void Columns::apply(const Change& change) {
  if (change.table == tables_.nodes) {
    if (change.after) {
      put_node(change.after->as<v1::Node>());
    } else {
      cluster_.erase_node(change.before->as<v1::Node>().id());
    }
  } else if (change.table == tables_.allocs.id()) {
    if (change.after) {
      put_alloc(change.after->as<v1::Allocation>());
    } else {
      erase_alloc(change.before->as<v1::Allocation>().id());
    }
  }
}

void Columns::put_node(v1::Node node) {
  const std::string id = node.id();
  cluster_.put_node(std::make_shared<const v1::Node>(std::move(node)));
  if (auto at = on_node_.find(id); at != on_node_.end()) {
    for (const std::string& alloc : at->second) cluster_.add(id, held_.at(alloc).holding);
  }
}

void Columns::put_alloc(const v1::Allocation& alloc) {
  erase_alloc(alloc.id());
  if (client_terminal(alloc)) return;
  auto holding = holding_of(alloc);
  cluster_.add(alloc.node_id(), holding);
  on_node_[alloc.node_id()].insert(alloc.id());
  held_.emplace(alloc.id(), Held{alloc.node_id(), std::move(holding)});
}

void Columns::erase_alloc(const std::string& id) {
  auto at = held_.find(id);
  if (at == held_.end()) return;
  const Held& held = at->second;
  cluster_.remove(held.node_id, id);
  auto there = on_node_.find(held.node_id);
  there->second.erase(id);
  if (there->second.empty()) on_node_.erase(there);
  held_.erase(at);
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

Result<SharedColumns::Look> SharedColumns::look(uint64_t index, SteadyTime deadline, std::stop_token stop) {
  DROVER_RETURN_IF_ERROR(host_.snapshot_at(index, deadline, stop).status());
  MutexLock lock(mutex_);
  // Taken under the lock, so that the columns are never ahead of it.
  auto view = host_.snapshot();
  if (!feed_ || !catch_up(*view, stop)) {
    if (stop.stop_requested()) return cancelled("this server no longer leads");
    std::tie(view, feed_) = host_.follow();
    columns_.load(*view);
    seen_ = view->index();
  }
  return Look{std::move(view), columns_.cluster()};
}

void SharedColumns::forget() {
  MutexLock lock(mutex_);
  feed_.reset();
  columns_.clear();
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
