#include "claims/next_step.h"

#include <algorithm>

namespace drover::volumes {
namespace {

using Kind = NextStep::Kind;

class Decider {
 public:
  Decider(std::span<const ClaimFacts> facts, bool is_busy, int64_t now)
      : facts_(facts), is_busy_(is_busy), now_(now), is_freed_(facts.size()) {}

  NextSteps decide() {
    // Those that leave come first: what they hold may be what another one waits for.
    for (size_t i = 0; i < facts_.size(); ++i) leave(i);
    for (size_t i = 0; i < facts_.size(); ++i) arrive(i);
    return std::move(steps_);
  }

 private:
  const v1::CsiClaim& claim(size_t i) const { return facts_[i].claim; }

  void leave(size_t i) {
    switch (claim(i).step()) {
      case v1::CSI_CLAIM_STEP_CLAIMED:
      case v1::CSI_CLAIM_STEP_ATTACHED:
        if (facts_[i].has_ended && is_grace_over(i)) move(i, v1::CSI_CLAIM_STEP_RELEASING);
        return;
      case v1::CSI_CLAIM_STEP_RELEASING:
        if (facts_[i].is_node_away) return move(i, v1::CSI_CLAIM_STEP_NODE_RELEASED);
        return ask(i, Kind::release);
      case v1::CSI_CLAIM_STEP_NODE_RELEASED:
        return detach(i);
      default:
        return;
    }
  }

  void arrive(size_t i) {
    if (claim(i).step() != v1::CSI_CLAIM_STEP_CLAIMED || facts_[i].has_ended || claim(i).is_final_error()) return;
    if (!claim(i).attaches()) return move(i, v1::CSI_CLAIM_STEP_ATTACHED);
    for (size_t other = 0; other < facts_.size(); ++other) {
      if (claim(other).step() != v1::CSI_CLAIM_STEP_ATTACHED || !has_same_attachment(i, other)) continue;
      steps_.now.push_back({.kind = Kind::move,
                            .claim = i,
                            .to = v1::CSI_CLAIM_STEP_ATTACHED,
                            .attached_as = other});
      return;
    }
    ask(i, Kind::attach);
  }

  // Only after the last claim of the node: the others still need the attachment, or will.
  void detach(size_t i) {
    const bool is_needed = claim(i).attaches() && !is_held_by_another(i);
    const bool is_hopeless = facts_[i].is_volume_gone && facts_[i].is_plugin_gone;
    if (!is_needed || is_hopeless) {
      is_freed_[i] = true;
      steps_.now.push_back({.kind = Kind::free, .claim = i});
      return;
    }
    ask(i, Kind::detach);
  }

  bool is_held_by_another(size_t i) const {
    for (size_t other = 0; other < facts_.size(); ++other) {
      if (other != i && is_on_same_node(i, other) && !is_freed_[other]) return true;
    }
    return false;
  }

  bool is_on_same_node(size_t i, size_t other) const {
    return claim(i).external_node_id() == claim(other).external_node_id();
  }

  bool has_same_attachment(size_t i, size_t other) const {
    return is_on_same_node(i, other) && claim(i).access_mode() == claim(other).access_mode() &&
           claim(i).attachment_mode() == claim(other).attachment_mode() &&
           claim(i).read_only() == claim(other).read_only();
  }

  // The node of an ended allocation is given some time to do its part without being asked.
  bool is_grace_over(size_t i) {
    if (facts_[i].is_node_away || facts_[i].ended_at == 0) return true;
    const int64_t end = facts_[i].ended_at + kGraceNs;
    if (now_ >= end) return true;
    look_at(end);
    return false;
  }

  void move(size_t i, v1::CsiClaimStep to) { steps_.now.push_back({.kind = Kind::move, .claim = i, .to = to}); }

  void ask(size_t i, Kind kind) {
    if (claim(i).next_try() > now_) return look_at(claim(i).next_try());
    if (is_busy_) return look_at(now_);  // the call may end without a change
    is_busy_ = true;
    steps_.now.push_back({.kind = kind, .claim = i});
  }

  void look_at(int64_t time) {
    steps_.look_again = steps_.look_again == 0 ? time : std::min(steps_.look_again, time);
  }

  const std::span<const ClaimFacts> facts_;
  bool is_busy_;
  const int64_t now_;
  std::vector<bool> is_freed_;  // in this look
  NextSteps steps_;
};

}  // namespace

NextSteps next_steps(std::span<const ClaimFacts> facts, bool is_busy, int64_t now) {
  return Decider(facts, is_busy, now).decide();
}

int64_t pause_after(uint32_t attempts) {
  constexpr int64_t kSecond = 1'000'000'000;
  return kSecond * std::min<int64_t>(60, int64_t{1} << std::min<uint32_t>(attempts, 6));
}

}  // namespace drover::volumes
