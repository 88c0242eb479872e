// How much an allocation on a node would help to spread a group as its job asks. Pure; one owner.
//
// A node is known by its cell: the values of the attributes that the spread blocks name. It counts how many
// allocations of the group each value has.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "distinct.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler {

class Spreads {
 public:
  Spreads(const v1::Job& job, const v1::TaskGroup& group);

  bool empty() const { return blocks_.empty(); }
  // The same number for nodes with the same values of all attributes. Requires: there are blocks.
  size_t cell_of(const v1::Node& node);
  // One more (or with -1: one less) neighbour. Those of other groups and those that stop do not count.
  void add(const Neighbour& neighbour, int sign = 1);
  // By cell: -1 to 1, or more where a spread is even.
  std::vector<double> scores() const;
  // The values are unique to single nodes.
  bool escapes_class() const;

 private:
  static constexpr int kMissing = -1;

  struct Value {
    int64_t used = 0;     // allocations
    double desired = -1;  // below 0: none are
  };
  struct Block {
    std::string attribute;
    double weight = 0;                           // of the sum of the weights of all blocks
    bool even = false;                           // no targets: all values alike
    std::unordered_map<std::string, int> ids{};  // of the values; those that are no target share one
    std::vector<Value> values{};
    int other = kMissing;  // the id of values that are no target
  };
  static Block block_of(const v1::Spread& spread, int32_t count);
  static int value_of(Block& block, const v1::Node& node);
  // The fewest and the most allocations of values in use; both 0 when none is.
  struct Range {
    int64_t least = 0, most = 0;
  };
  static Range range_of(const Block& block);
  static double even_score(const Block& block, Range range, int value);

  std::string group_;
  std::vector<Block> blocks_;
  std::unordered_map<std::string, size_t> cells_;  // by the ids of the values
  std::vector<std::vector<int>> cell_values_;
};

}  // namespace drover::scheduler
