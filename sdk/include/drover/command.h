// A subcommand of the drover program. Commands are listed in their plugin's manifest and run without an agent around.
#pragma once

#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/manifest.h"
#include "drover/plugin.h"
#include "drover/result.h"

namespace drover {

// A plugin's file that was installed for the agent to load, and what the checks before loading say of it.
struct InstalledPlugin {
  Manifest manifest;
  std::string file;
  Status verdict;
};

// The means that a command has beside its arguments.
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
  // The plugins installed beside this program and in `folders`, checked as an agent would, but not loaded here. Files
  // that cannot be told become `problems`.
  virtual std::vector<InstalledPlugin> installed(const std::vector<std::string>& folders,
                                                 std::vector<Status>& problems) const {
    (void)folders, (void)problems;
    return {};
  }
  // A plugin's file, with its manifest beside it, checked as an agent would and loaded into this process for good, for
  // tools that try one out. Nothing is declared or started. Errors: those of the checks.
  virtual Result<std::unique_ptr<Plugin>> load_plugin(const std::string& file) {
    return unimplemented("this host of commands loads no plugin: " + file);
  }
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
