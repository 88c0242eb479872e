#include "command.h"

#include <sys/stat.h>
#include <unistd.h>

namespace drover::raw_exec {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool is_executable(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<Command> read_command(TaskOptions options) {
  Command command{.program = options.text("command"), .arguments = options.text_list("args")};
  DROVER_RETURN_IF_ERROR(options.finish());
  if (command.program.empty()) return invalid_argument("config option \"command\" is missing");
  return command;
}

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

}  // namespace drover::raw_exec
