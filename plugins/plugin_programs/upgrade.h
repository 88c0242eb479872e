// How another version of a plugin takes over from the one that runs. A pure state machine: how each step went goes in,
// the next step comes out; each is carried out to its end, or to its deadline, before the next.
//
//   idle ──begin──▶ proving ──ok──▶ draining ──ok──▶ releasing ──▶ recovering ──ok──▶ upgraded
//                      │ failed        │ failed                        │ failed
//                      ▼               ▼                               ▼
//                   refusing ◀─────────┘                           returning ──ok──▶ returned
//                      │                                               │ failed
//                      ▼                                               ▼
//                   refused                                        stranded
//
//   proving     the new version runs beside the old one and says what it can do; it is given no task
//   draining    new calls wait, and those that may not be repeated come to their end
//   releasing   the old version's process ends; tasks go on, for they are not its children to end
//   recovering  the new version is given every task, and must find it
//   returning   the new version's process ends, the old version is started and given every task
//
// Calls wait from draining to the end; what is over by then is in order again, or (stranded) under the supervisor of
// the old version, which goes on trying.
#pragma once

#include <cstdint>
#include <string_view>

namespace drover::plugin_programs {

class Upgrade {
 public:
  enum class State : uint8_t {
    idle,
    proving,
    draining,
    releasing,
    recovering,
    refusing,
    returning,
    upgraded,
    refused,
    returned,
    stranded
  };
  // The next step, until it is done() or has failed. The names are those of the states in which they happen.
  enum class Action : uint8_t { none, prove, drain, release, recover, refuse, go_back };

  State state() const { return state_; }
  bool is_over() const { return state_ >= State::upgraded; }

  // Requires: idle.
  Action begin();
  // The action that was asked for has come to its end. Requires: one was.
  Action done(bool is_well);

 private:
  State state_ = State::idle;
};

std::string_view to_string(Upgrade::State state);

}  // namespace drover::plugin_programs
