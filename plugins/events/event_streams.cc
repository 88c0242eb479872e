#include "event_streams.h"

#include <pthread.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "drover/api/events.pb.h"
#include "drover/paced_changes.h"
#include "drover/permissions.h"

namespace drover::events {
namespace {

constexpr std::string_view kAlive = "{}\n";
constexpr int kGone = 410;

// The caller's rights may be other ones behind a log entry that changes these.
bool may_change(const Topics::RightsChange& rights, const Identity& caller, const Permissions& permissions) {
  if (std::ranges::find(rights.accessors, caller.name) != rights.accessors.end()) return true;
  return rights.is_of_all && !permissions.is_management();
}

Status must_resubscribe() { return unavailable("subscription closed by server, client should resubscribe"); }

}  // namespace

EventStreams::EventStreams(Host& host, size_t groups, std::chrono::nanoseconds alive_every)
    : host_(host), alive_every_(alive_every), topics_(host) {
  auto [view, changes] = host.follow({});
  buffer_ = std::make_unique<EventBuffer>(groups, view->index());
  thread_ =
      std::jthread([this, feed = std::make_unique<PacedChanges>(std::move(changes))](std::stop_token stop) mutable {
        run(std::move(feed), stop);
      });
}

void EventStreams::stop() {
  buffer_->close();
  thread_ = {};
}

void EventStreams::run(std::unique_ptr<ChangeSubscription> changes, const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "events");
  while (!stop.stop_requested()) {
    const auto event = changes->next(SteadyTime::max(), stop);
    if (const auto* batch = std::get_if<std::shared_ptr<const ChangeBatch>>(&event)) {
      if (topics_.concern(**batch)) buffer_->add(std::make_shared<const Group>(*batch, topics_.rights_changed(**batch)));
    } else if (std::holds_alternative<ChangeSubscription::Resync>(event)) {
      auto [view, next] = host_.follow({});
      changes = std::make_unique<PacedChanges>(std::move(next));
      buffer_->reset(view->index());
    }
  }
}

Result<EventBuffer::Place> EventStreams::begin(const Subscription& wanted, uint64_t index) const {
  if (!wanted.after()) return buffer_->at_least(index);
  if (wanted.after()->is_latest) return buffer_->latest();
  auto place = buffer_->after(wanted.after()->index);
  if (!place) return with_http_status(place.status(), kGone);
  return place;
}

Status EventStreams::follow(const v1::EventStreamRequest& request, Call& call,
                            Replies<v1::EventStreamLines>& replies) {
  DROVER_TRY(const Subscription wanted, Subscription::of(request, call.query().name_space));
  DROVER_RETURN_IF_ERROR(wanted.require_rights(call.permissions()));
  DROVER_TRY(EventBuffer::Place place, begin(wanted, call.query().min_index));
  const uint64_t begun_at = host_.snapshot()->index();
  v1::EventStreamLines lines;
  lines.set_content_type("application/json");
  lines.set_data(std::string(kAlive));
  while (replies.send(lines) && !call.stop().stop_requested()) {
    lines.Clear();
    auto line = next_line(wanted, call, begun_at, place);
    lines.set_data(line ? *std::move(line) : line.status().message());  // the status of the answer is out: in words
    if (line) continue;
    replies.send(lines);
    return line.status();
  }
  return ok_status();
}

Result<std::string> EventStreams::next_line(const Subscription& wanted, const Call& call, uint64_t begun_at,
                                            EventBuffer::Place& place) {
  const SteadyTime deadline = host_.clock().steady() + alive_every_;
  while (true) {
    const EventBuffer::Next next = buffer_->next(place, deadline, call.stop());
    if (std::holds_alternative<EventBuffer::Idle>(next)) return std::string(kAlive);
    if (std::holds_alternative<EventBuffer::Lost>(next)) return unavailable("event dropped from buffer");
    if (std::holds_alternative<EventBuffer::Closed>(next)) return must_resubscribe();
    const Group& group = *std::get<std::shared_ptr<const Group>>(next);
    if (group.index() > begun_at && may_change(group.rights(), call.context().identity, call.permissions()))
      return must_resubscribe();
    std::string line = wanted.line(group.index(), group.events(topics_), call.permissions());
    if (!line.empty()) return line;
  }
}

}  // namespace drover::events
