#include "kernel/raft/watchdog.h"

namespace drover::raft {
namespace {

std::string at(Index index, Index of) { return std::to_string(index) + " of " + std::to_string(of); }

// The step that keeps the first entry of a leadership from being applied.
std::string what_readiness_waits_for(const Vitals& now) {
  if (now.durable < now.last) return "the disk of this server, at " + at(now.durable, now.last);
  if (now.commit < now.last) {
    std::string others;
    for (const PeerInfo& peer : now.peers) {
      if (peer.match >= now.last) continue;
      others += (others.empty() ? "" : "; ") + peer.id.to_string() + " at " + at(peer.match, now.last) +
                (peer.is_reached ? "" : ", not heard");
    }
    return "other servers: " + (others.empty() ? "none is known" : others);
  }
  if (now.applied < now.commit) return "the state, at " + at(now.applied, now.commit);
  return "the consensus loop";
}

}  // namespace

bool Watchdog::Standstill::is_due(uint64_t now, SteadyTime time, std::chrono::nanoseconds patience) {
  if (since == SteadyTime{} || now != value) {
    value = now;
    since = time;
    return false;
  }
  if (time - since < patience) return false;
  since = time;
  return true;
}

std::vector<Finding> Watchdog::look(const Vitals& now, SteadyTime time) {
  std::vector<Finding> findings;
  if (ticks_.is_due(now.ticks, time, patience_))
    findings.push_back({.sentence = "consensus stands still", .waits_for = "the consensus loop: it does not tick"});

  if (!now.leads || now.is_ready) {
    readiness_ = {};
  } else if (readiness_.is_due(now.term, time, patience_)) {
    findings.push_back(
        {.sentence = "this server leads and does not come to serve", .waits_for = what_readiness_waits_for(now)});
  }

  if (now.applied == now.commit) {
    applying_ = {};
  } else if (applying_.is_due(now.applied, time, patience_)) {
    findings.push_back(
        {.sentence = "committed entries are not applied", .waits_for = "the state, at " + at(now.applied, now.commit)});
  }

  std::map<NodeId, Standstill> following;
  for (const PeerInfo& peer : now.peers) {
    // Silence is told elsewhere. Heard and yet not following: its stream of entries hangs, or its disk does.
    const bool is_heard = peer.is_reached && peer.since_contact < patience_ / 2;
    if (!now.leads || !is_heard || peer.match >= now.last) continue;
    Standstill& progress = following[peer.id] = following_[peer.id];
    if (!progress.is_due(peer.match, time, patience_)) continue;
    findings.push_back({.sentence = "a server is heard and does not follow; its stream of entries is opened anew",
                        .waits_for = "the server " + peer.id.to_string() + ", at " + at(peer.match, now.last),
                        .renew = peer.id});
  }
  following_ = std::move(following);
  return findings;
}

}  // namespace drover::raft
