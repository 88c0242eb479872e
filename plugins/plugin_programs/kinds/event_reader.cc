#include "kinds/event_reader.h"

#include <pthread.h>

#include "drover/log.h"
#include "drover/messages.h"
#include "drover/methods.h"
#include "nomad/plugins/driver.pb.h"
#include "stream_pauses.h"

namespace drover::plugin_programs {
namespace {

constexpr const char* kTaskEvents = "/hashicorp.nomad.plugins.drivers.proto.Driver/TaskEvents";

}  // namespace

void EventReader::start(std::shared_ptr<Channel> channel, std::string plugin) {
  thread_ = std::jthread([this, channel = std::move(channel), plugin = std::move(plugin)](std::stop_token stop) {
    ::pthread_setname_np(::pthread_self(), "plugin-event");
    run(*channel, plugin, stop);
  });
}

void EventReader::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void EventReader::run(Channel& channel, const std::string& plugin, const std::stop_token& stop) {
  for (StreamPauses pauses; !stop.stop_requested(); pauses.wait(stop)) {
    const auto events = channel.open(kTaskEvents, serialize(driver::TaskEventsRequest()));
    const std::stop_callback cancel(stop, [&events] { events->cancel(); });
    while (const auto bytes = events->next()) {
      if (const auto event = parse_message<driver::DriverTaskEvent>(*bytes)) {
        feed_.pass_on(*event);
      } else {
        log::warn("plugin", "an event of a task cannot be read", {{"plugin", plugin}});
      }
    }
    const Status status = events->status();
    if (stop.stop_requested() || status.code() == Code::unimplemented) return;
    log::debug("plugin", "the stream of task events has ended",
               {{"plugin", plugin}, {"reason", status.message()}, {"again_in_s", pauses.next().count()}});
  }
}

}  // namespace drover::plugin_programs
