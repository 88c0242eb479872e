#include "node/native_provider.h"

#include "drover/v1/service_provider.pb.h"
#include "drover/v1/check_provider.pb.h"
#include "drover/v1/service_sync.pb.h"

namespace drover::services {

const NodeCalls* node_calls(const Host& host) { return host.extension<NodeCalls>("agent"); }

Result<v1::SyncServicesResponse> NativeProvider::sync(const v1::SyncServicesRequest& request, std::stop_token stop) {
  const NodeCalls* calls = node_calls(*host_);
  const auto node = calls ? calls->proof() : std::nullopt;
  if (!node) return unavailable("the servers do not know this node yet");
  v1::SyncNodeServicesRequest said;
  said.set_node_id(node->id.bytes());
  said.set_secret_id(node->secret);
  for (const v1::ServiceInstance& instance : request.instances()) {
    v1::ServiceRegistration& row = *said.add_services();
    row.set_id(instance.id());
    row.set_service_name(instance.service());
    row.set_alloc_id(Uuid::parse(instance.alloc_id()).value_or(Uuid()).bytes());
    *row.mutable_tags() = instance.tags();
    row.set_address(instance.address());
    row.set_port(static_cast<int32_t>(instance.port()));
    if (instance.status() == v1::CheckResult::CRITICAL) row.set_status(std::string(kCritical));
  }
  CallContext context = calls->context("/drover.v1.NodeServices/Sync", std::chrono::seconds(30), std::move(stop));
  DROVER_TRY(const auto answer, call<v1::SyncNodeServicesResponse>(host_->caller(), std::move(context), said));
  if (answer.sync_every() > 0) sync_every_ = answer.sync_every();
  v1::SyncServicesResponse response;
  for (const std::string& id : answer.refused()) {
    v1::UnpublishedInstance& failure = *response.add_failures();
    failure.set_id(id);
    failure.set_reason("the servers do not know its allocation on this node, or it has ended");
  }
  return response;
}

}  // namespace drover::services
