#include "restart_policy.h"

#include "drover/duration.h"
#include "drover/v1/job.pb.h"

namespace drover::agent {

RestartDecision decide_restart(const RestartRule& rule, const RestartHistory& history, TaskEnd end, int64_t now_ns,
                               double chance) {
  using Action = RestartDecision::Action;
  using Kind = TaskEnd::Kind;
  RestartDecision decision{.action = Action::fail, .history = history};
  if (end.kind == Kind::asked_to_restart) {
    decision.action = Action::restart;
    return decision;
  }
  if (end.kind == Kind::start_impossible) {
    decision.reason = "Error was unrecoverable";
    return decision;
  }
  if (end.kind == Kind::succeeded && !rule.on_success) {
    decision.action = Action::finish;
    decision.reason = "Restart unnecessary as task terminated successfully";
    return decision;
  }
  if (rule.attempts == 0 && rule.mode == RestartRule::Mode::fail) {
    decision.reason = "Policy allows no restarts";
    return decision;
  }
  const int64_t window_end = history.window_began + rule.interval.count();
  if (history.window_began == 0 || now_ns > window_end) {
    decision.history.count = 0;
    decision.history.window_began = now_ns;
  }
  ++decision.history.count;
  const auto spread =
      std::chrono::nanoseconds(static_cast<int64_t>(chance * 0.25 * static_cast<double>(rule.delay.count())));
  if (decision.history.count > rule.attempts) {
    if (rule.mode == RestartRule::Mode::fail) {
      decision.reason = "Exceeded allowed attempts " + std::to_string(rule.attempts) + " in interval " +
                        format_duration(rule.interval) + " and mode is \"fail\"";
      return decision;
    }
    decision.action = Action::restart;
    decision.delay = std::chrono::nanoseconds(decision.history.window_began + rule.interval.count() - now_ns) + spread;
    decision.reason = "Exceeded allowed attempts, applying a delay";
    return decision;
  }
  decision.action = Action::restart;
  decision.delay = rule.delay + spread;
  decision.reason = "Restart within policy";
  return decision;
}

RestartRule restart_rule(const v1::RestartPolicy& policy, bool long_running) {
  return {.attempts = policy.attempts(),
          .interval = std::chrono::nanoseconds(policy.interval()),
          .delay = std::chrono::nanoseconds(policy.delay()),
          .mode = policy.mode() == "delay" ? RestartRule::Mode::delay : RestartRule::Mode::fail,
          .on_success = long_running};
}

}  // namespace drover::agent
