// The streams of events: one thread takes the changes that hold events into a buffer, and each stream reads from there.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "drover/methods.h"
#include "drover/plugin.h"
#include "event_buffer.h"
#include "subscription.h"
#include "topics.h"

namespace drover::v1 {
class EventStreamLines;
class EventStreamRequest;
}  // namespace drover::v1

namespace drover::events {

class EventStreams {
 public:
  // Keeps so many log entries with events. `alive_every`: a stream that has nothing to tell says so in that rhythm.
  EventStreams(Host& host, size_t groups, std::chrono::nanoseconds alive_every);
  ~EventStreams() { stop(); }
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  // Ends all streams, soon. Whoever follows still may ask.
  void stop();

  // Errors: invalid_argument; permission_denied; failed_precondition, when what it should begin with is not held any more;
  // unavailable, when the caller must begin anew: its rights may have changed, it was too slow, or the state is another.
  Status follow(const v1::EventStreamRequest& request, Call& call, Replies<v1::EventStreamLines>& replies);

 private:
  void run(std::unique_ptr<ChangeSubscription> changes, const std::stop_token& stop);
  Result<EventBuffer::Place> begin(const Subscription& wanted, uint64_t index) const;
  // The next line for the caller, or a sign of life. `begun_at`: the caller's rights are those of that index.
  Result<std::string> next_line(const Subscription& wanted, const Call& call, uint64_t begun_at,
                                EventBuffer::Place& place);

  Host& host_;
  const std::chrono::nanoseconds alive_every_;
  const Topics topics_;
  std::unique_ptr<EventBuffer> buffer_;
  std::jthread thread_;  // [events]
};

}  // namespace drover::events
