#include "create/capabilities.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "drover/isolation.h"

namespace drover::docker {
namespace {

using Names = std::set<std::string>;

constexpr const char* kAll = "all";

std::string normal(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name.starts_with("cap_")) name.erase(0, 4);
  return name;
}

Names names_of(const std::vector<std::string>& names) {
  Names out;
  for (const std::string& name : names) out.insert(normal(name));
  return out;
}

Names engine_defaults() {
  Names names = names_of(default_allowed_capabilities());
  names.insert("net_raw");
  return names;
}

std::string joined(const Names& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

Result<CapabilityChange> capability_change(const std::vector<std::string>& allowed, const std::vector<std::string>& add,
                                           const std::vector<std::string>& drop) {
  const Names may = names_of(allowed), wanted = names_of(add), unwanted = names_of(drop);
  const bool may_all = may.contains(kAll);
  Names refused;
  for (const std::string& name : wanted) {
    if (!may_all && !may.contains(name)) refused.insert(name);
  }
  if (!refused.empty()) return invalid_argument("driver does not allow the following capabilities: " + joined(refused));

  Names drops = unwanted;
  for (const std::string& name : engine_defaults()) {
    if (!may_all && !may.contains(name)) drops.insert(name);
  }
  if (unwanted.contains(kAll)) drops = {kAll};
  for (const std::string& name : wanted) drops.erase(name);
  if (wanted.contains(kAll)) drops.erase(kAll);
  return CapabilityChange{.add = {wanted.begin(), wanted.end()}, .drop = {drops.begin(), drops.end()}};
}

}  // namespace drover::docker
