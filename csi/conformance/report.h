// The results of the checks, for people and for machines. Pure.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "check.h"
#include "run.h"

namespace drover::csi_kit {

struct Tally {
  size_t passed = 0, failed = 0, left_out = 0;
};
Tally tally(const std::vector<Outcome>& outcomes);

// Prints failures as they come, and a line for each group when it is over.
class Progress {
 public:
  Progress(std::ostream& out, std::vector<const Check*> checks, bool is_verbose)
      : out_(out), checks_(std::move(checks)), is_verbose_(is_verbose) {}
  void ended(size_t index, const Outcome& outcome);

 private:
  void print(const Check& check, const Outcome& outcome);
  void close_group(std::string_view name);

  std::ostream& out_;
  const std::vector<const Check*> checks_;
  const bool is_verbose_;
  std::vector<Outcome> group_;
};

// "120 passed, 1 failed, 9 left out in 12.1s".
std::string summary(const std::vector<Outcome>& outcomes);
std::string to_json(const std::string& tried, const std::vector<const Check*>& checks,
                    const std::vector<Outcome>& outcomes);
std::string listing(const std::vector<const Check*>& checks);

}  // namespace drover::csi_kit
