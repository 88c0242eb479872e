#include "places.h"

#include <strings.h>

#include <algorithm>

#include "../settings.h"
#include "csi/v1/csi.pb.h"

namespace drover::hostpath {

bool is_here(const Settings& settings, const csi::v1::Topology& place) {
  return std::ranges::all_of(place.segments(), [&](const auto& wanted) {
    return std::ranges::any_of(settings.topology, [&](const auto& own) {
      return ::strcasecmp(own.first.c_str(), wanted.first.c_str()) == 0 && own.second == wanted.second;
    });
  });
}

Status check_place(const Settings& settings, const csi::v1::TopologyRequirement& wanted) {
  const auto& places = wanted.requisite().empty() ? wanted.preferred() : wanted.requisite();
  if (places.empty()) return {};
  if (settings.topology.empty())
    return invalid_argument("accessibility_requirements: the plugin was started without a topology");
  if (wanted.requisite().empty()) return {};  // what is only preferred binds nobody
  if (std::ranges::any_of(places, [&](const auto& place) { return is_here(settings, place); })) return {};
  return resource_exhausted(
      "accessibility_requirements: volumes are made in this plugin's own place, which is none of these");
}

}  // namespace drover::hostpath
