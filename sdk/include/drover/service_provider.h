// A service provider: publishes the service instances of a node where others look for them, a registry, DNS, a file.
//
//              describe, configure        sync: all instances of the node, again and again
//   (made) ──────────────▶ ready ◀──────────────────────────── the host, at each change and every sync_every
//                            │ ───▶ the instances that could not be published, and why
//                            └──stop──▶ (nothing is called any more, and what is published stays)
//
// The messages are those of drover/v1/service_provider.proto. One sync() at a time for one node; those of different
// nodes come in parallel, from any thread, where one provider serves several. It is level-triggered: each request is
// the whole truth about its node, and a provider remembers none. It finds what it published for the node before by
// looking where it publishes, marked with the node's identifier, never by remembering: it may die and be started anew
// at any time, in the middle of a sync, too. The host then syncs again.
//
// Errors: those of single instances are in the answer. An error of the call says that nothing can be said about any of
// them (the registry cannot be reached); the host tries again, and shows the text. invalid_argument for a request that
// no later try can satisfy.
#pragma once

#include <chrono>
#include <stop_token>
#include <string_view>

#include "drover/configurable.h"
#include "drover/plugin_kind.h"

namespace drover::v1 {
class SyncServicesRequest;
class SyncServicesResponse;
}  // namespace drover::v1

namespace drover {

class ServiceProvider : public Configurable {
 public:
  static constexpr PluginKind kKind{.type = 1002,
                                    .point = "service_provider",
                                    .word = "service",
                                    .name = "service provider",
                                    .protocol = "drover/v1/service_provider.proto"};
  static constexpr std::string_view kExtensionPoint = kKind.point;

  // How often the host repeats a sync where nothing has changed, for what others have changed: at least a second.
  // Asked for before configure(); of a provider inside the agent, after each sync too.
  virtual std::chrono::nanoseconds sync_every() const { return std::chrono::seconds(30); }

  // Publishes these instances of the node as they are now, and takes out every other one of the same node; what belongs
  // to other nodes, or to nobody here, is left alone. Idempotent: with the same request nothing changes, and no reader
  // sees an instance vanish that stays. An instance is to be found when it is PASSING or WARNING; one that is CRITICAL
  // stays published as such where the registry knows the difference, and is taken out where it does not. None at all:
  // the node publishes nothing any more. An instance that cannot be published does not keep others from it.
  // `stop` is requested when nobody waits any more, at the latest after 30 seconds: return soon then.
  virtual Result<v1::SyncServicesResponse> sync(const v1::SyncServicesRequest& request, std::stop_token stop) = 0;
};

}  // namespace drover
