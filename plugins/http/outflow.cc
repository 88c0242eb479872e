#include "outflow.h"

#include <utility>

namespace drover::api {
namespace {

constexpr size_t kMaxQueuedBytes = 1 << 20;  // of a stream that the client reads slowly

}  // namespace

StreamReceiver Outflow::receiver(std::shared_ptr<Outflow> flow, const Outgoing& call, std::stop_token stop,
                                 std::function<void()> wake) {
  StreamReceiver receiver;
  receiver.message = [flow, call, stop = std::move(stop), wake](const std::string& message) {
    if (!flow->add(call, message, stop)) return false;
    if (flow->wakes()) wake();
    return true;
  };
  receiver.closed = [flow, call, wake](Status status) {
    flow->close(call, std::move(status));
    if (flow->wakes()) wake();
  };
  return receiver;
}

bool Outflow::add(const Outgoing& call, const std::string& message, const std::stop_token& stop) {
  MutexLock lock(mutex_);
  room_.wait(lock, stop, [this]() DROVER_REQUIRES(mutex_) { return piece_.bytes.size() < kMaxQueuedBytes; });
  if (stop.stop_requested() || !append_frame(call, message, piece_.bytes)) return false;
  if (!std::exchange(has_begun_, true))
    piece_.head = {.digest = digest_of(call, message), .content_type = content_type_of(call, message)};
  return true;
}

// The status of the answer is out: what ended a stream of text or frames stands behind them. A download is broken off.
void Outflow::close(const Outgoing& call, Status status) {
  const MutexLock lock(mutex_);
  const bool is_download = call.binding->form.content() == Http::BYTES;
  if (has_begun_ && !status.ok() && !is_download) piece_.bytes += status.message();
  piece_.closed = std::move(status);
}

bool Outflow::wakes() {
  const MutexLock lock(mutex_);
  return !std::exchange(is_taken_, true);
}

std::optional<Outflow::Piece> Outflow::take() {
  const MutexLock lock(mutex_);
  room_.notify_all();
  if (piece_.bytes.empty() && !piece_.closed) {
    is_taken_ = false;
    return std::nullopt;
  }
  Piece taken{.bytes = std::exchange(piece_.bytes, {}), .head = piece_.head, .closed = piece_.closed};
  return taken;
}

}  // namespace drover::api
