#include "grants.h"

#include <algorithm>

#include "drover/log.h"
#include "drover/nearest.h"

namespace drover::plugin_programs {
namespace {

constexpr size_t kKeptRefusals = 100;  // different methods
const std::string kOthers = "(others)";

std::string_view bare(std::string_view method) {
  if (method.starts_with('/')) method.remove_prefix(1);
  return method;
}

}  // namespace

Grants::Grants(std::string plugin, const std::vector<std::string>& methods, Metrics& metrics)
    : plugin_(std::move(plugin)), metrics_(metrics) {
  for (const std::string& method : methods) used_.try_emplace(method, 0);
}

Status Grants::admit(std::string_view method) {
  method = bare(method);
  uint64_t refusals = 0;
  {
    const MutexLock lock(mutex_);
    if (const auto found = used_.find(method); found != used_.end()) {
      ++found->second;
      return ok_status();
    }
    auto found = refused_.find(method);
    if (found == refused_.end()) {
      const std::string name(refused_.size() < kKeptRefusals ? method : kOthers);
      found = refused_.try_emplace(name, 0).first;
    }
    refusals = ++found->second;
  }
  metrics_.add("nomad.client.plugin.calls_refused", 1, {{"plugin", plugin_}});
  // The first, and then ever more rarely.
  if ((refusals & (refusals - 1)) == 0)
    log::warn("plugin", "a call of a plugin is refused",
              {{"plugin", plugin_}, {"method", method}, {"times", refusals}});
  return permission_denied("plugin " + plugin_ + " may not call " + std::string(method) +
                           "; the operator grants it with plugin \"" + plugin_ + "\" { grants = [\"" +
                           std::string(method) + "\"] }");
}

Grants::Counts Grants::counts() const {
  const MutexLock lock(mutex_);
  return {.used = {used_.begin(), used_.end()}, .refused = {refused_.begin(), refused_.end()}};
}

Status check_grants(const std::vector<std::string>& grants, const std::vector<std::string>& known) {
  std::vector<std::string_view> methods{kLogMethod};
  for (const std::string& method : known) methods.push_back(bare(method));
  for (const std::string& grant : grants) {
    if (std::ranges::find(methods, grant) != methods.end()) continue;
    const std::string hint = nearest_hint(grant, methods);
    return invalid_argument("grants: there is no method \"" + grant + "\"" + (hint.empty() ? "" : "; " + hint));
  }
  return ok_status();
}

}  // namespace drover::plugin_programs
