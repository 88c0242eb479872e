#include "server/rpc.h"

#include <map>

#include "drover/api/host_volumes.pb.h"
#include "drover/model/listing.h"
#include "drover/model/namespace.h"
#include "drover/model/node.h"
#include "drover/options.pb.h"
#include "drover/permissions.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/node.pb.h"
#include "host_volumes.pb.h"
#include "server/choose_node.h"
#include "server/shown.h"

namespace drover::host_volumes {
namespace {

using Row = v1::DynamicHostVolume;

std::string uuid_text(const std::string& id) { return Uuid::from_bytes(id).to_string(); }

bool has_prefix(const Row& row, const std::string& prefix) {
  return row.name().starts_with(prefix) || uuid_text(row.id()).starts_with(prefix);
}

// Lists by the prefix of something else than the key.
Result<Listing> listing_of(QueryOptions query) {
  query.prefix.clear();
  return Listing::by_name(query);
}

}  // namespace

Status Rpc::declare(Declarations& declare) {
  DROVER_RETURN_IF_ERROR(declare.service(
      "drover.v1.HostVolumes",
      {method<&Rpc::list>("List", this), method<&Rpc::get>("Get", this), method<&Rpc::create>("Create", this),
       method<&Rpc::register_volume>("Register", this), method<&Rpc::erase>("Delete", this)}));
  return declare.service("drover.v1.HostVolumeClaims",
                         {method<&Rpc::list_claims>("List", this), method<&Rpc::erase_claim>("Delete", this)});
}

Result<Row> Rpc::find(const ReadView& view, const std::string& name_space, const std::string& id) const {
  auto row = tables_.volumes.get(view, host_volume_key(name_space, id));
  if (!row) return not_found(std::string(kUnknownVolume));
  return *std::move(row);
}

Result<v1::ListHostVolumesResponse> Rpc::list(const v1::ListHostVolumesRequest& request, Call& call) {
  DROVER_TRY(const Listing listing, listing_of(call.query()));
  v1::ListHostVolumesResponse response;
  const auto whole = [&](const Cursor& cursor) {
    return stub_of(Table<Row>::parse(cursor.row()), call.view(), tables_);
  };
  const auto each = [&](const Cursor& cursor) -> std::optional<v1::HostVolumeStub> {
    const Row row = Table<Row>::parse(cursor.row());
    if (!has_prefix(row, call.query().prefix)) return std::nullopt;
    if (!request.node_id().empty() && row.node_id() != request.node_id()) return std::nullopt;
    if (!request.node_pool().empty() && row.node_pool() != request.node_pool()) return std::nullopt;
    return stub_of(row, call.view(), tables_);
  };
  const auto add = [&](v1::HostVolumeStub&& stub) { *response.add_volumes() = std::move(stub); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.volumes, each, add, whole));
  return response;
}

// The node's part of it changes with the node's row.
Result<v1::ReadHostVolumeResponse> Rpc::get(const v1::ReadHostVolumeRequest& request, Call& call) {
  DROVER_TRY(const Row row, find(call.view(), call.query().name_space, request.id()));
  v1::ReadHostVolumeResponse response;
  *response.mutable_volume() = described(row, call.view(), tables_);
  add_users(row, tables_, call, *response.mutable_volume());
  const auto node = node_of(call.view(), tables_, row.node_id());
  call.set_index(std::max(row.modify_index(), node ? node->modify_index() : 0));
  return response;
}

Result<Row> Rpc::draft(const v1::DescribedHostVolume& said, Purpose purpose, const ReadView& view) const {
  DROVER_RETURN_IF_ERROR(check_volume(said, purpose));
  if (!has_namespace(view, tables_.namespaces, said.namespace_()))
    return invalid_argument("volume validation failed: no such namespace \"" + said.namespace_() + "\"");
  if (!said.id().empty()) {
    const auto before = find(view, said.namespace_(), said.id());
    if (!before)
      return invalid_argument("cannot update volume \"" + uuid_text(said.id()) + "\": volume does not exist");
    if (before->step() != v1::HOST_VOLUME_STEP_MADE)
      return failed_precondition("cannot update volume \"" + uuid_text(said.id()) + "\": it is being made or deleted");
    DROVER_RETURN_IF_ERROR(unused(view, tables_, *before, "cannot update a volume"));
    return changed_volume(*before, said, purpose);
  }
  Row row = new_volume(said, purpose);
  row.set_id(Uuid::random().bytes());
  DROVER_RETURN_IF_ERROR(place(said, view, row).with_context("could not place volume \"" + said.name() + "\""));
  return row;
}

// Gives it its node and the node's pool.
Status Rpc::place(const v1::DescribedHostVolume& said, const ReadView& view, Row& row) const {
  if (tables_.node_pools && !said.node_pool().empty() && said.node_pool() != "all" && said.node_pool() != "default" &&
      !view.get(*tables_.node_pools, node_pool_key(said.node_pool())))
    return invalid_argument("node pool \"" + said.node_pool() + "\" does not exist");
  if (said.node_pool() == "all") row.clear_node_pool();
  std::optional<v1::Node> chosen;
  if (!said.node_id().empty()) {
    chosen = node_of(view, tables_, said.node_id());
    if (!chosen) return invalid_argument("node \"" + uuid_text(said.node_id()) + "\" does not exist");
    DROVER_RETURN_IF_ERROR(may_have(*chosen, row));
  } else {
    std::vector<v1::Node> nodes;
    if (tables_.nodes) nodes = Table<v1::Node>(*tables_.nodes).list(view, kPrimary, KeyRange::all());
    std::map<std::string, size_t> counts;
    tables_.volumes.scan(view, kPrimary, KeyRange::all(),
                         [&](const Row& other, std::string_view) { return ++counts[other.node_id()], true; });
    std::vector<Candidate> candidates;
    for (const v1::Node& node : nodes) {
      const std::string key = host_volume_on_node_key(node.id(), row.name());
      const bool has_name =
          node.host_volumes().contains(row.name()) || tables_.volumes.get_by(view, kHostVolumesByNode, key).has_value();
      candidates.push_back({.node = &node, .has_name = has_name, .volumes = counts[node.id()]});
    }
    DROVER_TRY(const v1::Node* const found, choose_node(candidates, row));
    chosen = *found;
  }
  row.set_node_id(chosen->id());
  row.set_node_pool(std::string(pool_of(*chosen)));
  return ok_status();
}

Status Rpc::begin(const Row& row, uint64_t term, uint64_t& index) {
  v1::HostVolumeBegun command;
  *command.mutable_volume() = row;
  command.set_modify_index(row.modify_index());
  DROVER_TRY(const Applied applied, host_->propose(command, host_->clock().steady() + kProposeTime, term));
  index = applied.index;
  return ok_status();
}

Result<v1::HostVolumeResponse> Rpc::make(const v1::HostVolumeRequest& request, Purpose purpose, Call& call) {
  if (!request.has_volume()) return invalid_argument("missing volume definition");
  v1::DescribedHostVolume said = request.volume();
  if (said.namespace_().empty()) said.set_namespace_(call.query().name_space);
  DROVER_RETURN_IF_ERROR(call.require(said.namespace_()));
  if (request.policy_override() && !call.permissions().may(Access::SENTINEL_OVERRIDE, said.namespace_()))
    return access_denied();
  const uint64_t term = host_->term();
  DROVER_TRY(Row row, draft(said, purpose, *host_->snapshot()));
  // Before the step is in the log, so that nobody else goes on with it.
  const auto hold = steps_.take(row.id());
  if (!hold) return failed_precondition("another call about the volume is under way");
  row.set_modify_time(host_->clock().wall_ns());
  uint64_t index = 0;
  DROVER_RETURN_IF_ERROR(begin(row, term, index));
  const auto view = host_->snapshot_at(index, host_->clock().steady() + kProposeTime, call.stop());
  if (!view) return view.status();
  DROVER_TRY(const Row begun, find(**view, row.namespace_(), row.id()));
  const Status done = steps_.carry_out(begun, term, call.stop(), index);
  if (is_last_word(done.code())) return done;
  // Nobody knows what came of it: the volume is pending, and the step is tried again.
  return answer(begun, index, call);
}

Result<v1::HostVolumeResponse> Rpc::answer(const Row& row, uint64_t index, Call& call) const {
  const auto view = host_->snapshot_at(index, host_->clock().steady() + kProposeTime, call.stop());
  if (!view) return view.status();
  const auto now = tables_.volumes.get(**view, host_volume_key(row.namespace_(), row.id()));
  v1::HostVolumeResponse response;
  *response.mutable_volume() = described(now ? *now : row, **view, tables_);
  call.set_index(index);
  return response;
}

Result<v1::HostVolumeResponse> Rpc::create(const v1::HostVolumeRequest& request, Call& call) {
  return make(request, Purpose::creating, call);
}

Result<v1::HostVolumeResponse> Rpc::register_volume(const v1::HostVolumeRequest& request, Call& call) {
  return make(request, Purpose::registering, call);
}

Result<uint64_t> Rpc::forget(const Row& row, uint64_t term) {
  v1::HostVolumeForgotten command;
  command.mutable_name()->set_namespace_(row.namespace_());
  command.mutable_name()->set_id(row.id());
  command.mutable_name()->set_step_index(row.step_index());
  DROVER_TRY(const Applied applied, host_->propose(command, host_->clock().steady() + kProposeTime, term));
  return applied.index;
}

Result<v1::DeleteHostVolumeResponse> Rpc::erase(const v1::DeleteHostVolumeRequest& request, Call& call) {
  const uint64_t term = host_->term();
  const auto view = host_->snapshot();
  DROVER_TRY(Row row, find(*view, call.query().name_space, request.id()));
  const auto hold = steps_.take(row.id());
  if (!hold) return failed_precondition("another call about the volume is under way");
  const auto node = node_of(*view, tables_, row.node_id());
  const bool is_gone = !node || node->status() == v1::NODE_STATUS_DOWN;
  DROVER_RETURN_IF_ERROR(unused(*view, tables_, row, "volume " + uuid_text(row.id())));
  if (is_gone && !request.force())
    return failed_precondition("volume cannot be removed from unknown node without force=true");
  if (is_gone) {
    DROVER_TRY(const uint64_t index, forget(row, term));
    call.set_index(index);
    return v1::DeleteHostVolumeResponse();
  }
  if (row.step() == v1::HOST_VOLUME_STEP_MAKING)
    return failed_precondition("the volume is being made; its node has not said what came of it");
  uint64_t index = 0;
  if (row.step() == v1::HOST_VOLUME_STEP_MADE) {
    v1::HostVolumeDeleting command;
    command.mutable_name()->set_namespace_(row.namespace_());
    command.mutable_name()->set_id(row.id());
    command.mutable_name()->set_step_index(row.step_index());
    command.set_time(host_->clock().wall_ns());
    DROVER_TRY(const Applied applied, host_->propose(command, host_->clock().steady() + kProposeTime, term));
    const auto after = host_->snapshot_at(applied.index, host_->clock().steady() + kProposeTime, call.stop());
    if (!after) return after.status();
    DROVER_TRY(row, find(**after, row.namespace_(), row.id()));
  }
  const Status done = steps_.carry_out(row, term, call.stop(), index);
  if (!done.ok() && !is_last_word(done.code()))
    return done.with_context("the node has not said whether the volume is deleted; it is asked again");
  if (!done.ok()) return done;
  call.set_index(index);
  return v1::DeleteHostVolumeResponse();
}

Result<v1::ListHostVolumeClaimsResponse> Rpc::list_claims(const v1::ListHostVolumeClaimsRequest& request, Call& call) {
  DROVER_TRY(const Listing listing, Listing::by_name(call.query()));
  v1::ListHostVolumeClaimsResponse response;
  const auto is_wanted = [](const std::string& wanted, const std::string& is) {
    return wanted.empty() || wanted == is;
  };
  const auto each = [&](const Cursor& cursor) -> std::optional<v1::HostVolumeClaim> {
    auto claim = Table<v1::HostVolumeClaim>::parse(cursor.row());
    if (!is_wanted(request.job_id(), claim.job_id()) || !is_wanted(request.task_group(), claim.task_group_name()) ||
        !is_wanted(request.volume_name(), claim.volume_name()))
      return std::nullopt;
    return claim;
  };
  const auto add = [&](v1::HostVolumeClaim&& claim) { *response.add_claims() = std::move(claim); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.claims, each, add));
  return response;
}

Result<Write<v1::DeleteHostVolumeClaimResponse>> Rpc::erase_claim(const v1::DeleteHostVolumeClaimRequest& request,
                                                                  Call& call) {
  const std::string& name_space = call.query().name_space;
  if (!call.view().get(tables_.claims.id(), host_volume_key(name_space, request.id())))
    return not_found("claim not found");
  v1::HostVolumeClaimsDeleted command;
  auto& name = *command.add_claims();
  name.set_namespace_(name_space);
  name.set_id(request.id());
  return Write<v1::DeleteHostVolumeClaimResponse>(command, v1::DeleteHostVolumeClaimResponse());
}

}  // namespace drover::host_volumes
