#include "topology.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

namespace drover::plugin_programs {
namespace {

namespace fs = std::filesystem;
namespace base = hashicorp::nomad::plugins::base::proto;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<uint64_t> number_of(const fs::path& path) {
  const std::string text = text_of(path);
  uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return {};
  return value;
}

// The numbers N of the entries PREFIX<N> of a folder, in order.
std::set<uint32_t> numbered(const fs::path& folder, std::string_view prefix) {
  std::set<uint32_t> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    uint32_t value = 0;
    const char* end = name.data() + name.size();
    const auto [at, error] = std::from_chars(name.data() + prefix.size(), end, value);
    if (error == std::errc() && at == end) out.insert(value);
  }
  return out;
}

// MHz of the first core that says so.
uint64_t speed_now(const fs::path& cpuinfo) {
  std::ifstream file(cpuinfo);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("cpu MHz")) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos) return static_cast<uint64_t>(std::max(0.0, std::atof(line.c_str() + colon + 1)));
  }
  return 0;
}

}  // namespace

base::ClientTopology read_topology(const std::string& root) {
  base::ClientTopology out;
  const fs::path nodes_folder = root + "/sys/devices/system/node", cpus_folder = root + "/sys/devices/system/cpu";
  std::set<uint32_t> nodes = numbered(nodes_folder, "node");
  if (nodes.empty()) nodes.insert(0);
  out.mutable_distances()->set_dimension(static_cast<uint32_t>(nodes.size()));
  for (const uint32_t node : nodes) {
    out.add_node_ids(node);
    std::istringstream distances(text_of(nodes_folder / ("node" + std::to_string(node)) / "distance"));
    std::vector<uint32_t> row(std::istream_iterator<uint32_t>(distances), {});
    if (row.size() != nodes.size()) row.assign(nodes.size(), 10);  // 10 is "here"
    for (const uint32_t distance : row) out.mutable_distances()->add_values(distance);
  }
  const uint64_t now = speed_now(root + "/proc/cpuinfo");
  std::set<uint32_t> cpus = numbered(cpus_folder, "cpu");
  if (cpus.empty()) cpus.insert(0);
  for (const uint32_t cpu : cpus) {
    const fs::path folder = cpus_folder / ("cpu" + std::to_string(cpu));
    if (number_of(folder / "online").value_or(1) == 0) continue;
    base::ClientTopologyCore& core = *out.add_cores();
    core.set_core_id(cpu);
    core.set_socket_id(static_cast<uint32_t>(number_of(folder / "topology/physical_package_id").value_or(0)));
    const std::set<uint32_t> own = numbered(folder, "node");
    core.set_node_id(own.empty() ? *nodes.begin() : *own.begin());
    core.set_base_speed(number_of(folder / "cpufreq/base_frequency").value_or(0) / 1000);
    core.set_max_speed(number_of(folder / "cpufreq/cpuinfo_max_freq").value_or(0) / 1000);
    core.set_guess_speed(now);
  }
  return out;
}

}  // namespace drover::plugin_programs
