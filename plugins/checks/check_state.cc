#include "check_state.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "drover/v1/check_provider.pb.h"

namespace drover::checks {
namespace {

constexpr std::array<std::string_view, 4> kTexts = {"pending", "success", "warning", "failure"};

Outcome outcome_of(const v1::CheckResult& result) {
  if (result.status() == v1::CheckResult::PASSING) return Outcome::success;
  return result.status() == v1::CheckResult::WARNING ? Outcome::warning : Outcome::failure;
}

}  // namespace

std::string_view text_of(Outcome outcome) { return kTexts[static_cast<size_t>(outcome)]; }

std::optional<Outcome> outcome_of(std::string_view text) {
  const auto at = std::ranges::find(kTexts, text);
  if (at == kTexts.end()) return std::nullopt;
  return static_cast<Outcome>(at - kTexts.begin());
}

bool is_good(Outcome outcome, Tolerance tolerance) {
  if (outcome == Outcome::warning) return tolerance != Tolerance::nothing;
  return outcome == Outcome::success || (outcome == Outcome::failure && tolerance == Tolerance::failures);
}

bool take_result(CheckState& state, const v1::CheckResult& result, const Thresholds& thresholds, Tolerance tolerance,
                 int64_t now) {
  const Outcome seen = outcome_of(result);
  const bool is_bad = seen == Outcome::failure;
  // Results of one kind add up: positive numbers count good ones, negative numbers bad ones.
  state.in_row = is_bad ? std::min(state.in_row, 0) - 1 : std::max(state.in_row, 0) + 1;
  state.code = result.code();
  state.output = result.output();
  state.timestamp = now;
  const bool was_bad = state.outcome == Outcome::failure || state.outcome == Outcome::pending;
  const bool is_enough = is_bad ? -state.in_row >= thresholds.failures : state.in_row >= thresholds.successes;
  const bool waits = !is_enough && (is_bad ? !was_bad || state.outcome == Outcome::pending : was_bad);
  const Outcome before = std::exchange(state.outcome, waits ? state.outcome : seen);
  if (!is_good(state.outcome, tolerance)) {
    state.good_since = 0;
  } else if (state.good_since == 0) {
    state.good_since = now;
  }
  return before != state.outcome;
}

void take_error(CheckState& state, std::string_view why) {
  state.output = "the check could not run: " + std::string(why);
}

bool take_unknown(CheckState& state, std::string_view why) {
  const bool is_other = state.outcome != Outcome::pending;
  state = {.output = std::string(why)};
  return is_other;
}

bool RestartWatch::look(const RestartRule& rule, Outcome outcome, int64_t now) {
  if (!begun_ || now < *begun_ + rule.grace.count()) return false;
  const bool is_bad = outcome == Outcome::failure || (outcome == Outcome::warning && !rule.ignores_warnings);
  if (!is_bad) return bad_since_.reset(), false;
  if (!bad_since_) bad_since_ = now;
  return now - *bad_since_ >= rule.interval.count() * (rule.limit - 1);
}

ServiceHealthNow worst_of(std::span<const CheckState> checks) {
  ServiceHealthNow worst;
  for (const CheckState& check : checks) {
    const ServiceStatus status = check.outcome == Outcome::failure   ? ServiceStatus::critical
                                 : check.outcome == Outcome::warning ? ServiceStatus::warning
                                                                     : ServiceStatus::passing;
    if (status > worst.status) worst = {.status = status, .output = check.output};
  }
  return worst;
}

std::optional<PartHealth> health_of(std::span<const CheckFacts> checks) {
  if (checks.empty()) return std::nullopt;
  PartHealth health;
  std::map<std::string, std::set<std::string>> bad;  // services, by the task that is shown them
  for (const CheckFacts& check : checks) {
    health.since_ns = std::max(health.since_ns, check.good_since);
    if (check.good_since == 0) bad[check.task].insert(check.service);
  }
  health.is_good = bad.empty();
  for (const auto& [task, services] : bad) {
    std::string names;
    for (const std::string& service : services) names += (names.empty() ? "" : ", ") + service;
    health.faults.push_back({.task = task, .why = "Services not healthy by deadline: " + names});
  }
  return health;
}

}  // namespace drover::checks
