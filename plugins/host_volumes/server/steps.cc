#include "server/steps.h"

#include "drover/v1/host_volume.pb.h"
#include "drover/v1/node_host_volume.pb.h"
#include "host_volumes.pb.h"

namespace drover::host_volumes {
namespace {

// A program may take a minute on the node; the way there and back comes on top.
constexpr auto kCallTime = std::chrono::seconds(70);
constexpr size_t kErrorLength = 512;

v1::HostVolumeName name_of(const v1::DynamicHostVolume& row) {
  v1::HostVolumeName name;
  name.set_namespace_(row.namespace_());
  name.set_id(row.id());
  name.set_step_index(row.step_index());
  return name;
}

// Fills in what both calls say of a volume.
template <typename Request>
Request request_for(const v1::DynamicHostVolume& row, uint64_t term) {
  Request request;
  request.set_node_id(row.node_id());
  request.set_id(row.id());
  request.set_name(row.name());
  request.set_namespace_(row.namespace_());
  request.set_plugin_id(row.plugin_id());
  request.set_node_pool(row.node_pool());
  *request.mutable_parameters() = row.parameters();
  request.set_is_registered(row.is_registered());
  request.set_host_path(row.host_path());
  request.set_leader_term(term);
  request.set_step_index(row.step_index());
  return request;
}

}  // namespace

bool is_last_word(Code code) {
  switch (code) {
    case Code::invalid_argument:
    case Code::already_exists:
    case Code::permission_denied:
    case Code::resource_exhausted:
    case Code::failed_precondition:
    case Code::unimplemented:
      return true;
    default:
      return false;
  }
}

std::optional<Turns::Turn> Steps::take(const std::string& id) {
  auto turn = turns_.take(id, SteadyTime(), {});  // at once or not at all
  return turn ? std::optional(*std::move(turn)) : std::nullopt;
}

CallContext Steps::node_call(const char* method, std::stop_token stop) const {
  CallContext context;
  context.method = std::string("/drover.v1.NodeHostVolumes/") + method;
  context.deadline = host_->clock().steady() + kCallTime;
  context.stop = std::move(stop);
  context.from_server = true;
  return context;
}

Status Steps::carry_out(const v1::DynamicHostVolume& row, uint64_t term, const std::stop_token& stop, uint64_t& index) {
  if (row.step() == v1::HOST_VOLUME_STEP_MAKING) return make(row, term, stop, index);
  if (row.step() == v1::HOST_VOLUME_STEP_DELETING) return erase(row, term, stop, index);
  return ok_status();
}

Status Steps::make(const v1::DynamicHostVolume& row, uint64_t term, const std::stop_token& stop, uint64_t& index) {
  auto request = request_for<v1::MakeHostVolumeRequest>(row, term);
  request.set_capacity_min(row.requested_capacity_min());
  request.set_capacity_max(row.requested_capacity_max());
  const auto made = call<v1::MakeHostVolumeResponse>(host_->caller(), node_call("Make", stop), request);
  if (!made) return note(row, made.status(), term, index);
  v1::HostVolumeMade command;
  *command.mutable_name() = name_of(row);
  command.set_host_path(made->host_path());
  command.set_capacity(row.is_registered() ? row.capacity() : made->capacity());
  command.set_time(host_->clock().wall_ns());
  return propose(command, term, index);
}

Status Steps::erase(const v1::DynamicHostVolume& row, uint64_t term, const std::stop_token& stop, uint64_t& index) {
  const auto request = request_for<v1::DeleteNodeHostVolumeRequest>(row, term);
  const auto deleted = call<v1::DeleteNodeHostVolumeResponse>(host_->caller(), node_call("Delete", stop), request);
  if (!deleted) return note(row, deleted.status(), term, index);
  v1::HostVolumeForgotten command;
  *command.mutable_name() = name_of(row);
  return propose(command, term, index);
}

// The failure is what the caller is told; that it could not be written down is found out by whoever tries again.
Status Steps::note(const v1::DynamicHostVolume& row, const Status& failure, uint64_t term, uint64_t& index) {
  const std::string error = failure.message().substr(0, kErrorLength);
  if (is_last_word(failure.code())) {
    v1::HostVolumeRefused command;
    *command.mutable_name() = name_of(row);
    command.set_error(error);
    command.set_time(host_->clock().wall_ns());
    const Status written = propose(command, term, index);
    return written.ok() ? failure : written;
  }
  if (error != row.last_error()) {
    v1::HostVolumeTried command;
    *command.mutable_name() = name_of(row);
    command.set_error(error);
    (void)propose(command, term, index);
  }
  return failure;
}

}  // namespace drover::host_volumes
