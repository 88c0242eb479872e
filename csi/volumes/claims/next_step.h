// The life of claims: what has to happen next to those on one volume of a storage. Pure: no clock, no calls.
//
//   claimed ──attach──▶ attached ──────────▶ releasing ──release──▶ node released ──detach──▶ (free)
//      │                   └ the node says it is done ─────────────────▲
//      └───── the allocation ends, or attaching fails for good ────────┘
//
// The state of a claim is its row alone: whoever leads next goes on from there. A step is written before the next one
// begins. A call whose outcome is unknown is made again or undone, never taken for done.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drover/v1/csi.pb.h"

namespace drover::volumes {

// A claim with what the decision needs to know beside its row.
struct ClaimFacts {
  v1::CsiClaim claim;
  bool has_ended = false;       // its allocation has ended on its node, or nobody knows it
  int64_t ended_at = 0;         // nanoseconds since 1970, as far as known; 0: long ago
  bool is_node_away = false;    // its node is down or gone: nobody can be asked there
  bool is_volume_gone = false;  // deregistered
  bool is_plugin_gone = false;  // no node and no job has the plugin
};

struct NextStep {
  enum class Kind : uint8_t {
    move,     // write that it is at `to`
    attach,   // ask a controller, then move to attached
    release,  // ask the claim's node, then move to node released
    detach,   // ask a controller, then free it
    free,     // write that it is gone
  };
  Kind kind;
  size_t claim;  // its place among the facts
  v1::CsiClaimStep to = v1::CSI_CLAIM_STEP_UNSPECIFIED;
  // move: the place of a claim with the same attachment, whose publish context it takes
  std::optional<size_t> attached_as = {};
};

struct NextSteps {
  std::vector<NextStep> now;  // of those that ask somebody at most one: a volume has one call at a time
  int64_t look_again = 0;     // nanoseconds since 1970: when an attempt is due, or a grace is over; 0: after a change
};

// After its allocation has ended, a claim's node has so long to give it back by itself.
inline constexpr int64_t kGraceNs = 15'000'000'000;

// `facts`: all claims on one volume of a storage, under whichever names it is known here. `is_busy`: a call for the
// volume is under way, so that no other one may begin.
NextSteps next_steps(std::span<const ClaimFacts> facts, bool is_busy, int64_t now);

// The pause after so many failed attempts: from one second, doubling to one minute. Nanoseconds.
int64_t pause_after(uint32_t attempts);

}  // namespace drover::volumes
