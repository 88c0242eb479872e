// The state of one check, and what follows from it: its status by results and thresholds, the restart of a task whose
// check has been bad for too long, the health of an allocation. Pure: time comes in.
//
//   pending ──first result──▶ success | warning | failure ──results, thresholds──▶ …
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "drover/alloc_hook.h"
#include "drover/service_health.h"

namespace drover::v1 {
class CheckResult;
}

namespace drover::checks {

enum class Outcome : uint8_t { pending, success, warning, failure };
std::string_view text_of(Outcome outcome);
// Nothing: no outcome has that text.
std::optional<Outcome> outcome_of(std::string_view text);

struct Thresholds {
  int successes = 0;  // in a row, before a check that is bad becomes good; 0 and 1: at once
  int failures = 0;   // likewise before one that is not bad becomes so
};

struct CheckState {
  Outcome outcome = Outcome::pending;
  int32_t code = 0;
  std::string output = "nomad: waiting to run";
  int64_t timestamp = 0;   // of the last result, nanoseconds since 1970
  int64_t good_since = 0;  // since when it is no obstacle to health, without a break; 0: it is one
  int in_row = 0;          // results of the kind of the last one
};

// An update puts up with this in a check that has run.
enum class Tolerance : uint8_t { nothing, warnings, failures };
// True when health does not wait for the check.
bool is_good(Outcome outcome, Tolerance tolerance);

// Takes in a result. True when the outcome has changed.
bool take_result(CheckState& state, const v1::CheckResult& result, const Thresholds& thresholds, Tolerance tolerance,
                 int64_t now);
// Takes in that a provider could not look: nothing is known anew, and the reason is shown.
void take_error(CheckState& state, std::string_view why);
// Takes in that nobody knows how the service is: what was known counts no more. True when the outcome has changed.
bool take_unknown(CheckState& state, std::string_view why);

// A check_restart block.
struct RestartRule {
  int limit = 0;
  std::chrono::nanoseconds grace{};
  std::chrono::nanoseconds interval{};  // of the check
  bool ignores_warnings = false;
};

// Watches one check for it. A check that has not run yet says nothing.
class RestartWatch {
 public:
  // Grace begins.
  void begin(int64_t now) { begun_ = now, bad_since_.reset(); }
  bool has_begun() const { return begun_.has_value(); }
  // True: restart; begin() is to follow.
  bool look(const RestartRule& rule, Outcome outcome, int64_t now);

 private:
  std::optional<int64_t> begun_, bad_since_;  // nanoseconds since 1970
};

// One check, for the health of its allocation.
struct CheckFacts {
  std::string service;
  std::string task;  // empty: the service is the group's
  int64_t good_since = 0;
};
// How a service does by the worst of its checks; those that have not run say nothing.
ServiceHealthNow worst_of(std::span<const CheckState> checks);

// Nothing: there are no checks.
std::optional<PartHealth> health_of(std::span<const CheckFacts> checks);

}  // namespace drover::checks
