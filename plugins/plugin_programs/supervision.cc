#include "supervision.h"

#include <algorithm>
#include <utility>

namespace drover::plugin_programs {

using Action = Supervision::Action;

void Supervision::enter(State state, SteadyTime now) {
  if (state_ != state) since_ = now;
  state_ = state;
}

Action Supervision::launch(SteadyTime now) {
  enter(State::starting, now);
  due_ = now + times_.start;
  missed_ = 0;
  return Action::launch;
}

Action Supervision::start(SteadyTime now) { return state_ == State::stopped ? launch(now) : Action::none; }

Action Supervision::ready(SteadyTime now) {
  if (state_ != State::starting) return Action::none;
  enter(State::running, now);
  healthy_since_ = now;
  due_ = now + times_.check_every;
  return Action::none;
}

Action Supervision::checked(bool is_healthy, SteadyTime now) {
  if (state_ != State::running && state_ != State::unhealthy) return Action::none;
  if (is_healthy) {
    if (state_ == State::unhealthy) healthy_since_ = now;
    enter(State::running, now);
    missed_ = 0;
    if (now - healthy_since_ >= times_.calm) failures_ = 0;
  } else {
    enter(State::unhealthy, now);
    ++all_missed_;
    if (++missed_ >= times_.checks_missed) {
      due_.reset();
      return Action::kill;
    }
  }
  due_ = now + times_.check_every;
  return Action::none;
}

Action Supervision::give_up() {
  if (state_ != State::starting) return Action::none;
  is_given_up_ = true;
  due_.reset();
  return Action::kill;
}

Action Supervision::exited(double jitter, SteadyTime now) {
  if (state_ == State::stopping && std::exchange(is_restarting_, false)) {
    ++restarts_;
    return launch(now);
  }
  if (state_ == State::stopping || state_ == State::stopped) {
    enter(State::stopped, now);
    due_.reset();
    return Action::none;
  }
  if (state_ == State::backoff || state_ == State::parked) return Action::none;
  if (state_ == State::running && now - healthy_since_ >= times_.calm) failures_ = 0;
  crashes_.push_back(now);
  while (!crashes_.empty() && now - crashes_.front() > times_.window) crashes_.pop_front();
  if (std::exchange(is_given_up_, false) || crashes_.size() >= times_.crashes) {
    enter(State::parked, now);
    due_.reset();
    return Action::none;
  }
  const int doublings = std::min(failures_++, 20);
  const auto pause = std::min(times_.backoff_first * (int64_t{1} << doublings), times_.backoff_last);
  enter(State::backoff, now);
  due_ = now + pause + std::chrono::nanoseconds(static_cast<int64_t>(jitter * static_cast<double>(pause.count()) / 4));
  return Action::none;
}

Action Supervision::tick(SteadyTime now) {
  if (!due_ || now < *due_) return Action::none;
  switch (state_) {
    case State::starting:
      due_.reset();
      return Action::kill;
    case State::running:
    case State::unhealthy:
      due_ = now + times_.check_every;  // until the answer says otherwise
      return Action::check;
    case State::backoff:
      ++restarts_;
      return launch(now);
    default:
      due_.reset();
      return Action::none;
  }
}

Action Supervision::stop(SteadyTime now) {
  due_.reset();
  is_restarting_ = false;
  const bool has_process = state_ == State::starting || state_ == State::running || state_ == State::unhealthy;
  enter(has_process || state_ == State::stopping ? State::stopping : State::stopped, now);
  return has_process ? Action::end : Action::none;
}

Action Supervision::restart(SteadyTime now) {
  switch (state_) {
    case State::running:
    case State::unhealthy:
      due_.reset();
      is_restarting_ = true;
      enter(State::stopping, now);
      crashes_.clear();
      failures_ = 0;
      return Action::end;
    case State::parked:
    case State::backoff:
      crashes_.clear();
      failures_ = 0;
      ++restarts_;
      return launch(now);
    default:
      return Action::none;  // it is being started, or was stopped for good
  }
}

std::string_view to_string(Supervision::State state) {
  static constexpr std::string_view kNames[] = {"stopped",  "starting", "running", "unhealthy",
                                                "stopping", "backoff",  "parked"};
  return kNames[static_cast<size_t>(state)];
}

}  // namespace drover::plugin_programs
