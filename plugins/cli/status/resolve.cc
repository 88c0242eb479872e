#include "resolve.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace drover::cli {
namespace {

struct ObjectKind {
  std::string_view context;
  std::string_view title;
  std::string_view command;
};

// Variables are not among them: their command shows secrets.
constexpr std::array kKinds = {
    ObjectKind{"jobs", "Jobs", "job status"},
    ObjectKind{"allocs", "Allocations", "alloc status"},
    ObjectKind{"nodes", "Nodes", "node status"},
    ObjectKind{"evals", "Evaluations", "eval status"},
    ObjectKind{"deployment", "Deployments", "deployment status"},
    ObjectKind{"volumes", "Volumes", "volume status"},
    ObjectKind{"host_volumes", "Host Volumes", "volume status"},
    ObjectKind{"plugins", "Plugins", "plugin status"},
    ObjectKind{"node_pools", "Node Pools", "node pool info"},
    ObjectKind{"namespaces", "Namespaces", "namespace status"},
    ObjectKind{"scaling_policy", "Scaling Policies", "scaling policy info"},
};

struct Group {
  const ObjectKind* kind;
  std::vector<std::string> ids;
};

std::string list_of(const std::vector<Group>& found) {
  std::string text;
  for (const Group& each : found) {
    text += "\n\n" + std::string(each.kind->title) + ":";
    for (const std::string& id : each.ids) text += "\n  " + id;
  }
  return text;
}

}  // namespace

Result<Meant> meant_by(const std::string& typed, const std::map<std::string, std::vector<std::string>>& matches) {
  std::vector<Group> exact, all;
  for (const ObjectKind& kind : kKinds) {
    const auto at = matches.find(std::string(kind.context));
    if (at == matches.end() || at->second.empty()) continue;
    all.push_back({&kind, at->second});
    if (std::ranges::find(at->second, typed) != at->second.end()) exact.push_back({&kind, {typed}});
  }
  if (all.empty()) return not_found("No object with the prefix or ID \"" + typed + "\" found");
  const std::vector<Group>& found = exact.empty() ? all : exact;
  if (found.size() > 1)
    return invalid_argument("Objects of several kinds begin with \"" + typed + "\"" + list_of(found) +
                            "\n\nAsk the command of one kind, such as 'drover " +
                            std::string(found.front().kind->command) + "'.");
  const bool is_one = found.front().ids.size() == 1;
  return Meant{std::string(found.front().kind->command), is_one ? found.front().ids.front() : typed};
}

}  // namespace drover::cli
