#include <algorithm>
#include <memory>

#include "base_service.h"
#include "drover/service_provider.h"
#include "time_limits.h"

#include "drover/v1/service_provider.pb.h"

namespace drover::serve {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kShortestPause = 1s;
constexpr std::chrono::nanoseconds kSyncTime = 30s;

v1::DescribeServicesResponse describe(const ServiceProvider& plugin) {
  v1::DescribeServicesResponse out;
  const auto every = std::max(plugin.sync_every(), kShortestPause);
  out.mutable_sync_every()->set_seconds(every / 1s);
  out.mutable_sync_every()->set_nanos(static_cast<int32_t>((every % 1s).count()));
  return out;
}

Status check(const v1::SyncServicesRequest& request) {
  if (request.node_id().empty()) return invalid_argument("the request does not say whose instances these are");
  for (const v1::ServiceInstance& instance : request.instances()) {
    if (instance.id().empty())
      return invalid_argument("an instance of service \"" + instance.service() + "\" has no ID");
  }
  return ok_status();
}

}  // namespace

Methods methods_of(ServiceProvider& plugin, const About& about) {
  Methods methods;
  add_base_methods(methods, ServiceProvider::kKind, plugin, about, with_code);
  methods["/drover.v1.ServicePlugin/Describe"] = unary<v1::DescribeServicesRequest, v1::DescribeServicesResponse>(
      with_code, [&plugin](auto&, Call&) { return describe(plugin); });
  const auto limits = std::make_shared<TimeLimits>();
  methods["/drover.v1.ServicePlugin/Sync"] = unary<v1::SyncServicesRequest, v1::SyncServicesResponse>(
      with_code, [&plugin, limits](const auto& request, Call& call) -> Result<v1::SyncServicesResponse> {
        DROVER_RETURN_IF_ERROR(check(request));
        const TimeLimits::Limit limit(*limits, call.stop(), kSyncTime);
        return plugin.sync(request, limit.stop());
      });
  return methods;
}

}  // namespace drover::serve
