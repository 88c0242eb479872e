#include "server/shown.h"

#include "drover/allocation_stub.h"
#include "drover/api/host_volumes.pb.h"
#include "drover/methods.h"
#include "drover/model/host_volume.h"
#include "drover/options.pb.h"
#include "drover/permissions.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::host_volumes {
namespace {

template <typename Shown>
void copy_common(const v1::DynamicHostVolume& row, const ReadView& view, const Tables& tables, Shown& shown) {
  const auto node = node_of(view, tables, row.node_id());
  shown.set_namespace_(row.namespace_());
  shown.set_id(row.id());
  shown.set_name(row.name());
  shown.set_plugin_id(row.plugin_id());
  shown.set_node_pool(row.node_pool());
  shown.set_node_id(row.node_id());
  shown.set_capacity_bytes(row.capacity());
  shown.set_state(std::string(host_volume_state_text(host_volume_state(row, node ? &*node : nullptr))));
  shown.set_create_index(row.create_index());
  shown.set_create_time(row.create_time());
  shown.set_modify_index(row.modify_index());
  shown.set_modify_time(row.modify_time());
}

}  // namespace

v1::HostVolumeStub stub_of(const v1::DynamicHostVolume& row, const ReadView& view, const Tables& tables) {
  v1::HostVolumeStub stub;
  copy_common(row, view, tables, stub);
  return stub;
}

v1::DescribedHostVolume described(const v1::DynamicHostVolume& row, const ReadView& view, const Tables& tables) {
  v1::DescribedHostVolume shown;
  copy_common(row, view, tables, shown);
  *shown.mutable_constraints() = row.constraints();
  shown.set_requested_capacity_min_bytes(row.requested_capacity_min());
  shown.set_requested_capacity_max_bytes(row.requested_capacity_max());
  *shown.mutable_requested_capabilities() = row.requested_capabilities();
  *shown.mutable_parameters() = row.parameters();
  shown.set_host_path(row.host_path());
  shown.set_last_error(row.last_error());
  return shown;
}

void add_users(const v1::DynamicHostVolume& row, const Tables& tables, const Call& call,
               v1::DescribedHostVolume& shown) {
  for (const v1::Allocation& alloc : users_of(call.view(), tables, row)) {
    if (!call.permissions().may(Access::READ_JOB, alloc.namespace_())) continue;
    const auto job = Table<v1::Job>(*tables.jobs).get(call.view(), job_key(alloc.namespace_(), alloc.job_id()));
    *shown.add_allocations() = drover::stub_of(alloc, job ? job->type() : std::string());
  }
}

}  // namespace drover::host_volumes
