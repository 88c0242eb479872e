#include "drover/model/disconnect.h"

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"

namespace drover {

std::optional<int64_t> lost_after(const v1::TaskGroup& group) {
  if (group.disconnect().has_lost_after()) return group.disconnect().lost_after();
  if (group.has_max_client_disconnect()) return group.max_client_disconnect();
  return std::nullopt;
}

std::optional<int64_t> stop_on_client_after(const v1::TaskGroup& group) {
  if (group.disconnect().has_stop_on_client_after()) return group.disconnect().stop_on_client_after();
  if (group.has_stop_after_client_disconnect()) return group.stop_after_client_disconnect();
  return std::nullopt;
}

bool needs_reconnect(const v1::Allocation& alloc) {
  return !alloc.alloc_states().empty() && alloc.alloc_states().rbegin()->value() == "unknown";
}

bool expired(const v1::Allocation& alloc, const v1::TaskGroup& group, int64_t now) {
  const auto window = lost_after(group);
  if (!window || alloc.client_status() != v1::CLIENT_STATUS_UNKNOWN || !needs_reconnect(alloc)) return false;
  return alloc.alloc_states().rbegin()->time() + *window <= now;
}

}  // namespace drover
