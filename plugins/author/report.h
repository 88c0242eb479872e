// The results of the checks, for people and for machines. Pure.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "drover/conformance.h"
#include "options.h"

namespace drover::author {

struct Judged {
  const conformance::Check* check = nullptr;
  conformance::Outcome outcome;
};

struct Tally {
  size_t passed = 0, failed = 0, not_applicable = 0;
};
Tally tally(const std::vector<Judged>& all);

// The command that runs this check alone again, as a shell takes it: with whatever bears on how it comes out.
std::string command_again(std::string_view check, const Options& options);

// Prints checks as they become known, group by group, in the catalogue's order whatever the order they end in.
class Progress {
 public:
  Progress(std::ostream& out, std::vector<const conformance::Check*> checks, Options options);
  void ended(size_t index, const conformance::Outcome& outcome);

 private:
  void print(const Judged& judged);
  void close_group();

  std::ostream& out_;
  std::vector<Judged> judged_;
  std::vector<bool> is_known_;
  const Options options_;
  size_t next_ = 0, group_began_ = 0;
};

// "12 passed, 1 failed, 3 not applicable in 1.2s".
std::string summary(const std::vector<Judged>& all, std::chrono::nanoseconds took);
std::string to_json(const std::string& file, const std::vector<Judged>& all);
std::string to_junit(const std::string& file, const std::vector<Judged>& all);

}  // namespace drover::author
