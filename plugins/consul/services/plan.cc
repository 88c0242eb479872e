#include "services/plan.h"

#include <algorithm>
#include <set>

namespace drover::consul {
namespace {

using Kind = Operation::Kind;

std::set<std::string> as_set(const std::vector<std::string>& tags) { return {tags.begin(), tags.end()}; }

// Consul adds these to every service.
bool is_automatic(const std::string& name) {
  return name == "lan" || name == "wan" || name == "lan_ipv4" || name == "wan_ipv4" || name == "lan_ipv6" ||
         name == "wan_ipv6";
}

bool has_same_addresses(const KnownService& wanted, const KnownService& known) {
  auto rest = known.tagged_addresses;
  std::erase_if(rest, [&](const auto& row) {
    return is_automatic(row.first) && !wanted.tagged_addresses.contains(row.first);
  });
  return rest == wanted.tagged_addresses;
}

bool is_same(const KnownService& wanted, const KnownService& known, const std::vector<std::string>& tags) {
  return wanted.name == known.name && wanted.kind == known.kind && wanted.address == known.address &&
         wanted.port == known.port && wanted.meta == known.meta && wanted.has_tag_override == known.has_tag_override &&
         wanted.passing_weight == known.passing_weight && wanted.warning_weight == known.warning_weight &&
         as_set(tags) == as_set(known.tags) && has_same_addresses(wanted, known);
}

// The tags that the service shall have: those in Consul where others may change them and the job still says the same.
const std::vector<std::string>& tags_for(const KnownService& wanted, const KnownService* known,
                                         const Remembered& before) {
  if (!wanted.has_tag_override || !known) return wanted.tags;
  const auto at = before.tags.find(wanted.id);
  const bool is_told_anew = at != before.tags.end() && as_set(at->second) != as_set(wanted.tags);
  return is_told_anew ? wanted.tags : known->tags;
}

}  // namespace

bool is_own(const KnownService& service, const std::string& node_id) {
  if (!service.id.starts_with(kServicePrefix) || service.id.ends_with("-sidecar-proxy")) return false;
  const auto at = service.meta.find(kNodeMeta);
  return at != service.meta.end() && at->second == node_id;
}

std::vector<Operation> plan(const Wanted& wanted, const Known& known, const Remembered& before) {
  std::vector<Operation> out;
  for (const auto& [id, service] : known.services) {
    if (!is_own(service, wanted.node_id) || wanted.services.contains(id)) continue;
    if (!before.is_young || before.tags.contains(id))
      out.push_back({.kind = Kind::deregister_service, .id = id, .service = id, .body = ""});
  }
  std::set<std::string> registered;  // with their checks
  for (const auto& [id, want] : wanted.services) {
    const auto at = known.services.find(id);
    const KnownService* there = at == known.services.end() ? nullptr : &at->second;
    const std::vector<std::string>& tags = tags_for(want.service, there, before);
    if (there && is_same(want.service, *there, tags)) continue;
    registered.insert(id);
    out.push_back({.kind = Kind::register_service, .id = id, .service = id, .body = registration_of(want, tags)});
  }
  for (const auto& [id, check] : known.checks) {
    const auto of = wanted.services.find(check.service_id);
    if (!id.starts_with(kCheckPrefix) || of == wanted.services.end() || of->second.checks.contains(id)) continue;
    out.push_back({.kind = Kind::deregister_check, .id = id, .service = check.service_id, .body = ""});
  }
  for (const auto& [service, want] : wanted.services) {
    if (registered.contains(service)) continue;
    for (const auto& [id, check] : want.checks) {
      if (!known.checks.contains(id))
        out.push_back({.kind = Kind::register_check, .id = id, .service = service, .body = check.body});
    }
  }
  return out;
}

}  // namespace drover::consul
