// Claims live through seeded histories in which everything fails that may: see testing/claim_world.h.
// DROVER_SEEDS=N lives N histories instead of the usual ones; DROVER_SEED=N only that one.
#include <gtest/gtest.h>

#include <cstdlib>

#include "testing/claim_world.h"

namespace drover::volumes {
namespace {

constexpr int kSteps = 250;
constexpr uint64_t kSeedsAPlant = 600;

uint64_t number_of(const char* variable, uint64_t usual) {
  const char* const text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

TEST(ClaimsModel, NoHistoryLeavesAClaimStuckOrAMountDetached) {
  const uint64_t only = number_of("DROVER_SEED", 0);
  const uint64_t first = only ? only : 1, last = only ? only : number_of("DROVER_SEEDS", 20'000);
  for (uint64_t seed = first; seed <= last; ++seed)
    ASSERT_EQ(ClaimWorld(seed, Plant::none).run(kSteps), "") << "seed " << seed;
}

TEST(ClaimsModel, EveryPlantedMistakeIsFound) {
  for (int plant = 1; plant < static_cast<int>(Plant::kCount); ++plant) {
    uint64_t seed = 1;
    while (seed <= kSeedsAPlant && ClaimWorld(seed, static_cast<Plant>(plant)).run(kSteps).empty()) ++seed;
    EXPECT_LE(seed, kSeedsAPlant) << "plant " << plant;
    RecordProperty("plant_" + std::to_string(plant), std::to_string(seed));
  }
}

}  // namespace
}  // namespace drover::volumes
