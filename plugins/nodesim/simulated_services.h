// The native services of an allocation, as a node says them while its tasks run and all checks pass. Pure.
#pragma once

#include <memory>

namespace drover::v1 {
class Allocation;
class Job;
class SyncNodeServicesRequest;
}  // namespace drover::v1

namespace drover::nodesim {

// Those of the group and of its tasks. A simulated node has no address, no networks and no variables of tasks: a
// service that cannot be resolved without is left out. Null: there is none.
std::shared_ptr<const v1::SyncNodeServicesRequest> services_of(const v1::Allocation& alloc, const v1::Job& job);

}  // namespace drover::nodesim
