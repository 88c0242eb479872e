#include "qemu_options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "drover/process_driver.h"

namespace drover::qemu {
namespace {

constexpr std::array<std::string_view, 8> kInterfaces = {"ide",    "scsi",   "sd",     "mtd",
                                                         "floppy", "pflash", "virtio", "none"};
// Options of qemu that take no value.
constexpr std::array<std::string_view, 33> kWithoutValue = {"S",
                                                            "async-teardown",
                                                            "audio-help",
                                                            "curses",
                                                            "daemonize",
                                                            "enable-kvm",
                                                            "enable-sync-profile",
                                                            "full-screen",
                                                            "h",
                                                            "help",
                                                            "mem-prealloc",
                                                            "no-acpi",
                                                            "no-fd-bootchk",
                                                            "no-hpet",
                                                            "no-quit",
                                                            "no-reboot",
                                                            "no-shutdown",
                                                            "no-user-config",
                                                            "nodefaults",
                                                            "nodefconfig",
                                                            "nographic",
                                                            "only-migratable",
                                                            "portrait",
                                                            "preconfig",
                                                            "s",
                                                            "sdl",
                                                            "singlestep",
                                                            "snapshot",
                                                            "usb",
                                                            "version",
                                                            "win2k-hack",
                                                            "xen-attach",
                                                            "xen-domid-restrict"};

std::string_view without_blanks(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of(" \t\r\n"), word.size()));
}

// qemu takes one dash or two.
bool takes_value(std::string_view option) {
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  return std::ranges::find(kWithoutValue, option) == kWithoutValue.end();
}

}  // namespace

Result<Options> read_options(TaskOptions& raw) {
  Options options{.image_paths = raw.text_list("image_paths"), .args_allowlist = raw.text_list("args_allowlist")};
  DROVER_TRY(options.launcher, read_launcher_option(raw));
  DROVER_RETURN_IF_ERROR(raw.finish());
  for (const std::string& path : options.image_paths) {
    if (!path.starts_with('/'))
      return invalid_argument("config option \"image_paths\" must hold absolute paths, \"" + path + "\" is none");
  }
  return options;
}

Result<QemuTask> read_task(TaskOptions& raw) {
  QemuTask task;
  task.image_path = raw.text("image_path");
  task.drive_interface = raw.text("drive_interface", task.drive_interface);
  task.accelerator = raw.text("accelerator");
  if (task.accelerator.empty()) task.accelerator = QemuTask().accelerator;
  task.has_graceful_shutdown = raw.boolean("graceful_shutdown");
  task.has_guest_agent = raw.boolean("guest_agent");
  task.arguments = raw.text_list("args");
  task.port_map = raw.integer_map("port_map");
  DROVER_RETURN_IF_ERROR(raw.finish().with_context("failed to decode driver config"));
  if (task.image_path.empty()) return invalid_argument("image_path must be set");
  if (std::ranges::find(kInterfaces, task.drive_interface) == kInterfaces.end())
    return invalid_argument("Unsupported drive_interface");
  return task;
}

Status check_arguments(const std::vector<std::string>& arguments, const std::vector<std::string>& allowlist) {
  if (allowlist.empty()) return ok_status();
  bool may_be_value = false;
  for (const std::string& word : arguments) {
    const bool is_option = without_blanks(word).starts_with('-');
    if (is_option && std::ranges::find(allowlist, word) == allowlist.end())
      return invalid_argument("\"" + word + "\" is not in args_allowlist");
    if (!is_option && !may_be_value)
      return invalid_argument("\"" + word +
                              "\" in args is no option's value, and args_allowlist allows no other drives");
    may_be_value = is_option && takes_value(word);
  }
  return ok_status();
}

}  // namespace drover::qemu
