// Decisions about registrations of services. Pure functions of rows.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tables.h"

namespace drover::v1 {
class Allocation;
class Node;
class NodeServicesChanged;
class ServicesForgotten;
}  // namespace drover::v1

namespace drover::services {

// True when the node is there and not down.
bool may_publish(const Tables& tables, const ReadView& view, std::string_view node_id);
// The allocation; nothing where it is not on the node, or has ended.
std::optional<v1::Allocation> alloc_on(const Tables& tables, const ReadView& view, std::string_view alloc_id,
                                       std::string_view node_id);

// True where both tell the same to those who look for the service; tags have no order.
bool says_the_same(const v1::ServiceRegistration& one, const v1::ServiceRegistration& other);

struct SyncPlan {
  std::vector<std::string> refused;  // identifiers
  bool is_empty = true;              // nothing to write
};
// The changes that make the rows of a node what it says. Errors: invalid_argument for an address that nobody reaches.
Result<SyncPlan> plan_sync(const google::protobuf::RepeatedPtrField<v1::ServiceRegistration>& services,
                           const v1::Node& node, const Tables& tables, const ReadView& view,
                           v1::NodeServicesChanged& change);

// How long a node waits before it says again what has not changed: longer where there are many nodes, so that a server
// hears no more than a dozen a second.
std::chrono::nanoseconds sync_interval(uint64_t nodes);

// The nodes and allocations that have rows and must not have them. Empty: none.
v1::ServicesForgotten outlived(const Tables& tables, const ReadView& view);

// `choose` of a query, "number|key": the same rows for the same key, whatever their order, and few others when one
// comes or goes. Errors: invalid_argument "failed to choose services: …".
Result<std::vector<v1::ServiceRegistration>> choose(std::vector<v1::ServiceRegistration> rows, const std::string& how);

}  // namespace drover::services
