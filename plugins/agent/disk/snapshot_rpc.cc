#include "disk/snapshot_rpc.h"

#include "disk/disk_archive.h"
#include "drover/api/allocations.pb.h"
#include "drover/api/client_disk.pb.h"
#include "drover/log.h"
#include "drover/v1/allocation.pb.h"
#include "runner/alloc_runner.h"
#include "server_calls.h"

namespace drover::agent {
namespace {

constexpr auto kSignOfLife = std::chrono::seconds(5);
constexpr auto kAskTime = std::chrono::seconds(15);

Result<v1::Allocation> as_servers_know_it(const Client& client, const std::string& id, std::stop_token stop) {
  v1::AllocationRequest request;
  request.set_alloc_id(id);
  DROVER_TRY(v1::AllocationResponse answer,
             call<v1::AllocationResponse>(
                 client.host.caller(), node_call(client, "/drover.v1.Allocations/Get", kAskTime, std::move(stop)),
                 request));
  return std::move(*answer.mutable_allocation()->mutable_allocation());
}

// A node gets the data for the successor that it runs, and nothing else of other nodes.
Status check_successor(const Client& client, const std::string& id, const Call& call) {
  if (call.context().identity.kind != Identity::Kind::client) return ok_status();
  DROVER_TRY(const v1::Allocation own, as_servers_know_it(client, id, call.stop()));
  if (own.next_allocation().empty()) return access_denied();
  DROVER_TRY(const v1::Allocation next, as_servers_know_it(client, own.next_allocation(), call.stop()));
  return call.own_node(next.node_id());
}

}  // namespace

void SnapshotRpc::attach(const Client& client) { client_.store(&client, std::memory_order_release); }

Status SnapshotRpc::snapshot(const v1::DiskSnapshotRequest& request, Call& call,
                             Replies<v1::DiskSnapshotPart>& replies) {
  const Client* client = client_.load(std::memory_order_acquire);
  if (!client) return unavailable("the agent is starting");
  if (request.alloc_id().size() != 16) return invalid_argument("no allocation is named");
  const Uuid id = Uuid::from_bytes(request.alloc_id());
  const auto runner = client->find_alloc(id);
  if (!runner) return not_found("Unknown allocation \"" + id.to_string() + "\"");
  DROVER_RETURN_IF_ERROR(check_successor(*client, request.alloc_id(), call));
  while (request.when_over() && !runner->wait_terminal(client->now() + kSignOfLife, call.stop())) {
    if (call.stop().stop_requested() || !replies.send({})) return cancelled("the caller has gone");
  }
  std::vector<std::string> tasks;
  for (const TaskRunner* task : runner->tasks()) tasks.push_back(task->name());
  const auto send = [&](std::string_view bytes) {
    v1::DiskSnapshotPart part;
    part.set_data(std::string(bytes));
    return replies.send(part);
  };
  const Status status = pack_data(runner->folders(), id, tasks, send, call.stop());
  if (status.ok() || status.code() == Code::cancelled) return status;
  // The archive itself says so to the reader.
  log::warn("agent", "the snapshot of an allocation is not complete",
            {{"alloc", id.to_string()}, {"error", status.message()}});
  return ok_status();
}

}  // namespace drover::agent
