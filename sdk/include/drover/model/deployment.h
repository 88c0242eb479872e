// The meaning of the statuses of a deployment and of its allocations. Pure. [any]
#pragma once

namespace drover::v1 {
class Allocation;
class Deployment;
}  // namespace drover::v1

namespace drover {

// It is not over.
bool is_active(const v1::Deployment& deployment);

// In its deployment; an allocation in doubt is neither.
bool is_healthy(const v1::Allocation& alloc);
bool is_unhealthy(const v1::Allocation& alloc);

}  // namespace drover
