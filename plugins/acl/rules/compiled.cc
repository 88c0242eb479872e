#include "rules/compiled.h"

#include <algorithm>
#include <utility>

#include "drover/options.pb.h"

namespace drover::acl {
namespace {

bool holds(std::optional<Capabilities> rule, Capabilities wanted) {
  return rule && (*rule & kDeny) == 0 && (*rule & wanted) != 0;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  size_t star = std::string_view::npos, tried = 0;  // behind the last "*", and what it stands for ends here
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      tried = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star;
      t = ++tried;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

void Patterns::add(const std::string& pattern, Capabilities capabilities) {
  (pattern.find('*') == std::string::npos ? exact_ : globs_)[pattern] |= capabilities;
}

std::optional<Capabilities> Patterns::exactly(std::string_view name) const {
  const auto at = exact_.find(name);
  return at == exact_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<Capabilities> Patterns::closest(std::string_view name) const {
  std::optional<Capabilities> found;
  std::ptrdiff_t distance = 0;
  for (const auto& [pattern, capabilities] : globs_) {
    if (!matches(pattern, name)) continue;
    const auto this_far = std::ssize(name) - std::ssize(pattern) + std::ranges::count(pattern, '*');
    if (found && this_far > distance) continue;
    found = capabilities;
    distance = this_far;
  }
  return found;
}

std::optional<Capabilities> Patterns::find(std::string_view name) const {
  const auto exact = exactly(name);
  return exact ? exact : closest(name);
}

bool Patterns::any_has(Capabilities wanted) const {
  const auto has = [&](const auto& rule) { return holds(rule.second, wanted); };
  return std::ranges::any_of(exact_, has) || std::ranges::any_of(globs_, has);
}

Compiled::Compiled(const std::vector<PolicyRules>& policies, std::optional<Workload> workload)
    : workload_(std::move(workload)) {
  for (const PolicyRules& policy : policies) {
    for (const auto& [pattern, capabilities] : policy.namespaces) namespaces_.add(pattern, capabilities);
    for (const auto& [pattern, capabilities] : policy.host_volumes) host_volumes_.add(pattern, capabilities);
    for (const auto& [pattern, capabilities] : policy.variables) variables_.add(pattern, capabilities);
    for (const auto& [area, said] : policy.areas) {
      AreaRule& held = areas_[area];
      held.is_denied |= said.is_denied;
      held.grant = std::max(held.grant, said.grant);
    }
  }
}

bool Compiled::may(Access_Capability capability, std::string_view name_space) const {
  const Capabilities wanted = 1u << capability;
  return name_space == "*" ? namespaces_.any_has(wanted) : holds(namespaces_.find(name_space), wanted);
}

bool Compiled::may_see(std::string_view name_space) const { return holds(namespaces_.find(name_space), ~kDeny); }

Grant Compiled::granted(Area area) const {
  const auto at = areas_.find(area);
  return at == areas_.end() || at->second.is_denied ? Grant::none : at->second.grant;
}

bool Compiled::is_own(std::string_view name_space, std::string_view path) const {
  if (!workload_ || name_space != workload_->name_space) return false;
  std::string own = "nomad/jobs";
  if (path == own) return true;
  for (const std::string* part : {&workload_->job, &workload_->group, &workload_->task}) {
    own += "/" + *part;
    if (path == own) return true;
  }
  return false;
}

bool Compiled::may_variable(std::string_view name_space, std::string_view path, Access_VariableRight right) const {
  const Capabilities wanted = 1u << right;
  const std::string key = variable_key(name_space, path);
  if (const auto exact = variables_.exactly(key)) return holds(exact, wanted);
  const bool looks = right == Access::VARIABLE_READ || right == Access::VARIABLE_LIST;
  return (looks && is_own(name_space, path)) || holds(variables_.closest(key), wanted);
}

bool Compiled::may_mount(std::string_view host_volume, bool writes) const {
  return holds(host_volumes_.find(host_volume), writes ? kMountReadWrite : kMountReadOnly | kMountReadWrite);
}

Result<std::shared_ptr<const Permissions>> compile(const std::vector<std::string>& texts,
                                                   std::optional<Workload> workload) {
  std::vector<PolicyRules> policies;
  for (const std::string& text : texts) {
    DROVER_TRY(PolicyRules rules, parse_policy(text));
    policies.push_back(std::move(rules));
  }
  return std::shared_ptr<const Permissions>(std::make_shared<Compiled>(policies, std::move(workload)));
}

}  // namespace drover::acl
