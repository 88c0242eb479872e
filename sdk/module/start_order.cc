#include "drover/start_order.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace drover {
namespace {

constexpr std::string_view kKind = "kind:", kAll = ".*";

// It asks for all plugins of a kind, or for all that provide a capability which begins so.
bool names_several(const Requirement& requirement) {
  return requirement.capability.starts_with(kKind) || requirement.capability.ends_with(kAll);
}

bool is_meant(const Requirement& requirement, const Manifest& plugin) {
  const std::string_view wanted = requirement.capability;
  if (wanted.starts_with(kKind)) return plugin.kind == wanted.substr(kKind.size());
  const std::string_view prefix = wanted.substr(0, wanted.size() - 1);  // with its dot
  return std::ranges::any_of(plugin.provides, [&](const std::string& one) { return one.starts_with(prefix); });
}

}  // namespace

Result<std::vector<size_t>> start_order(const std::vector<const Manifest*>& plugins) {
  std::map<std::string, size_t> provider;
  for (size_t i = 0; i < plugins.size(); ++i) {
    for (const std::string& capability : plugins[i]->provides) {
      auto [at, is_new] = provider.emplace(capability, i);
      if (!is_new) {
        return failed_precondition("capability \"" + capability + "\" is provided by plugin " +
                                   plugins[at->second]->name + " and by plugin " + plugins[i]->name +
                                   "; disable one of them");
      }
    }
  }
  std::vector<size_t> by_name(plugins.size());
  for (size_t i = 0; i < by_name.size(); ++i) by_name[i] = i;
  std::ranges::sort(by_name, {}, [&](size_t i) { return plugins[i]->name; });

  enum class Mark { unseen, open, done };
  std::vector<Mark> marks(plugins.size(), Mark::unseen);
  std::vector<size_t> trail;  // the open ones, for naming a cycle
  std::vector<size_t> order;
  std::function<Status(size_t)> visit = [&](size_t i) -> Status {
    if (marks[i] == Mark::done) return ok_status();
    if (marks[i] == Mark::open) {
      std::string cycle;
      for (auto at = std::ranges::find(trail, i); at != trail.end(); ++at) cycle += plugins[*at]->name + " requires ";
      return failed_precondition("plugins require each other in a circle: " + cycle + plugins[i]->name);
    }
    marks[i] = Mark::open;
    trail.push_back(i);
    for (const Requirement& requirement : plugins[i]->requirements) {
      if (names_several(requirement)) {  // whoever there is
        for (size_t other : by_name) {
          if (other != i && is_meant(requirement, *plugins[other])) DROVER_RETURN_IF_ERROR(visit(other));
        }
        continue;
      }
      auto at = provider.find(requirement.capability);
      if (at == provider.end()) {
        if (requirement.optional) continue;
        return failed_precondition("plugin " + plugins[i]->name + " requires \"" + requirement.capability +
                                   "\", which no enabled plugin provides");
      }
      if (at->second != i) DROVER_RETURN_IF_ERROR(visit(at->second));
    }
    trail.pop_back();
    marks[i] = Mark::done;
    order.push_back(i);
    return ok_status();
  };
  for (size_t i : by_name) DROVER_RETURN_IF_ERROR(visit(i));
  return order;
}

}  // namespace drover
