#include "claims/next_step.h"

#include <gtest/gtest.h>

#include "claims/claim_groups.h"

namespace drover::volumes {
namespace {

using Kind = NextStep::Kind;
constexpr int64_t kNow = 1'000'000'000'000;

ClaimFacts claim(v1::CsiClaimStep step, const char* node = "n1", bool attaches = true) {
  ClaimFacts facts;
  facts.claim.set_step(step);
  facts.claim.set_external_node_id(node);
  facts.claim.set_attaches(attaches);
  facts.claim.set_access_mode("multi-node-multi-writer");
  return facts;
}
ClaimFacts ended(ClaimFacts facts, int64_t at = 0) {
  facts.has_ended = true;
  facts.ended_at = at;
  return facts;
}
ClaimFacts away(ClaimFacts facts) {
  facts.is_node_away = true;
  return facts;
}

// "0 attach, 1 free"
std::string said(const std::vector<ClaimFacts>& facts, bool is_busy = false) {
  const char* const words[] = {"move", "attach", "release", "detach", "free"};
  std::string out;
  for (const NextStep& step : next_steps(facts, is_busy, kNow).now) {
    out += (out.empty() ? "" : ", ") + std::to_string(step.claim) + " " + words[static_cast<int>(step.kind)];
    if (step.kind == Kind::move) out += " " + std::to_string(step.to);
    if (step.attached_as) out += " as " + std::to_string(*step.attached_as);
  }
  return out;
}

constexpr auto kClaimed = v1::CSI_CLAIM_STEP_CLAIMED;
constexpr auto kAttached = v1::CSI_CLAIM_STEP_ATTACHED;
constexpr auto kReleasing = v1::CSI_CLAIM_STEP_RELEASING;
constexpr auto kReleased = v1::CSI_CLAIM_STEP_NODE_RELEASED;

TEST(NextSteps, EachStepIsFollowedByItsOwn) {
  struct Case {
    const char* name;
    std::vector<ClaimFacts> facts;
    const char* next;
  };
  ClaimFacts failed = claim(kClaimed);
  failed.claim.set_is_final_error(true);
  ClaimFacts hopeless = claim(kReleased);
  hopeless.is_volume_gone = hopeless.is_plugin_gone = true;
  const std::vector<Case> cases = {
      {"a controller attaches", {claim(kClaimed)}, "0 attach"},
      {"nobody needs to attach", {claim(kClaimed, "n1", false)}, "0 move 2"},
      {"what failed for good waits for its allocation", {failed}, ""},
      {"in use", {claim(kAttached)}, ""},
      {"the allocation ended long ago", {ended(claim(kAttached))}, "0 move 3"},
      {"before it was attached, too", {ended(claim(kClaimed))}, "0 move 3"},
      {"its node has some time to do it by itself", {ended(claim(kAttached), kNow - 1)}, ""},
      {"that time is over", {ended(claim(kAttached), kNow - kGraceNs)}, "0 move 3"},
      {"a node that is away needs none", {away(ended(claim(kAttached), kNow - 1))}, "0 move 3"},
      {"the node undoes its part", {claim(kReleasing)}, "0 release"},
      {"unless it is away", {away(claim(kReleasing))}, "0 move 4"},
      {"a controller detaches", {claim(kReleased)}, "0 detach"},
      {"nothing was attached", {claim(kReleased, "n1", false)}, "0 free"},
      {"nobody is left to detach", {hopeless}, "0 free"},
  };
  for (const Case& c : cases) EXPECT_EQ(said(c.facts), c.next) << c.name;
}

TEST(NextSteps, AnAttachmentIsSharedByTheClaimsOfANode) {
  EXPECT_EQ(said({claim(kAttached), claim(kClaimed)}), "1 move 2 as 0");
  EXPECT_EQ(said({claim(kAttached, "n2"), claim(kClaimed)}), "1 attach");
  ClaimFacts reader = claim(kClaimed);
  reader.claim.set_read_only(true);
  EXPECT_EQ(said({claim(kAttached), reader}), "1 attach") << "attached otherwise";
  EXPECT_EQ(said({claim(kReleased), claim(kAttached)}), "0 free") << "the other one still needs it";
  EXPECT_EQ(said({claim(kReleased), claim(kReleased)}), "0 free, 1 detach") << "the last one detaches";
  EXPECT_EQ(said({claim(kReleased), claim(kReleased, "n2")}), "0 detach") << "one call at a time";
}

TEST(NextSteps, AVolumeHasOneCallAtATime) {
  EXPECT_EQ(said({claim(kClaimed), claim(kClaimed, "n2")}), "0 attach");
  EXPECT_EQ(said({claim(kClaimed)}, true), "");
  EXPECT_EQ(next_steps(std::vector{claim(kClaimed)}, true, kNow).look_again, kNow) << "as soon as the call has ended";
  EXPECT_EQ(said({claim(kReleased), claim(kClaimed, "n2")}), "0 detach") << "who leaves goes first";
  EXPECT_EQ(said({ended(claim(kAttached))}, true), "0 move 3") << "writing is no call";
}

TEST(NextSteps, AFailedAttemptWaits) {
  ClaimFacts facts = claim(kClaimed);
  facts.claim.set_next_try(kNow + 5);
  const NextSteps steps = next_steps(std::vector{facts}, false, kNow);
  EXPECT_TRUE(steps.now.empty());
  EXPECT_EQ(steps.look_again, kNow + 5);
  facts.claim.set_next_try(kNow);
  EXPECT_EQ(said({facts}), "0 attach");
}

TEST(NextSteps, PausesDoubleToAMinute) {
  EXPECT_EQ(pause_after(0), 1'000'000'000);
  EXPECT_EQ(pause_after(3), 8'000'000'000);
  EXPECT_EQ(pause_after(6), 60'000'000'000);
  EXPECT_EQ(pause_after(1'000'000), 60'000'000'000);
}

TEST(Outcomes, AreFinalByTheirCode) {
  for (const Code code : {Code::invalid_argument, Code::permission_denied, Code::unimplemented})
    EXPECT_TRUE(is_final(code)) << to_string(code);
  for (const Code code : {Code::unavailable, Code::deadline_exceeded, Code::failed_precondition, Code::aborted,
                          Code::resource_exhausted, Code::internal, Code::already_exists, Code::not_found})
    EXPECT_FALSE(is_final(code)) << to_string(code);
}

}  // namespace
}  // namespace drover::volumes
