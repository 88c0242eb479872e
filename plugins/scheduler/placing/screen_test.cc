#include "screen.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::make_alloc;
using testing::make_job;
using testing::make_node;

using Scores = std::array<double, kSlots>;

ClusterBlock random_block(std::mt19937_64& random) {
  ClusterBlock block;
  for (size_t i = 0; i < kSlots; ++i) {
    block.free_cpu[i] = static_cast<int64_t>(random() % 4000) - 100;
    block.free_memory[i] = static_cast<int64_t>(random() % 4000) - 100;
    block.free_disk[i] = static_cast<int64_t>(random() % 4000);
    block.cpu_power[i] = power_of_free(4000, 4000 - block.free_cpu[i]);
    block.memory_power[i] = power_of_free(4000, 4000 - block.free_memory[i]);
  }
  return block;
}

// The way for all slots at once and the one slot by slot must give the same bits, whatever the processor.
TEST(Screen, BothWaysGiveTheSameBits) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    const ClusterBlock block = random_block(random);
    const ScreenAsk ask{.amount = {static_cast<int64_t>(random() % 3000), static_cast<int64_t>(random() % 3000), 500},
                        .spreads = random() % 2 == 0};
    ScreenFactors factors{.cpu = power_of_ask(4000, ask.amount.cpu),
                          .memory = power_of_ask(4000, ask.amount.memory_mb)};
    if (random() % 2 == 0) {
      factors.extra = static_cast<double>(random() % 200) / 100 - 1;
      factors.count = 2;
    }
    ClusterBlock::Column<ScreenFactors> each;
    each.fill(factors);
    Scores one{}, other{};
    const ScreenRoom room = screen(block, ask, factors, one.data());
    const ScreenRoom same = screen_each(block, ask, each, other.data());
    EXPECT_EQ(room.cpu, same.cpu);
    EXPECT_EQ(room.memory, same.memory);
    EXPECT_EQ(room.disk, same.disk);
    for (size_t i = 0; i < kSlots; ++i) {
      EXPECT_EQ(one[i], other[i]) << i;
      EXPECT_EQ((room.cpu >> i) & 1U, block.free_cpu[i] >= ask.amount.cpu ? 1U : 0U);
    }
  }
}

TEST(Screen, PackingIsTheFormula) {
  const v1::Job job = make_job();
  NodeRoom room(make_node("n1", 4000, 8192));
  room.add(usage_of(make_alloc(job, 0, "n1").allocated_resources()));
  const Amount ask = amount_of(job.task_groups(0));
  const ScreenFactors factors{.cpu = power_of_ask(4000, ask.cpu), .memory = power_of_ask(8192, ask.memory_mb)};
  const double cpu = power_of_free(4000, 500), memory = power_of_free(8192, 256);
  EXPECT_NEAR(packing_of({.amount = ask}, factors, cpu, memory), room.binpack(ask) / 18, 1e-12);
  EXPECT_NEAR(packing_of({.amount = ask, .spreads = true}, factors, cpu, memory), room.spread(ask) / 18, 1e-12);
}

TEST(Screen, ScoresNearerThanTheResolutionAreEqual) {
  EXPECT_EQ(mean_score(0.5, 1), mean_score(0.5 + 1e-11, 1));
  EXPECT_LT(mean_score(0.5, 1), mean_score(0.5 + 1e-9, 1));
  EXPECT_EQ(mean_score(-1, 2), -0.5 * kResolution);
}

TEST(Screen, TheBestIsOneOfThoseAskedFor) {
  std::mt19937_64 random(9);
  Scores scores{};
  for (int round = 0; round < 200; ++round) {
    for (double& score : scores) score = static_cast<double>(random() % 1000) - 500;
    const uint64_t slots = random() & random();
    double expected = kNoScore;
    for (size_t i = 0; i < kSlots; ++i) {
      if ((slots >> i & 1U) != 0) expected = std::max(expected, scores[i]);
    }
    EXPECT_EQ(best_score(scores.data(), slots), expected);
  }
  EXPECT_EQ(best_score(scores.data(), 0), kNoScore);
}

}  // namespace
}  // namespace drover::scheduler
