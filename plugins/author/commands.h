// The author's commands.
#pragma once

#include "drover/command.h"

namespace drover::author {

// `plugin new KIND NAME`: writes a project that builds outside of this tree and passes its tests.
class NewCommand final : public Command {
 public:
  std::string name() const override { return "plugin new"; }
  std::string synopsis() const override { return "Write the project of a new plugin"; }
  std::string help() const override;
  int run(std::span<const std::string> arguments, CommandHost& host) override;
};

// `plugin test FILE`: the conformance kit; with `-kind csi` that for storage plugins, in this process's place. Exit code 0: nothing failed; 1: something did; 2: nothing could be tested.
class TestCommand final : public Command {
 public:
  std::string name() const override { return "plugin test"; }
  std::string synopsis() const override { return "Test a plugin against what its kind promises"; }
  std::string help() const override;
  int run(std::span<const std::string> arguments, CommandHost& host) override;
};

// `plugin run FILE`: starts a plugin alone and calls its methods as the lines of standard input say.
class RunCommand final : public Command {
 public:
  std::string name() const override { return "plugin run"; }
  std::string synopsis() const override { return "Start a plugin alone and call its methods"; }
  std::string help() const override;
  int run(std::span<const std::string> arguments, CommandHost& host) override;
};

// `plugin serve FILE.so`: a plugin made for the agent's process, as a program under a host. The other two start it.
class ServeCommand final : public Command {
 public:
  std::string name() const override { return "plugin serve"; }
  std::string synopsis() const override { return "Serve a shared object as a program (started by test and run)"; }
  std::string help() const override;
  int run(std::span<const std::string> arguments, CommandHost& host) override;
};

}  // namespace drover::author
