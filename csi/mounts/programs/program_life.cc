#include "programs/program_life.h"

#include <algorithm>

namespace drover::mounts {
namespace {

using Action = ProgramLife::Action;

}  // namespace

Action ProgramLife::start(SteadyTime now) { return launch(now); }

Action ProgramLife::adopt(bool has_these_settings, SteadyTime now) {
  state_ = State::running;
  began_ = now;
  is_next_at_once_ = !has_these_settings;
  return is_next_at_once_ ? end(now) : Action::none;
}

Action ProgramLife::launch(SteadyTime now) {
  state_ = State::running;
  due_.reset();
  began_ = now;
  return Action::launch;
}

Action ProgramLife::end(SteadyTime now) {
  state_ = State::ending;
  due_ = now + times_.to_end;
  return Action::end;
}

void ProgramLife::wait(std::chrono::nanoseconds pause, SteadyTime now) {
  state_ = State::waiting;
  due_ = now + pause;
}

Action ProgramLife::exited(SteadyTime now) {
  if (is_stopping_ || state_ == State::over) {
    state_ = State::over;
    due_.reset();
    return Action::none;
  }
  if (is_next_at_once_) {
    is_next_at_once_ = false;
    return launch(now);
  }
  if (now - began_ >= times_.calm) failures_ = 0;
  std::chrono::nanoseconds pause = times_.first_pause;
  for (int i = 0; i < failures_ && pause < times_.longest_pause; ++i) pause *= 2;
  ++failures_;
  wait(std::min(pause, times_.longest_pause), now);
  return Action::none;
}

Action ProgramLife::unhealthy(SteadyTime now) { return state_ == State::running ? end(now) : Action::none; }

Action ProgramLife::tick(SteadyTime now) {
  if (!due_ || now < *due_) return Action::none;
  if (state_ == State::waiting) return launch(now);
  due_.reset();
  return state_ == State::ending ? Action::kill : Action::none;
}

Action ProgramLife::restart(SteadyTime now) {
  if (is_stopping_ || state_ == State::over) return Action::none;
  failures_ = 0;
  if (state_ == State::waiting) return launch(now);
  is_next_at_once_ = true;
  return state_ == State::running ? end(now) : Action::none;
}

Action ProgramLife::stop(Fate fate, SteadyTime now) {
  is_stopping_ = true;
  if (state_ == State::ending) return Action::none;
  if (state_ == State::running && fate == Fate::ends) return end(now);
  state_ = State::over;
  due_.reset();
  return Action::none;
}

}  // namespace drover::mounts
