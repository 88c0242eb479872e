// The plugin about itself: its name, and what it can do.
#include <google/protobuf/util/message_differencer.h>

#include "../trial.h"
#include "catalogue.h"

namespace drover::csi_kit {
namespace {

using google::protobuf::util::MessageDifferencer;

// Asked twice, it says the same.
template <typename Request>
Status says_the_same(Trial& t) {
  DROVER_TRY(const auto first, t.ask(Request()));
  DROVER_TRY(const auto second, t.ask(Request()));
  return expect(MessageDifferencer::Equals(first, second), "the second answer is another one");
}

const Check kChecks[] = {
    {"identity.name", "GetPluginInfo tells a name",
     "name: at most 63 characters in domain style: letters, digits, '-' and '.', alphanumeric at both ends",
     Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto info, t.ask(v1::GetPluginInfoRequest()));
       return contract::plugin_name(info);
     }},
    {"identity.version", "GetPluginInfo tells the vendor's version", "vendor_version is required", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto info, t.ask(v1::GetPluginInfoRequest()));
       return expect(!info.vendor_version().empty(), "vendor_version is empty");
     }},
    {"identity.same-info", "GetPluginInfo says the same again", "the name of a plugin never changes", Check::nothing,
     says_the_same<v1::GetPluginInfoRequest>},
    {"identity.capabilities", "GetPluginCapabilities lists each capability once",
     "a capability has a type; UNKNOWN is none", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto answer, t.ask(v1::GetPluginCapabilitiesRequest()));
       return contract::capabilities(answer);
     }},
    {"identity.same-capabilities", "GetPluginCapabilities says the same again",
     "all instances of one version give the same answer", Check::nothing,
     says_the_same<v1::GetPluginCapabilitiesRequest>},
    {"identity.ready", "Probe says that the plugin is ready", "an absent `ready` means ready; false: ask again later",
     Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto answer, t.ask(v1::ProbeRequest()));
       return expect(!answer.has_ready() || answer.ready().value(), "it was ready before, and is no longer");
     }},
    {"identity.serves", "the plugin serves a controller or a node", "a plugin has Identity and at least one of both",
     Check::nothing,
     [](Trial& t) -> Status {
       const bool controls = t.ask(v1::ControllerGetCapabilitiesRequest()).ok();
       return expect(controls || t.ask(v1::NodeGetCapabilitiesRequest()).ok(), "it serves neither");
     }},
    {"identity.says-controller", "a plugin whose controller answers has CONTROLLER_SERVICE",
     "a host calls the controller of a plugin only if it says CONTROLLER_SERVICE", Check::controller,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto answer, t.ask(v1::GetPluginCapabilitiesRequest()));
       for (const auto& each : answer.capabilities()) {
         if (each.service().type() == v1::PluginCapability::Service::CONTROLLER_SERVICE) return {};
       }
       return expect(false, "CONTROLLER_SERVICE is not among its capabilities");
     }},
};

}  // namespace

std::span<const Check> identity_checks() { return kChecks; }

}  // namespace drover::csi_kit
