#include "task_start.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "isolation/root_folder.h"
#include "isolation/root_plan.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool is_executable(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<std::string> find_program(const std::string& program, const std::string& task_folder,
                                 const std::string& search_path) {
  if (program.starts_with('/')) return program;
  for (const std::string& path : {task_folder + "/local/" + program, task_folder + "/" + program}) {
    if (is_executable(path)) return path;
  }
  std::string_view rest = search_path.empty() ? kDefaultPath : std::string_view(search_path);
  const std::string_view all = rest;
  while (!rest.empty() && program.find('/') == std::string::npos) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const std::string path = std::string(rest.substr(0, end)) + "/" + program;
    if (path.starts_with('/') && is_executable(path)) return path;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return invalid_argument("exec " + program + ": not found in the path " + std::string(all) +
                          ", nor in the task's folder " + task_folder);
}

namespace {

// Finds program, directory and user on this machine.
Status place(const driver::TaskConfig& config, const ProcessDriver::Command& command, const std::string& search_path,
             Launcher::Start& start) {
  DROVER_TRY(start.program, find_program(command.program, task_folder(config), search_path));
  start.directory = command.directory.empty() ? task_folder(config) : command.directory;
  const std::string& user = command.user.empty() ? config.user() : command.user;
  if (!user.empty()) {
    DROVER_TRY(start.user, find_user(user));
  }
  return ok_status();
}

// The same inside of the task's folder.
Status place_inside(const driver::TaskConfig& config, const ProcessDriver::Command& command, Launcher::Start& start) {
  DROVER_TRY(const RootFolder root, RootFolder::open(task_folder(config), shown_in(config)));
  DROVER_TRY(start.program, root.find_program(command.program));
  start.directory = command.directory.empty() ? "/" : command.directory;
  const std::string& user = command.user.empty() ? config.user() : command.user;
  if (user.empty()) return ok_status();
  DROVER_TRY(start.user, root.find_user(user));
  return root.give_secrets(*start.user);
}

}  // namespace

Result<Launcher::Start> start_of(const driver::TaskConfig& config, const ProcessDriver::Command& command,
                                 bool is_rooted) {
  const auto holds_zero = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (holds_zero(command.program) || std::ranges::any_of(command.arguments, holds_zero))
    return invalid_argument("a command and its arguments must not hold a zero byte");
  std::map<std::string, std::string> environment(config.env().begin(), config.env().end());
  for (const auto& [name, value] : config.device_env()) environment[name] = value;
  for (const auto& [name, value] : command.environment) environment[name] = value;
  if (environment["PATH"].empty()) environment.erase("PATH");

  Launcher::Start start{.id = config.id()};
  const auto path = environment.find("PATH");
  DROVER_RETURN_IF_ERROR(is_rooted ? place_inside(config, command, start)
                                   : place(config, command, path == environment.end() ? "" : path->second, start));
  start.arguments.push_back(command.program);
  start.arguments.insert(start.arguments.end(), command.arguments.begin(), command.arguments.end());
  for (const auto& [name, value] : environment) start.environment.push_back(name + "=" + value);
  return start;
}

}  // namespace drover
