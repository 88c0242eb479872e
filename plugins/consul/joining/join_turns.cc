#include "joining/join_turns.h"

namespace drover::consul {

bool JoinTurns::is_due(bool has_leader, bool is_member, SteadyTime now) {
  if (has_leader) {
    not_before_ = now + kPatience;
    return false;
  }
  if (is_member && not_before_ == SteadyTime()) not_before_ = now + kPatience;
  return now >= not_before_;
}

void JoinTurns::found(bool has_joined, double chance, SteadyTime now) {
  not_before_ = now + (has_joined ? std::chrono::duration_cast<std::chrono::nanoseconds>(kPatience)
                                  : std::chrono::duration_cast<std::chrono::nanoseconds>(kRetry * (1 + chance / 2)));
}

}  // namespace drover::consul
