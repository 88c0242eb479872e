// drover operator client-state: what a stopped node's agent keeps on its disk. No agent is asked; nothing is changed.
#pragma once

#include "drover/command.h"

namespace drover::agent {

class ClientStateCommand final : public Command {
 public:
  std::string name() const override { return "operator client-state"; }
  std::string synopsis() const override { return "Shows what a stopped node keeps on its disk, as JSON."; }
  std::string help() const override;
  int run(std::span<const std::string> arguments, CommandHost& host) override;
};

}  // namespace drover::agent
