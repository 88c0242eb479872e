#include "leaving/shutdown_drain.h"

#include <algorithm>

#include "drover/api/nodes.pb.h"
#include "drover/log.h"
#include "drover/model/job.h"
#include "drover/pause.h"
#include "drover/stopping.h"
#include "server_calls.h"

namespace drover::agent {
namespace {

constexpr auto kCallTime = std::chrono::seconds(15);
constexpr auto kWatchTime = std::chrono::seconds(30);  // one blocking look at the node
constexpr auto kSpareTime = std::chrono::seconds(5);   // for the words between node and servers
constexpr auto kRetry = std::chrono::seconds(1);

// True when the same call may come through later: the servers elect a leader, or are out of reach for a moment.
bool may_pass(const Status& status) {
  if (is_agent_stopping(status)) return false;
  return status.code() == Code::unavailable || status.code() == Code::deadline_exceeded;
}

// The result of `attempt`, which is made again while no server answers, until the deadline.
template <typename Attempt>
auto insist(const Client& client, SteadyTime deadline, const Attempt& attempt) {
  while (true) {
    auto result = attempt();
    if (result.ok() || !may_pass(result.status()) || client.now() + kRetry >= deadline) return result;
    log::info("agent", "no server answers about the drain of this node; asks again",
              {{"error", result.status().message()}});
    pause_for(kRetry, {});
  }
}

Status drain_node(const Client& client, SteadyTime deadline) {
  const DrainOnShutdown& wanted = *client.config.drain_on_shutdown;
  v1::NodeDrainRequest request;
  request.set_node_id(client.identity.id.bytes());
  request.mutable_drain_spec()->set_deadline(wanted.force ? -1 : wanted.deadline.count());
  request.mutable_drain_spec()->set_ignore_system_jobs(wanted.ignore_system_jobs);
  (*request.mutable_meta())["message"] = "shutting down";
  const auto order = [&] {
    return call<v1::NodeDrainResponse>(client.host.caller(), node_call(client, "/drover.v1.Nodes/Drain", kCallTime, {}),
                                       request);
  };
  DROVER_RETURN_IF_ERROR(insist(client, deadline, order).status());
  v1::NodeRequest look;
  look.set_node_id(client.identity.id.bytes());
  ReplyMeta meta;
  uint64_t index = 0;
  const auto watch = [&] {
    const auto time = std::min<std::chrono::nanoseconds>(kWatchTime, deadline - client.now());
    CallContext context = node_call(client, "/drover.v1.Nodes/Get", time + kSpareTime, {});
    context.query.min_index = index;
    context.query.max_wait = time;
    return call<v1::NodeResponse>(client.host.caller(), std::move(context), look, &meta);
  };
  while (client.now() < deadline) {
    DROVER_TRY(const auto answer, insist(client, deadline, watch));
    if (!answer.node().node().drain()) {
      if (answer.node().node().last_drain().status() == v1::DRAIN_STATUS_CANCELED) return cancelled("it was cancelled");
      return ok_status();
    }
    index = meta.index;
  }
  return deadline_exceeded("allocations are still there");
}

// The servers end a drain at its deadline with the order to move what is left: that still has to end here.
Status wait_for_ends(const Client& client, const Allocations& allocations, SteadyTime deadline) {
  for (const auto& runner : allocations.all()) {
    if (client.config.drain_on_shutdown->ignore_system_jobs && runs_everywhere(*runner->spec()->job)) continue;
    if (!runner->wait_terminal(deadline)) return deadline_exceeded("allocations are still there");
  }
  return ok_status();
}

}  // namespace

std::chrono::nanoseconds drain_time(const ClientConfig& config) {
  const DrainOnShutdown& drain = *config.drain_on_shutdown;
  return (drain.force ? std::chrono::nanoseconds() : drain.deadline) + config.max_kill_timeout + kSpareTime;
}

Status drain_before_end(const Client& client, const Allocations& allocations, SteadyTime deadline) {
  DROVER_RETURN_IF_ERROR(drain_node(client, deadline));
  return wait_for_ends(client, allocations, deadline);
}

}  // namespace drover::agent
