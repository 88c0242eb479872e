// The error of calls to an agent that is stopping: told apart by callers who would otherwise complain. [any]
#pragma once

#include "drover/result.h"

namespace drover {

inline constexpr std::string_view kStopping = "this agent is stopping";

// unavailable: another agent may answer.
inline Status agent_is_stopping() { return unavailable(std::string(kStopping)); }
inline bool is_agent_stopping(const Status& status) {
  return status.code() == Code::unavailable && status.message() == kStopping;
}

}  // namespace drover
