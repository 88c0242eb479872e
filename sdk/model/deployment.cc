#include "drover/model/deployment.h"

#include "drover/v1/allocation.pb.h"
#include "drover/v1/deployment.pb.h"

namespace drover {

bool is_active(const v1::Deployment& deployment) {
  switch (deployment.status()) {
    case v1::DEPLOYMENT_STATUS_SUCCESSFUL:
    case v1::DEPLOYMENT_STATUS_FAILED:
    case v1::DEPLOYMENT_STATUS_CANCELLED:
      return false;
    default:
      return true;
  }
}

bool is_healthy(const v1::Allocation& alloc) { return alloc.deployment_status().healthy(); }

bool is_unhealthy(const v1::Allocation& alloc) {
  return alloc.deployment_status().has_healthy() && !alloc.deployment_status().healthy();
}

}  // namespace drover
