#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "create/parts.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::docker {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kDefaultPeriod = 100'000;

bool parse_number(std::string_view text, int64_t& out) {
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  return read.ec == std::errc() && read.ptr == end;
}

Result<Json> ulimit(const std::string& name, const std::string& value) {
  if (value.empty()) return invalid_argument("Malformed ulimit specification " + name + ": \"\", cannot be empty");
  const size_t colon = value.find(':');
  int64_t soft = 0, hard = 0;
  if (!parse_number(std::string_view(value).substr(0, colon), soft))
    return invalid_argument("Malformed soft ulimit " + name + ": " + value);
  hard = soft;
  if (colon != std::string::npos && !parse_number(std::string_view(value).substr(colon + 1), hard))
    return invalid_argument("Malformed hard ulimit " + name + ": " + value);
  return Json{{"Name", name}, {"Soft", soft}, {"Hard", hard}};
}

void add_memory(const BodyInput& input, Json& host) {
  const auto& given = input.task.resources().allocated_resources().memory();
  const int64_t soft =
      given.memory_mb() > 0 ? given.memory_mb() * kMiB : input.task.resources().linux_resources().memory_limit_bytes();
  const int64_t hard = std::max(input.options.memory_hard_limit_mb, given.memory_max_mb()) * kMiB;
  const int64_t limit = hard > 0 ? hard : soft;
  if (limit <= 0) return;
  host["Memory"] = limit;
  if (hard > 0) host["MemoryReservation"] = soft;
  host["MemorySwap"] = limit;  // none beside it
  if (input.engine.cgroup_version == 1) host["MemorySwappiness"] = 0;
}

void add_cpu(const BodyInput& input, Json& host) {
  const auto& given = input.task.resources().linux_resources();
  if (given.cpu_shares() > 0) host["CpuShares"] = std::max<int64_t>(given.cpu_shares(), 2);  // the kernel's least
  for (const std::string* cores : {&input.options.cpuset_cpus, &given.cpuset_cpus(), &input.shared_cores}) {
    if (cores->empty()) continue;
    host["CpusetCpus"] = *cores;
    break;
  }
  if (!input.options.cpu_hard_limit) return;
  const int64_t period = input.options.cpu_cfs_period > 0 ? input.options.cpu_cfs_period : kDefaultPeriod;
  host["CpuPeriod"] = period;
  host["CpuQuota"] = static_cast<int64_t>(given.percentticks() * static_cast<double>(period)) * input.cores;
}

}  // namespace

Status add_limits(const BodyInput& input, Json& host) {
  add_memory(input, host);
  add_cpu(input, host);
  const int64_t most = input.plugin.pids_limit, wanted = input.options.pids_limit;
  if (most > 0 && wanted > most)
    return invalid_argument("pids_limit cannot be greater than nomad plugin config pids_limit: " +
                            std::to_string(most));
  if (wanted > 0 || most > 0) host["PidsLimit"] = wanted > 0 ? wanted : most;
  if (input.options.shm_size > 0) host["ShmSize"] = input.options.shm_size;
  Json limits = Json::array();
  for (const auto& [name, value] : input.options.ulimit) {
    DROVER_TRY(Json limit, ulimit(name, value));
    limits.push_back(std::move(limit));
  }
  if (!limits.empty()) host["Ulimits"] = std::move(limits);
  return ok_status();
}

}  // namespace drover::docker
