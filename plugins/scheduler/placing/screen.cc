#include "screen.h"

#include <algorithm>
#include <array>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace drover::scheduler {
namespace {

constexpr double kPackingMax = 18;

// packing = (base + sign * (10^(cpu left) + 10^(memory left))) / 18, within 0 and 1.
struct Packing {
  double base, sign;
};
Packing packing_rule(const ScreenAsk& ask) { return ask.spreads ? Packing{-2, 1} : Packing{20, -1}; }

uint64_t bit_if(bool condition, size_t slot) { return static_cast<uint64_t>(condition) << slot; }

template <typename FactorsOf>
ScreenRoom screen_plain(const ClusterBlock& block, const ScreenAsk& ask, FactorsOf factors_of, double* scores) {
  ScreenRoom room;
  for (size_t i = 0; i < kSlots; ++i) {
    const ScreenFactors& factors = factors_of(i);
    room.cpu |= bit_if(block.free_cpu[i] >= ask.amount.cpu, i);
    room.memory |= bit_if(block.free_memory[i] >= ask.amount.memory_mb, i);
    room.disk |= bit_if(block.free_disk[i] >= ask.amount.disk_mb, i);
    const double packing = packing_of(ask, factors, block.cpu_power[i], block.memory_power[i]);
    scores[i] = mean_score(packing + factors.extra, factors.count);
  }
  return room;
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) uint64_t enough(const int64_t* free, __m256i ask, size_t at) {
  const __m256i there = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(free + at));
  const auto less = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(ask, there))));
  return static_cast<uint64_t>(~less & 0xFU) << at;
}

// The operations of packing_of() and mean_score() in their order, four slots at a time.
__attribute__((target("avx2"))) ScreenRoom screen_avx2(const ClusterBlock& block, const ScreenAsk& ask,
                                                       const ScreenFactors& factors, double* scores) {
  const Packing rule = packing_rule(ask);
  const __m256i cpu = _mm256_set1_epi64x(ask.amount.cpu), memory = _mm256_set1_epi64x(ask.amount.memory_mb),
                disk = _mm256_set1_epi64x(ask.amount.disk_mb);
  const __m256d cpu_factor = _mm256_set1_pd(factors.cpu), memory_factor = _mm256_set1_pd(factors.memory);
  const __m256d base = _mm256_set1_pd(rule.base), sign = _mm256_set1_pd(rule.sign), zero = _mm256_setzero_pd();
  const __m256d most = _mm256_set1_pd(kPackingMax), extra = _mm256_set1_pd(factors.extra),
                count = _mm256_set1_pd(factors.count);
  const __m256d resolution = _mm256_set1_pd(kResolution), to_whole = _mm256_set1_pd(kToWhole);
  ScreenRoom room;
  for (size_t i = 0; i < kSlots; i += 4) {
    room.cpu |= enough(block.free_cpu.data(), cpu, i);
    room.memory |= enough(block.free_memory.data(), memory, i);
    room.disk |= enough(block.free_disk.data(), disk, i);
    const __m256d total = _mm256_add_pd(_mm256_mul_pd(_mm256_loadu_pd(block.cpu_power.data() + i), cpu_factor),
                                        _mm256_mul_pd(_mm256_loadu_pd(block.memory_power.data() + i), memory_factor));
    __m256d packing = _mm256_add_pd(base, _mm256_mul_pd(sign, total));
    packing = _mm256_div_pd(_mm256_min_pd(_mm256_max_pd(packing, zero), most), most);
    const __m256d mean = _mm256_div_pd(_mm256_add_pd(packing, extra), count);
    const __m256d whole = _mm256_sub_pd(_mm256_add_pd(_mm256_mul_pd(mean, resolution), to_whole), to_whole);
    _mm256_storeu_pd(scores + i, whole);
  }
  return room;
}

__attribute__((target("avx2"))) double best_score_avx2(const double* scores, uint64_t slots) {
  const __m256d none = _mm256_set1_pd(kNoScore);
  const __m256i lanes = _mm256_set_epi64x(8, 4, 2, 1);
  __m256d best = none;
  for (size_t i = 0; i < kSlots; i += 4) {
    const __m256i four = _mm256_and_si256(_mm256_set1_epi64x(static_cast<int64_t>((slots >> i) & 0xFU)), lanes);
    const __m256d wanted = _mm256_castsi256_pd(_mm256_cmpeq_epi64(four, lanes));
    best = _mm256_max_pd(best, _mm256_blendv_pd(none, _mm256_loadu_pd(scores + i), wanted));
  }
  alignas(32) std::array<double, 4> last{};
  _mm256_store_pd(last.data(), best);
  return std::max(std::max(last[0], last[1]), std::max(last[2], last[3]));
}

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

#endif

}  // namespace

double packing_of(const ScreenAsk& ask, const ScreenFactors& factors, double cpu_power, double memory_power) {
  const Packing rule = packing_rule(ask);
  const double total = cpu_power * factors.cpu + memory_power * factors.memory;
  return std::clamp(rule.base + rule.sign * total, 0.0, kPackingMax) / kPackingMax;
}

ScreenRoom screen(const ClusterBlock& block, const ScreenAsk& ask, const ScreenFactors& factors, double* scores) {
#if defined(__x86_64__)
  if (has_avx2()) return screen_avx2(block, ask, factors, scores);
#endif
  return screen_plain(
      block, ask, [&](size_t) -> const ScreenFactors& { return factors; }, scores);
}

ScreenRoom screen_each(const ClusterBlock& block, const ScreenAsk& ask,
                       const ClusterBlock::Column<ScreenFactors>& factors, double* scores) {
  return screen_plain(
      block, ask, [&](size_t slot) -> const ScreenFactors& { return factors[slot]; }, scores);
}

double best_score(const double* scores, uint64_t slots) {
  if (slots == 0) return kNoScore;
#if defined(__x86_64__)
  if (has_avx2()) return best_score_avx2(scores, slots);
#endif
  double best = kNoScore;
  for (; slots != 0; slots &= slots - 1) best = std::max(best, scores[std::countr_zero(slots)]);
  return best;
}

}  // namespace drover::scheduler
