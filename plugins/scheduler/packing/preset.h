// The knowledge of messages at some point of the packed form, and that of its beginning: usual messages, so that a plan
// of one allocation need not say which fields allocations and evaluations have. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "packing/format.h"
#include "packing/pack.h"
#include "packing/shape.h"

namespace drover::scheduler::packing {

// Patterns and shapes by their numbers, and the last message of each shape. It holds views.
class Known {
 public:
  // Goes on from `before`, which outlives it; null: from nothing.
  explicit Known(const Known* before = nullptr);

  size_t patterns() const { return patterns_.size(); }
  std::string_view pattern(size_t number) const { return patterns_[number]; }
  void add_pattern(std::string_view pattern) { patterns_.push_back(pattern); }

  size_t shapes() const { return shapes_.size(); }
  std::string_view shape(size_t number) const { return shapes_[number]; }
  void add_shape(std::string_view shape, std::vector<Leaf> last);
  const std::vector<Leaf>& last(size_t shape) const;
  void set_last(size_t shape, std::vector<Leaf> leaves) { last_[shape] = std::move(leaves); }

 private:
  const Known* before_;
  std::vector<std::string_view> patterns_, shapes_;
  std::vector<std::vector<Leaf>> last_;  // by shape; empty: as before
};

struct Preset {
  struct Level {
    Known known;
    std::unordered_map<std::string_view, uint64_t> patterns, shapes;  // their numbers
  };
  Level messages, parts;
};

// Null for the first format, which begins with nothing. [any]
const Preset* preset_of(Format format);

// The preset in the packed form: rows that are bases, then messages, each with a base's number + 1 or 0 before it.
std::string_view preset_bytes();
// Knows the nodes in it: any first bytes, filled up with dashes.
Lookup preset_lookup();

}  // namespace drover::scheduler::packing
