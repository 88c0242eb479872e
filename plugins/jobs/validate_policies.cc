// Rules of what decides about placement and repair: constraints, update, restart, reschedule, periodic and the like.
#include <algorithm>
#include <chrono>
#include <set>

#include "drover/duration.h"
#include "drover/model/constraint.h"
#include "drover/model/cron.h"
#include "drover/model/time_zone.h"
#include "drover/nearest.h"
#include "validate_parts.h"

namespace drover::jobs {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kOperands[] = {"=",
                                          "==",
                                          "is",
                                          "!=",
                                          "not",
                                          "<",
                                          "<=",
                                          ">",
                                          ">=",
                                          "regexp",
                                          "version",
                                          "semver",
                                          "set_contains",
                                          "set_contains_all",
                                          "set_contains_any",
                                          "distinct_hosts",
                                          "distinct_property",
                                          "is_set",
                                          "is_not_set"};

constexpr int64_t ns(std::chrono::nanoseconds duration) { return duration.count(); }

bool check_operand(const Place& place, const std::string& operand) {
  if (std::ranges::find(kOperands, operand) != std::end(kOperands)) return true;
  const std::string hint = nearest_hint(operand, kOperands);
  place["operator"].error("operator " + quoted(operand) + " is unknown" + (hint.empty() ? "" : "; " + hint));
  return false;
}

bool is_unary(const std::string& operand) { return operand == "is_set" || operand == "is_not_set"; }

// A value is missing, or cannot be what the operator reads.
void check_value(const Place& place, const std::string& operand, const std::string& value) {
  if (!is_unary(operand) && value.empty()) return place.error("value is missing");
  if (const std::string problem = problem_of_operand(operand, value); !problem.empty()) place.error(problem);
}

bool is_whole_number(const std::string& text) {
  return !text.empty() && text.size() < 10 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

void check_constraint(const Place& place, const v1::Constraint& constraint, bool may_be_distinct) {
  const std::string& operand = constraint.operand();
  if (!check_operand(place, operand)) return;
  const bool is_distinct = operand.starts_with("distinct_");
  if (is_distinct && !may_be_distinct) place.error(operand + " is not allowed here, only in a job or a group");
  if (operand != "distinct_hosts") place["attribute"].require(!constraint.l_target().empty(), "attribute is missing");
  if (!is_distinct) check_value(place["value"], operand, constraint.r_target());
  if (operand == "distinct_property" && !constraint.r_target().empty()) {
    place["value"].require(is_whole_number(constraint.r_target()) && constraint.r_target() != "0",
                           "distinct_property takes a whole number from 1 on, not " + quoted(constraint.r_target()));
  }
  if (operand == "distinct_hosts" && !constraint.r_target().empty()) {
    place["value"].require_one_of(constraint.r_target(), {"true", "false"});
  }
}

void check_affinity(const Place& place, const v1::Affinity& affinity) {
  place["weight"].require(affinity.weight() >= -100 && affinity.weight() <= 100 && affinity.weight() != 0,
                          "weight must be between -100 and 100, and not 0");
  const std::string& operand = affinity.operand();
  if (!check_operand(place, operand)) return;
  if (operand.starts_with("distinct_")) place.error(operand + " is not allowed in an affinity");
  place["attribute"].require(!affinity.l_target().empty(), "attribute is missing");
  check_value(place["value"], operand, affinity.r_target());
}

void check_spread(const Place& place, const v1::Spread& spread) {
  place["attribute"].require(!spread.attribute().empty(), "attribute is missing");
  place["weight"].require(spread.weight() >= 1 && spread.weight() <= 100, "weight must be between 1 and 100");
  std::set<std::string> values;
  uint64_t sum = 0;
  for (int i = 0; i < spread.spread_target_size(); ++i) {
    const v1::SpreadTarget& target = spread.spread_target(i);
    Place at = place.item("target", target.value(), i);
    if (!values.insert(target.value()).second) at.error("is named twice");
    at["percent"].require(target.percent() <= 100, "percent must be between 0 and 100");
    sum += target.percent();
  }
  place.require(sum <= 100, "the percentages of the targets are " + std::to_string(sum) + " together; at most 100");
}

void check_restart(const Place& place, const v1::RestartPolicy& policy) {
  place["mode"].require_one_of(policy.mode(), {"fail", "delay"});
  place["attempts"].require(policy.attempts() >= 0, "must not be negative");
  place["attempts"].require(policy.attempts() > 0 || policy.mode() == "fail", "0 attempts need mode \"fail\"");
  place["interval"].require(policy.interval() >= ns(5s), "must be at least 5s");
  place["delay"].require(policy.delay() >= 0, "must not be negative");
  if (policy.attempts() > 0) {
    place.require(policy.delay() <= policy.interval() / policy.attempts(),
                  std::to_string(policy.attempts()) + " attempts with a delay of " + duration_text(policy.delay()) +
                      " do not fit into the interval of " + duration_text(policy.interval()));
  }
}

void check_reschedule(const Place& place, const v1::ReschedulePolicy& policy) {
  place["attempts"].require(policy.attempts() >= 0, "must not be negative");
  if (policy.unlimited()) {
    place.require(policy.attempts() == 0, "attempts and unlimited exclude each other");
  } else if (policy.attempts() > 0) {
    place["interval"].require(policy.interval() >= ns(15s), "must be at least 15s");
  } else {
    return;  // off
  }
  place["delay"].require(policy.delay() >= ns(5s), "must be at least 5s");
  place["delay_function"].require_one_of(policy.delay_function(), {"constant", "exponential", "fibonacci"});
  if (policy.delay_function() != "constant") {
    place["max_delay"].require(policy.max_delay() >= ns(5s) && policy.max_delay() >= policy.delay(),
                               "must be at least 5s and not below delay");
  }
}

void check_update(const Place& place, const v1::UpdateStrategy& update) {
  place["max_parallel"].require(update.max_parallel() >= 0, "must not be negative");
  place["canary"].require(update.canary() >= 0, "must not be negative");
  place["min_healthy_time"].require(update.min_healthy_time() >= 0, "must not be negative");
  place["healthy_deadline"].require(update.healthy_deadline() > 0, "must be greater than 0");
  place["min_healthy_time"].require(update.min_healthy_time() < update.healthy_deadline(),
                                    "must be below healthy_deadline");
  place["progress_deadline"].require(update.progress_deadline() >= 0, "must not be negative");
  if (update.progress_deadline() > 0) {
    place["progress_deadline"].require(update.healthy_deadline() < update.progress_deadline(),
                                       "must be above healthy_deadline");
  }
  place["stagger"].require(update.stagger() > 0, "must be greater than 0");
  place["auto_promote"].require(!update.auto_promote() || update.canary() > 0, "needs canary to be greater than 0");
  place["health_check"].require_one_of(update.health_check(), {"checks", "task_states", "manual"});
}

void check_migrate(const Place& place, const v1::MigrateStrategy& migrate) {
  place["max_parallel"].require(migrate.max_parallel() >= 0, "must not be negative");
  place["health_check"].require_one_of(migrate.health_check(), {"checks", "task_states"});
  place["min_healthy_time"].require(migrate.min_healthy_time() >= 0, "must not be negative");
  place["healthy_deadline"].require(migrate.healthy_deadline() >= 0, "must not be negative");
  place["min_healthy_time"].require(migrate.min_healthy_time() <= migrate.healthy_deadline(),
                                    "must not be above healthy_deadline");
}

void check_periodic(const Place& place, const v1::PeriodicConfig& periodic) {
  if (!periodic.enabled()) return;
  place["cron"].require(periodic.spec().empty() || periodic.specs().empty(), "cron and crons exclude each other");
  place["cron"].require(!periodic.spec().empty() || !periodic.specs().empty(), "cron is missing");
  const Result<TimeZone> zone = TimeZone::load(periodic.time_zone());
  if (!zone) place["time_zone"].error(std::string(zone.status().message()));
  const auto check = [&](const Place& at, const std::string& spec) {
    if (spec.empty()) return;
    const Result<Cron> cron = Cron::parse(spec);
    if (!cron) {
      at.error(quoted(spec) + " is no cron expression: " + std::string(cron.status().message()));
    } else if (zone && !cron->next(0, *zone)) {
      at.warn(quoted(spec) + " is never due");
    }
  };
  check(place["cron"], periodic.spec());
  for (int i = 0; i < periodic.specs_size(); ++i) check(place.item("crons", "", i), periodic.specs(i));
}

void check_parameterized(const Place& place, const v1::ParameterizedJob& parameterized) {
  place["payload"].require_one_of(parameterized.payload(), {"optional", "required", "forbidden"});
  for (const std::string& key : parameterized.meta_required()) {
    const auto& optional = parameterized.meta_optional();
    if (std::ranges::find(optional, key) != optional.end()) {
      place["meta_required"].error(quoted(key) + " is in meta_optional as well");
    }
  }
}

}  // namespace drover::jobs
