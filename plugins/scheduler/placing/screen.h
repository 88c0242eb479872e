// One look at the 64 nodes of a block: which of them have room for a group, and how each rates. Pure.
//
// With AVX2 where the processor has it; both ways give the same bits.
#pragma once

#include <cstdint>
#include <limits>

#include "cluster.h"

namespace drover::scheduler {

// Scores are whole numbers of this many parts of one, so that scores nearer than that are equal.
inline constexpr double kResolution = 4294967296.0;  // 2^32
// The score of a node that cannot be taken.
inline constexpr double kNoScore = -std::numeric_limits<double>::infinity();

// 1.5 * 2^52: a number loses what stands behind its point when this is added and taken away.
inline constexpr double kToWhole = 6755399441055744.0;

// The mean of all that counts for or against a node, as a score. Requires: |sum| below 2^18.
inline double mean_score(double sum, double count) { return (sum / count * kResolution + kToWhole) - kToWhole; }

// The group: what it takes, and how packing is rated.
struct ScreenAsk {
  Amount amount;
  bool spreads = false;  // the emptiest node is the best, not the fullest
};

// The factors that all nodes of a kind share.
struct ScreenFactors {
  double cpu = 1, memory = 1;  // power_of_ask()
  double extra = 0;            // the sum of what counts beside packing
  double count = 1;            // of all that counts, packing included
};

// 0 to 1: how full, or with `spreads` how empty, a node is with the ask on top.
double packing_of(const ScreenAsk& ask, const ScreenFactors& factors, double cpu_power, double memory_power);

// One bit a slot: there is enough of it for the ask.
struct ScreenRoom {
  uint64_t cpu = 0, memory = 0, disk = 0;
};
// Writes the scores of all slots, also of those without room. `factors`: of all slots, or of each.
ScreenRoom screen(const ClusterBlock& block, const ScreenAsk& ask, const ScreenFactors& factors, double* scores);
ScreenRoom screen_each(const ClusterBlock& block, const ScreenAsk& ask,
                       const ClusterBlock::Column<ScreenFactors>& factors, double* scores);

// The best of 64 scores, of those whose bit is set; kNoScore when none is.
double best_score(const double* scores, uint64_t slots);

}  // namespace drover::scheduler
