// When a plugin's process is started, asked, killed and left alone. A pure state machine: events with their time go in,
// what to do comes out.
//
//   stopped ──start──▶ starting ──ready──▶ running ⇄ unhealthy
//      ▲                  │  exit, deadline   │ exit    │ exit, three checks missed
//      │                  ▼                   ▼         ▼
//      └──exit── stopping ◀──stop──        backoff ──due──▶ starting
//                   │ exit of a restart       │ ten crashes in ten minutes, or given up
//                   ▼                         ▼
//                starting                  parked ──restart──▶ starting
//
// An operator's restart ends what runs in good order, which is no crash, and starts it again at once; out of a pause
// and out of parking, too. Back-off: one second doubling to two minutes, with up to a quarter of jitter; forgotten
// after ten minutes of health.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "drover/clock.h"

namespace drover::plugin_programs {

struct SupervisionTimes {
  std::chrono::nanoseconds start{std::chrono::seconds(60)};  // from launch to ready
  std::chrono::nanoseconds check_every{std::chrono::seconds(10)};
  int checks_missed = 3;
  std::chrono::nanoseconds backoff_first{std::chrono::seconds(1)};
  std::chrono::nanoseconds backoff_last{std::chrono::minutes(2)};
  std::chrono::nanoseconds calm{std::chrono::minutes(10)};  // of health, then the back-off begins anew
  size_t crashes = 10;                                      // within `window`: parked
  std::chrono::nanoseconds window{std::chrono::minutes(10)};
};

class Supervision {
 public:
  enum class State : uint8_t { stopped, starting, running, unhealthy, stopping, backoff, parked };
  enum class Action : uint8_t {
    none,
    launch,  // start the process; then ready() or exited()
    check,   // ask for its health; then checked()
    kill,    // SIGKILL; then exited()
    end,     // the orderly end, then kill; then exited()
  };

  explicit Supervision(SupervisionTimes times = {}) : times_(times) {}

  State state() const { return state_; }
  // When tick() has something to do; nothing while only events count.
  std::optional<SteadyTime> due() const { return due_; }
  uint64_t restarts() const { return restarts_; }
  SteadyTime since() const { return since_; }             // of the state
  uint64_t missed_checks() const { return all_missed_; }  // ever

  Action start(SteadyTime now);
  Action ready(SteadyTime now);
  Action checked(bool is_healthy, SteadyTime now);
  // Starting it again would not help: what it says of itself, or its configuration, is wrong.
  Action give_up();
  // The process has ended, whatever the reason; also a launch that failed. `jitter` is in [0, 1).
  Action exited(double jitter, SteadyTime now);
  Action tick(SteadyTime now);
  Action stop(SteadyTime now);
  // An operator's order.
  Action restart(SteadyTime now);

 private:
  Action launch(SteadyTime now);
  void enter(State state, SteadyTime now);

  const SupervisionTimes times_;
  State state_ = State::stopped;
  std::optional<SteadyTime> due_;
  SteadyTime healthy_since_{};
  SteadyTime since_{};
  int missed_ = 0;  // one after the other
  uint64_t all_missed_ = 0;
  bool is_given_up_ = false;
  bool is_restarting_ = false;
  int failures_ = 0;  // since it was last calm
  uint64_t restarts_ = 0;
  std::deque<SteadyTime> crashes_;
};

std::string_view to_string(Supervision::State state);

}  // namespace drover::plugin_programs
