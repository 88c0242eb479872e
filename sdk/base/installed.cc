#include "drover/installed.h"

#include <dlfcn.h>

#include <filesystem>

namespace drover {

// lib/libdrover_base.so → lib/drover/NAME, or bin/drover → lib/drover/NAME.
std::string installed_program(std::string_view name) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&installed_program), &info) == 0 || !info.dli_fname) return {};
  std::error_code error;
  const std::filesystem::path library = info.dli_fname;
  const std::filesystem::path beside = library.parent_path() / "drover" / name;
  if (std::filesystem::exists(beside, error)) return beside;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path of_agent = program.parent_path() / "../lib/drover" / name;
  return !error && std::filesystem::exists(of_agent, error) ? of_agent : beside;
}

}  // namespace drover
