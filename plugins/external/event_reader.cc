#include "event_reader.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "drover/log.h"
#include "drover/messages.h"
#include "drover/methods.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::external {
namespace {

using namespace std::chrono_literals;

constexpr const char* kTaskEvents = "/hashicorp.nomad.plugins.drivers.proto.Driver/TaskEvents";
constexpr auto kFirstPause = 5s, kLongestPause = 120s;
constexpr int kPauseGrows = 4;

void pause(std::chrono::seconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
}

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
  for (auto wait = std::chrono::seconds(kFirstPause); !stop.stop_requested();
       wait = std::min<std::chrono::seconds>(wait * kPauseGrows, kLongestPause)) {
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
               {{"plugin", plugin}, {"reason", status.message()}, {"again_in_s", wait.count()}});
    pause(wait, stop);
  }
}

}  // namespace drover::external
