// The event stream: what changes in the cluster, as it happens.
#include <memory>

#include "drover/api/events.pb.h"
#include "drover/config.h"
#include "drover/module.h"
#include "event_streams.h"

namespace drover::events {
namespace {

constexpr int64_t kGroups = 100;
constexpr auto kAliveEvery = std::chrono::seconds(30);

class EventsPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.configuration(
        "server", {.options = {{.name = "enable_event_broker",
                                .type = ConfigType::boolean,
                                .default_text = "true",
                                .help = "Keep the newest events for the event stream."},
                               {.name = "event_buffer_size",
                                .type = ConfigType::integer,
                                .default_text = std::to_string(kGroups),
                                .help = "Log entries with events that are kept.",
                                .min = 0}}}));
    return declare.service("drover.v1.Events", {stream<&EventsPlugin::follow>("Stream", this)});
  }

  Status start(Host& host) override {
    const ConfigBlock* server = host.configuration("server");
    const int64_t groups = server->integer("event_buffer_size", kGroups);
    if (server->boolean("enable_event_broker", true) && groups > 0)
      streams_ = std::make_unique<EventStreams>(host, static_cast<size_t>(groups), kAliveEvery);
    return ok_status();
  }

  void stop(SteadyTime) override {
    if (streams_) streams_->stop();
  }

 private:
  Status follow(const v1::EventStreamRequest& request, Call& call, Replies<v1::EventStreamLines>& replies) {
    return streams_ ? streams_->follow(request, call, replies) : failed_precondition("EventBroker not configured");
  }

  std::unique_ptr<EventStreams> streams_;  // null: the operator wants none
};

}  // namespace
}  // namespace drover::events

DROVER_MODULE(drover::events::EventsPlugin, "module", "events", "0.1.0");
