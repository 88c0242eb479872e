#include "simulated_services.h"

#include "drover/resolved_service.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/service.pb.h"
#include "drover/v1/service_sync.pb.h"

namespace drover::nodesim {
namespace {

using Services = google::protobuf::RepeatedPtrField<v1::Service>;

void add(const Services& services, const ServicePlace& place, v1::SyncNodeServicesRequest& out) {
  for (const v1::Service& service : services) {
    if (service.provider() != "nomad") continue;
    const auto resolved = resolve_service(service, place);
    if (!resolved) continue;
    v1::ServiceRegistration& row = *out.add_services();
    row.set_id(resolved->id);
    row.set_service_name(resolved->service->name());
    row.set_alloc_id(place.allocation.id());
    *row.mutable_tags() = resolved->service->tags();
    row.set_address(resolved->at.address.empty() ? "127.0.0.1" : resolved->at.address);
    row.set_port(resolved->at.port);
  }
}

}  // namespace

std::shared_ptr<const v1::SyncNodeServicesRequest> services_of(const v1::Allocation& alloc, const v1::Job& job) {
  auto out = std::make_shared<v1::SyncNodeServicesRequest>();
  const Variables node;
  const Variables environment = group_environment(job, alloc, node, nullptr);
  for (const v1::TaskGroup& group : job.task_groups()) {
    if (group.name() != alloc.task_group()) continue;
    add(group.services(), {.allocation = alloc, .environment = environment, .node = node}, *out);
    for (const v1::Task& task : group.tasks())
      add(task.services(), {.allocation = alloc, .task = &task, .environment = environment, .node = node}, *out);
  }
  if (out->services().empty()) return nullptr;
  return out;
}

}  // namespace drover::nodesim
