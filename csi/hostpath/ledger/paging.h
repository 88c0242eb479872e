// Pages of lists: in the order of making, so that what is made between two pages is on a later one, and the token is
// good also when its thing is gone. Pure. [any]
#pragma once

#include <cstdint>
#include <string>

#include "drover/result.h"

namespace drover::hostpath {

// Asked for each thing in turn, by its number.
class Page {
 public:
  Page(int32_t most, uint64_t after) : most_(most), after_(after) {}
  bool takes(uint64_t number);
  std::string next_token() const;  // empty: that was all

 private:
  const int32_t most_;  // 0: all
  const uint64_t after_;
  int32_t taken_ = 0;
  uint64_t last_ = 0;
  bool has_more_ = false;
};

// Errors: invalid_argument for a negative number; aborted for a token that is none of ours.
Result<Page> page_of(int32_t max_entries, const std::string& starting_token);

}  // namespace drover::hostpath
