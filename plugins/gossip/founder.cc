#include "founder.h"

#include "drover/log.h"

namespace drover::gossip {
namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(500);

}  // namespace

void Founder::beat(Core& core) {
  const SteadyTime now = host_.clock().steady();
  if (now < next_look_ && core.version() == seen_version_) return;
  next_look_ = now + kLookInterval;
  core.update_self(host_.raft().cluster_id, announced_.empty() ? 0 : digest(announced_));
  seen_version_ = core.version();
  if (has_begun_) return;
  BootstrapDecision decision = decide_bootstrap(core.self(), core.members(), announced_);
  switch (decision.kind) {
    case BootstrapDecision::Kind::disagree:
      if (decision.detail != last_disagreement_) {
        log::error("gossip", "servers expect different numbers of servers; no cluster is begun",
                   {{"detail", decision.detail}});
      }
      last_disagreement_ = decision.detail;
      return;
    case BootstrapDecision::Kind::announce:
      announced_ = std::move(decision.voters);
      core.update_self(Uuid(), decision.proposal);
      return;
    case BootstrapDecision::Kind::begin:
      has_begun_ = true;
      host_.post([this, voters = std::move(decision.voters)] {
        const Status status = host_.raft_control()->bootstrap(voters);
        if (status.ok()) {
          log::info("gossip", "began a cluster", {{"servers", voters.size()}});
        } else if (host_.raft().cluster_id.is_zero()) {
          log::error("gossip", "the cluster cannot be begun; restart this server to try again",
                     {{"error", status.message()}});
        }
      });
      return;
    default:
      return;
  }
}

}  // namespace drover::gossip
