// A subcommand of the drover program. Commands are listed in their plugin's manifest and run without an agent around.
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drover {

// What a command may use beside its arguments.
class CommandHost {
 public:
  virtual ~CommandHost() = default;
  virtual std::ostream& out() = 0;
  virtual std::ostream& err() = 0;
  virtual std::istream& in() = 0;
  // Extensions of the plugins loaded for this command; null when missing.
  virtual void* find_extension(std::string_view point, std::string_view name) const = 0;
  // Every command of every plugin: full name and synopsis, for help and completion.
  virtual std::vector<std::pair<std::string, std::string>> commands() const = 0;
  virtual std::string version() const = 0;
};

class Command {
 public:
  static constexpr std::string_view kExtensionPoint = "command";
  virtual ~Command() = default;
  virtual std::string name() const = 0;      // "job run"
  virtual std::string synopsis() const = 0;  // one line
  virtual std::string help() const = 0;      // usage, description, options
  // Returns the exit code.
  virtual int run(std::span<const std::string> arguments, CommandHost& host) = 0;
};

}  // namespace drover
