#include <gtest/gtest.h>

#include "drover/isolation.h"

namespace drover {
namespace {

TEST(Capabilities, AreNamedInAnyForm) {
  EXPECT_EQ(1U, *capabilities_of({"chown"}, "x"));
  EXPECT_EQ(0x1000400U, *capabilities_of({"CAP_NET_BIND_SERVICE", "Sys_Resource"}, "x"));
  EXPECT_EQ(0x1ffffffffffU, *capabilities_of({"all"}, "x"));
  EXPECT_EQ(0U, *capabilities_of({}, "x"));
  EXPECT_EQ(invalid_argument("cap_drop configured with capabilities not supported by system: a, b"),
            capabilities_of({"b", "CAP_A", "chown"}, "cap_drop").status());
}

TEST(Capabilities, AreDecidedByBasisOperatorAndJob) {
  constexpr uint64_t kChown = 1, kKill = 1 << 5, kBind = 1 << 10, kRaw = 1 << 13;
  const struct {
    const char* name;
    uint64_t basis, allowed;
    CapabilityWishes wishes;
    uint64_t expected;
  } cases[] = {
      {"nothing is wished", kChown | kKill, kChown | kKill | kRaw, {}, kChown | kKill},
      {"the operator allows less", kChown | kKill, kKill, {}, kKill},
      {"one is dropped", kChown | kKill, kChown | kKill, {.add = {}, .drop = {"kill"}}, kChown},
      {"one is added", kChown, kChown | kRaw, {.add = {"net_raw"}, .drop = {}}, kChown | kRaw},
      {"all but one", kChown | kKill, kChown | kKill | kBind, {.add = {"net_bind_service"}, .drop = {"all"}}, kBind},
  };
  for (const auto& c : cases) EXPECT_EQ(c.expected, *decide_capabilities(c.basis, c.allowed, c.wishes)) << c.name;
  EXPECT_EQ("driver does not allow the following capabilities: kill, net_raw",
            decide_capabilities(kChown, kChown, {.add = {"net_raw", "kill"}, .drop = {}}).status().message());
}

TEST(Capabilities, OfOthersThanRootReachNoFilesOfOthers) {
  EXPECT_EQ(0xa80405fbU, default_capabilities(true));
  EXPECT_EQ(0xa8040531U, default_capabilities(false));
  EXPECT_EQ(0xa80405fbU, *capabilities_of(default_allowed_capabilities(), "x"));
}

}  // namespace
}  // namespace drover
