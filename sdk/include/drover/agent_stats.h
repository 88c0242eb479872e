// A group of figures that a part of the agent shows of itself at /v1/agent/self, under the name by which it is offered:
// "client" and the like. Nomad's clients read texts only, so every value is one.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace drover {

class AgentStats {
 public:
  static constexpr std::string_view kExtensionPoint = "agent_stats";
  virtual ~AgentStats() = default;
  // As of now, between start and stop of the plugin; empty before. Returns at once. [any]
  virtual std::map<std::string, std::string> stats() const = 0;
};

}  // namespace drover
