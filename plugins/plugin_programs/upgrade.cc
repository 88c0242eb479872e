#include "upgrade.h"

#include <utility>

#include "drover/result.h"

namespace drover::plugin_programs {

using Action = Upgrade::Action;
using State = Upgrade::State;

namespace {

std::pair<State, Action> after(State state, bool is_well) {
  switch (state) {
    case State::proving:
      return is_well ? std::pair(State::draining, Action::drain) : std::pair(State::refusing, Action::refuse);
    case State::draining:
      return is_well ? std::pair(State::releasing, Action::release) : std::pair(State::refusing, Action::refuse);
    case State::releasing:
      return {State::recovering, Action::recover};  // it has no process any more, whatever it was
    case State::recovering:
      return is_well ? std::pair(State::upgraded, Action::none) : std::pair(State::returning, Action::go_back);
    case State::refusing:
      return {State::refused, Action::none};
    case State::returning:
      return {is_well ? State::returned : State::stranded, Action::none};
    default:
      return {state, Action::none};
  }
}

}  // namespace

Action Upgrade::begin() {
  DROVER_CHECK(state_ == State::idle);
  state_ = State::proving;
  return Action::prove;
}

Action Upgrade::done(bool is_well) {
  DROVER_CHECK(state_ != State::idle && !is_over());
  const auto [next, action] = after(state_, is_well);
  state_ = next;
  return action;
}

std::string_view to_string(State state) {
  static constexpr std::string_view kNames[] = {"idle",       "proving",  "draining",  "releasing",
                                                "recovering", "refusing", "returning", "upgraded",
                                                "refused",    "returned", "stranded"};
  return kNames[static_cast<size_t>(state)];
}

}  // namespace drover::plugin_programs
