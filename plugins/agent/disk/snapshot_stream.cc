#include "disk/snapshot_stream.h"

#include <deque>
#include <optional>
#include <utility>

#include "drover/api/client_disk.pb.h"
#include "drover/duration.h"
#include "drover/methods.h"
#include "drover/mutex.h"
#include "server_calls.h"

namespace drover::agent {
namespace {

constexpr size_t kMostParts = 64;

}  // namespace

struct SnapshotStream::State {
  State(const Client& its_client, std::chrono::nanoseconds its_silence, std::stop_token its_stop)
      : client(its_client), silence(its_silence), stop(std::move(its_stop)) {}

  // False when nobody reads any more.
  bool push(const std::string& message) {
    auto part = parse_message<v1::DiskSnapshotPart>(message);
    if (!part) return false;
    MutexLock lock(mutex);
    changed.wait(lock, stop, [&]() DROVER_REQUIRES(mutex) { return parts.size() < kMostParts || is_left; });
    if (is_left || stop.stop_requested()) return false;
    parts.push_back(std::move(*part->mutable_data()));
    changed.notify_all();
    return true;
  }
  void close(Status status) {
    MutexLock lock(mutex);
    closed = std::move(status);
    changed.notify_all();
  }
  void leave() {
    MutexLock lock(mutex);
    is_left = true;
    changed.notify_all();
  }

  const Client& client;
  const std::chrono::nanoseconds silence;
  const std::stop_token stop;
  Mutex mutex;
  CondVarAny changed;
  std::deque<std::string> parts DROVER_GUARDED_BY(mutex);
  std::optional<Status> closed DROVER_GUARDED_BY(mutex);
  bool is_left DROVER_GUARDED_BY(mutex) = false;
  std::unique_ptr<StreamCall> call;  // the reader's own
};

SnapshotStream::SnapshotStream(std::shared_ptr<State> state) : state_(std::move(state)) {}
SnapshotStream::SnapshotStream(SnapshotStream&&) noexcept = default;

SnapshotStream::~SnapshotStream() {
  if (!state_) return;
  state_->leave();
  state_->call.reset();
}

Result<SnapshotStream> SnapshotStream::open(const Client& client, Uuid allocation, const SnapshotTimes& times,
                                            std::stop_token stop) {
  v1::DiskSnapshotRequest request;
  request.set_alloc_id(allocation.bytes());
  request.set_when_over(true);
  CallContext context = node_call(client, "/drover.v1.ClientDisk/Snapshot", times.all, stop);
  auto state = std::make_shared<State>(client, times.silence, std::move(stop));
  StreamReceiver receiver{.message = [state](const std::string& message) { return state->push(message); },
                          .closed = [state](Status status) { state->close(std::move(status)); }};
  DROVER_TRY(state->call,
             client.host.caller().open(std::move(context), request.SerializeAsString(), std::move(receiver)));
  return SnapshotStream(std::move(state));
}

Result<std::string> SnapshotStream::next() {
  State& state = *state_;
  MutexLock lock(state.mutex);
  while (true) {
    const bool is_there =
        state.changed.wait_until(lock, state.stop, state.client.now() + state.silence,
                                 [&]() DROVER_REQUIRES(state.mutex) { return !state.parts.empty() || state.closed; });
    if (state.stop.stop_requested()) return cancelled("the allocation is to end");
    if (!is_there) return deadline_exceeded("nothing came for " + format_duration(state.silence));
    if (state.parts.empty()) return state.closed->ok() ? Result<std::string>(std::string()) : *state.closed;
    std::string part = std::move(state.parts.front());
    state.parts.pop_front();
    state.changed.notify_all();
    if (!part.empty()) return part;  // else a sign of life
  }
}

}  // namespace drover::agent
