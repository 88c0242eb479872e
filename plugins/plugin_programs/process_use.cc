#include "process_use.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "drover/process.h"

namespace drover::plugin_programs {

ProcessUse process_use(pid_t pid) {
  const auto stat = process_stat(pid);
  if (!stat) return {};
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const int64_t tick_ns = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  return {.memory = stat->resident_pages * page,
          .cpu_ns = static_cast<int64_t>(stat->user_ticks + stat->system_ticks) * tick_ns};
}

uint64_t open_descriptors(pid_t pid) {
  uint64_t count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/" + std::to_string(pid) + "/fd", error), end; !error && at != end;
       at.increment(error))
    ++count;
  return count;
}

uint64_t descriptor_limit(pid_t pid) {
  constexpr std::string_view kName = "Max open files";
  std::ifstream in("/proc/" + std::to_string(pid) + "/limits");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(kName)) return std::strtoull(line.c_str() + kName.size(), nullptr, 10);
  }
  return 0;
}

}  // namespace drover::plugin_programs
