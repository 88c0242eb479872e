#include "rules.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>

#include "drover/model/allocation.h"
#include "drover/schema.h"
#include "drover/sha256.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/service_registration.pb.h"
#include "services.pb.h"

namespace drover::services {
namespace {

// Keeps the findings of one look by identifier, so that each is sought once, however many rows name it.
template <typename Value>
class Remembered {
 public:
  template <typename Find>
  const Value& of(const std::string& id, Find find) {
    const auto [at, is_new] = known_.try_emplace(id);
    if (is_new) at->second = find();
    return at->second;
  }

 private:
  std::map<std::string, Value, std::less<>> known_;
};

std::multiset<std::string> tags_of(const v1::ServiceRegistration& row) {
  return {row.tags().begin(), row.tags().end()};
}

bool is_any_address(const std::string& address) { return address == "0.0.0.0" || address == "::" || address == "[::]"; }

// The row of an instance, with what the servers know of its allocation.
v1::ServiceRegistration row_of(const v1::ServiceRegistration& said, const v1::Allocation& alloc, const v1::Node& node) {
  v1::ServiceRegistration row = said;
  row.set_namespace_(alloc.namespace_());
  row.set_job_id(alloc.job_id());
  row.set_node_id(node.id());
  row.set_datacenter(node.datacenter());
  row.clear_create_index();
  row.clear_modify_index();
  return row;
}

// The place of a row for a key: those with the smallest are chosen.
std::string rank(const v1::ServiceRegistration& row, std::string_view key) {
  Sha256 sum;
  const auto add = [&sum](std::string_view part) {
    sum.add(part);
    sum.add(std::string_view("\0", 1));
  };
  for (const std::string* part : {&row.alloc_id(), &row.id(), &row.namespace_(), &row.address(), &row.service_name()})
    add(*part);
  add(std::to_string(row.port()));
  for (const std::string& tag : tags_of(row)) add(tag);
  add(key);
  return sum.take();
}

}  // namespace

bool may_publish(const Tables& tables, const ReadView& view, std::string_view node_id) {
  const auto node = tables.nodes ? Table<v1::Node>(*tables.nodes).get(view, node_id) : std::nullopt;
  return node && node->status() != v1::NODE_STATUS_DOWN;
}

std::optional<v1::Allocation> alloc_on(const Tables& tables, const ReadView& view, std::string_view alloc_id,
                                       std::string_view node_id) {
  auto alloc = tables.allocs ? Table<v1::Allocation>(*tables.allocs).get(view, alloc_id) : std::nullopt;
  if (!alloc || alloc->node_id() != node_id || client_terminal(*alloc)) return std::nullopt;
  return alloc;
}

bool says_the_same(const v1::ServiceRegistration& one, const v1::ServiceRegistration& other) {
  return one.service_name() == other.service_name() && one.job_id() == other.job_id() &&
         one.alloc_id() == other.alloc_id() && one.datacenter() == other.datacenter() &&
         one.address() == other.address() && one.port() == other.port() && one.status() == other.status() &&
         (std::ranges::equal(one.tags(), other.tags()) || tags_of(one) == tags_of(other));
}

Result<SyncPlan> plan_sync(const google::protobuf::RepeatedPtrField<v1::ServiceRegistration>& services,
                           const v1::Node& node, const Tables& tables, const ReadView& view,
                           v1::NodeServicesChanged& change) {
  SyncPlan plan;
  change.set_node_id(node.id());
  std::map<std::string, v1::ServiceRegistration> left;
  tables.services.scan(view, kServicesByNode, of_id(node.id()),
                       [&](v1::ServiceRegistration& row, std::string_view) {
                         left[service_key(row.namespace_(), row.id())] = std::move(row);
                         return true;
                       });
  Remembered<std::optional<v1::Allocation>> allocs;
  for (const v1::ServiceRegistration& said : services) {
    if (is_any_address(said.address())) return invalid_argument("invalid service registration address");
    if (!said.status().empty() && said.status() != kCritical)
      return invalid_argument("invalid service registration status");
    const auto& alloc =
        allocs.of(said.alloc_id(), [&] { return alloc_on(tables, view, said.alloc_id(), node.id()); });
    if (!alloc) {
      plan.refused.push_back(said.id());
      continue;
    }
    v1::ServiceRegistration row = row_of(said, *alloc, node);
    const auto known = left.extract(service_key(row.namespace_(), row.id()));
    if (!known.empty() && says_the_same(known.mapped(), row)) continue;
    *change.add_upserts() = std::move(row);
  }
  for (const auto& [key, row] : left) {
    v1::ServiceName& name = *change.add_deletes();
    name.set_namespace_(row.namespace_());
    name.set_id(row.id());
  }
  plan.is_empty = change.upserts().empty() && change.deletes().empty();
  return plan;
}

v1::ServicesForgotten outlived(const Tables& tables, const ReadView& view) {
  std::set<std::string> nodes, allocs;
  Remembered<bool> publish, run;
  tables.services.scan(view, kPrimary, KeyRange::all(), [&](const v1::ServiceRegistration& row, std::string_view) {
    if (!publish.of(row.node_id(), [&] { return may_publish(tables, view, row.node_id()); })) {
      nodes.insert(row.node_id());
    } else if (!run.of(row.alloc_id() + row.node_id(),
                       [&] { return alloc_on(tables, view, row.alloc_id(), row.node_id()).has_value(); })) {
      allocs.insert(row.alloc_id());
    }
    return true;
  });
  v1::ServicesForgotten command;
  for (const std::string& id : nodes) command.add_node_ids(id);
  for (const std::string& id : allocs) command.add_alloc_ids(id);
  return command;
}

Result<std::vector<v1::ServiceRegistration>> choose(std::vector<v1::ServiceRegistration> rows, const std::string& how) {
  const size_t bar = how.find('|');
  size_t count = 0;
  const auto [end, error] = std::from_chars(how.data(), how.data() + std::min(bar, how.size()), count);
  if (bar == std::string::npos || error != std::errc() || end != how.data() + bar || count == 0)
    return invalid_argument("failed to choose services: \"" + how + "\" is not of the form number|key");
  std::vector<std::pair<std::string, size_t>> ranks;
  for (size_t i = 0; i < rows.size(); ++i) ranks.emplace_back(rank(rows[i], std::string_view(how).substr(bar + 1)), i);
  std::ranges::stable_sort(ranks, {}, &std::pair<std::string, size_t>::first);
  std::vector<v1::ServiceRegistration> chosen;
  for (size_t i = 0; i < std::min(count, ranks.size()); ++i) chosen.push_back(std::move(rows[ranks[i].second]));
  return chosen;
}

std::chrono::nanoseconds sync_interval(uint64_t nodes) {
  constexpr std::chrono::milliseconds kEach{80};
  return std::max<std::chrono::nanoseconds>(kLeastSyncTime, kEach * static_cast<int64_t>(nodes));
}

}  // namespace drover::services
