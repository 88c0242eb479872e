#include "debug/captures.h"

#include <algorithm>
#include <array>
#include <ctime>

namespace drover::cli {
namespace {

constexpr std::array kCluster = {
    Capture{"agent-self.json", "/v1/agent/self"},
    Capture{"members.json", "/v1/agent/members"},
    Capture{"leader.json", "/v1/status/leader"},
    Capture{"peers.json", "/v1/status/peers"},
    Capture{"regions.json", "/v1/regions"},
    Capture{"raft-configuration.json", "/v1/operator/raft/configuration"},
    Capture{"autopilot-configuration.json", "/v1/operator/autopilot/configuration"},
    Capture{"scheduler-configuration.json", "/v1/operator/scheduler/configuration"},
    Capture{"namespaces.json", "/v1/namespaces"},
    Capture{"node-pools.json", "/v1/node/pools"},
};

constexpr std::array kInterval = {
    Capture{"metrics.json", "/v1/metrics"},
    Capture{"autopilot-health.json", "/v1/operator/autopilot/health"},
    Capture{"jobs.json", "/v1/jobs"},
    Capture{"allocations.json", "/v1/allocations"},
    Capture{"evaluations.json", "/v1/evaluations"},
    Capture{"deployments.json", "/v1/deployments"},
    Capture{"nodes.json", "/v1/nodes?resources=true"},
    Capture{"services.json", "/v1/services"},
    Capture{"volumes.json", "/v1/volumes?type=csi"},
    Capture{"host-volumes.json", "/v1/volumes?type=host"},
    Capture{"storage-plugins.json", "/v1/plugins?type=csi"},
};

constexpr std::array kProfiles = {Capture{"threads.txt", "goroutine"}, Capture{"heap.txt", "heap"}};

std::vector<std::string> parts_of(std::string_view word) {
  std::vector<std::string> parts;
  while (!word.empty()) {
    const size_t comma = std::min(word.find(','), word.size());
    if (comma > 0) parts.emplace_back(word.substr(0, comma));
    word.remove_prefix(std::min(comma + 1, word.size()));
  }
  return parts;
}

}  // namespace

std::span<const Capture> cluster_captures() { return kCluster; }
std::span<const Capture> interval_captures() { return kInterval; }
std::span<const Capture> profiles() { return kProfiles; }

Result<std::vector<Target>> chosen(const std::vector<Target>& there, std::string_view word, size_t most) {
  std::vector<Target> targets;
  if (word == "all") {
    targets = there;
  } else {
    for (const std::string& part : parts_of(word)) {
      const auto is_meant = [&](const Target& target) { return target.id.starts_with(part) || target.name == part; };
      if (std::ranges::none_of(there, is_meant))
        return not_found("\"" + part + "\" is none of the agents that are there");
      for (const Target& target : there) {
        const bool is_known = std::ranges::find(targets, target.id, &Target::id) != targets.end();
        if (is_meant(target) && !is_known) targets.push_back(target);
      }
    }
  }
  if (most > 0 && targets.size() > most) targets.resize(most);
  return targets;
}

std::string bundle_name(int64_t wall_ns) {
  const auto seconds = static_cast<std::time_t>(wall_ns / 1'000'000'000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "drover-debug-%Y-%m-%d-%H%M%SZ", &utc)};
}

size_t rounds(std::chrono::nanoseconds duration, std::chrono::nanoseconds interval) {
  return 1 + static_cast<size_t>(std::max<int64_t>(0, (duration.count() - 1) / interval.count()));
}

}  // namespace drover::cli
