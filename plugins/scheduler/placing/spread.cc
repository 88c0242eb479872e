#include "spread.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "drover/model/constraint.h"

namespace drover::scheduler {
namespace {

constexpr const char* kImplicit = "*";
constexpr int32_t kDefaultWeight = 50;

int32_t weight_of(const v1::Spread& spread) { return spread.has_weight() ? spread.weight() : kDefaultWeight; }

}  // namespace

Spreads::Block Spreads::block_of(const v1::Spread& spread, int32_t count) {
  Block block{.attribute = spread.attribute()};
  block.even = spread.spread_target().empty();
  double sum = 0;
  const auto add = [&](const std::string& value, double desired) {
    if (value == kImplicit) block.other = static_cast<int>(block.values.size());
    block.ids[value] = static_cast<int>(block.values.size());
    block.values.push_back({.used = 0, .desired = desired});
  };
  for (const v1::SpreadTarget& target : spread.spread_target()) {
    const double desired = target.percent() / 100.0 * count;
    sum += desired;
    add(target.value(), desired);
  }
  if (sum > 0 && sum < count && block.other == kMissing) add(kImplicit, count - sum);
  return block;
}

Spreads::Spreads(const v1::Job& job, const v1::TaskGroup& group) : group_(group.name()) {
  double weights = 0;
  const auto take = [&](const auto& spreads) {
    for (const v1::Spread& spread : spreads) {
      blocks_.push_back(block_of(spread, group.count()));
      blocks_.back().weight = weight_of(spread);
      weights += weight_of(spread);
    }
  };
  take(group.spreads());
  take(job.spreads());
  for (Block& block : blocks_) block.weight = weights == 0 ? 0 : block.weight / weights;
}

int Spreads::value_of(Block& block, const v1::Node& node) {
  const auto value = resolve_target(block.attribute, node);
  if (!value) return kMissing;
  if (const auto at = block.ids.find(*value); at != block.ids.end()) return at->second;
  if (!block.even && block.other == kMissing) {
    block.other = static_cast<int>(block.values.size());
    block.values.emplace_back();  // nobody wants it
  }
  if (!block.even) return block.ids[*value] = block.other;
  block.values.emplace_back();
  return block.ids[*value] = static_cast<int>(block.values.size()) - 1;
}

size_t Spreads::cell_of(const v1::Node& node) {
  std::vector<int> values;
  std::string key;
  for (Block& block : blocks_) {
    values.push_back(value_of(block, node));
    key += std::to_string(values.back()) + ",";
  }
  const auto [at, is_new] = cells_.try_emplace(key, cell_values_.size());
  if (is_new) cell_values_.push_back(std::move(values));
  return at->second;
}

void Spreads::add(const Neighbour& neighbour, int sign) {
  if (!neighbour.node || neighbour.stopping || neighbour.group != group_) return;
  for (Block& block : blocks_) {
    const int value = value_of(block, *neighbour.node);
    if (value != kMissing) block.values[static_cast<size_t>(value)].used += sign;
  }
}

bool Spreads::escapes_class() const {
  return std::ranges::any_of(blocks_, [](const Block& block) {
    v1::Constraint constraint;
    constraint.set_l_target(block.attribute);
    return drover::escapes_class(constraint);
  });
}

Spreads::Range Spreads::range_of(const Block& block) {
  Range range{std::numeric_limits<int64_t>::max(), 0};
  for (const Value& one : block.values) {
    if (one.used == 0) continue;
    range.least = std::min(range.least, one.used);
    range.most = std::max(range.most, one.used);
  }
  return range.most == 0 ? Range{} : range;
}

double Spreads::even_score(const Block& block, Range range, int value) {
  if (range.most == 0) return 0;
  if (value == kMissing) return -1;
  const int64_t used = block.values[static_cast<size_t>(value)].used;
  const auto share = [&](int64_t of) { return static_cast<double>(of) / static_cast<double>(range.least); };
  if (used != range.least) return share(range.least - used);
  return range.least == range.most ? -1 : share(range.most - range.least);
}

std::vector<double> Spreads::scores() const {
  // By block and value; the lowest of them stands for values that nobody is to have.
  std::vector<std::vector<double>> boosts(blocks_.size());
  std::vector<Range> ranges;
  double lowest = -1;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    ranges.push_back(range_of(block));
    for (size_t value = 0; value < block.values.size(); ++value) {
      const auto& [used, desired] = block.values[value];
      if (block.even) {
        boosts[i].push_back(even_score(block, ranges[i], static_cast<int>(value)));
      } else if (desired > 0) {
        boosts[i].push_back((desired - static_cast<double>(used + 1)) / desired * block.weight);
        lowest = std::min(lowest, boosts[i].back());
      } else {
        boosts[i].push_back(desired < 0 ? -1 : std::numeric_limits<double>::quiet_NaN());
      }
    }
  }
  std::vector<double> scores;
  for (const std::vector<int>& values : cell_values_) {
    double sum = 0;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (values[i] == kMissing) {
        sum += blocks_[i].even ? even_score(blocks_[i], ranges[i], kMissing) : -1;
        continue;
      }
      const double boost = boosts[i][static_cast<size_t>(values[i])];
      sum += boost != boost ? lowest : boost;  // not a number: of a target of 0 %
    }
    scores.push_back(sum);
  }
  return scores;
}

}  // namespace drover::scheduler
