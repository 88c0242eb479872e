#include "decide.h"

#include <algorithm>

namespace drover::autopilot {
namespace {

bool is_healthy(const Config& config, const RaftInfo& raft, const Health& server) {
  if (server.status != ServerStatus::alive || server.is_damaged) return false;
  if (server.is_leader) return true;
  if (!server.last_contact || *server.last_contact > config.last_contact_threshold) return false;
  return server.last_term == raft.term && server.last_index + config.max_trailing_logs >= raft.last_index;
}

}  // namespace

Report examine(const Config& config, const RaftInfo& raft, const std::vector<ServerMember>& members,
               const Report& before, SteadyTime now, int64_t wall_ns) {
  Report report;
  int voters = 0, healthy_voters = 0;
  report.is_healthy = !raft.servers.empty();
  for (const RaftServer& server : raft.servers) {
    Health health{.id = server.id,
                  .name = "(unknown)",
                  .address = server.address,
                  .is_leader = server.id == raft.server_id,
                  .is_voter = server.is_voter,
                  .last_contact = server.since_contact,
                  .last_index = server.match_index,
                  .is_damaged = server.is_damaged,
                  .stable_since = now,
                  .stable_since_wall = wall_ns};
    const auto member = std::ranges::find(members, server.id, &ServerMember::id);
    if (member != members.end()) {
      health.name = member->name + "." + member->region;
      health.version = member->version;
      health.status = member->status;
    }
    if (server.since_contact) health.last_term = raft.term;  // it answered in this term
    health.is_healthy = is_healthy(config, raft, health);
    const auto known = std::ranges::find(before.servers, server.id, &Health::id);
    if (known != before.servers.end() && known->is_healthy == health.is_healthy) {
      health.stable_since = known->stable_since;
      health.stable_since_wall = known->stable_since_wall;
    }
    voters += health.is_voter;
    healthy_voters += health.is_voter && health.is_healthy;
    report.is_healthy = report.is_healthy && health.is_healthy;
    report.servers.push_back(std::move(health));
  }
  report.failure_tolerance = std::max(0, healthy_voters - (voters / 2 + 1));
  return report;
}

Plan decide(const Config& config, const Report& report, SteadyTime now) {
  Plan plan;
  uint64_t voters = 0, dead_voters = 0;
  const Health* gone = nullptr;
  for (const Health& server : report.servers) {
    voters += server.is_voter;
    const bool has_left = server.status == ServerStatus::left;
    const bool has_failed = server.status == ServerStatus::failed && config.cleanup_dead_servers;
    if (server.is_leader || (!has_left && !has_failed)) continue;
    dead_voters += server.is_voter;
    if (!gone || !server.is_voter) gone = &server;  // who does not count goes first
  }
  if (gone) {
    if (gone->is_voter && dead_voters > (voters - 1) / 2) {
      plan.held = "dead servers stay: they are not a minority of the voters";
    } else if (gone->is_voter && voters - 1 < config.min_quorum) {
      plan.held = "dead servers stay: min_quorum is " + std::to_string(config.min_quorum);
    } else {
      plan.action = Action{.edit = {.kind = RaftEdit::Kind::remove, .id = gone->id},
                           .reason = "it has " + std::string(to_string(*gone->status))};
      return plan;
    }
  }
  for (const Health& server : report.servers) {
    if (server.is_voter || !server.is_healthy || now - server.stable_since < config.server_stabilization_time) continue;
    plan.action = Action{.edit = {.kind = RaftEdit::Kind::add_voter, .id = server.id, .address = server.address},
                         .reason = "it is healthy and stable"};
    return plan;
  }
  return plan;
}

}  // namespace drover::autopilot
