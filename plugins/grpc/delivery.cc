#include "delivery.h"

namespace drover::wire {

Status Delivery::start(Executor& executor, StreamReceiver receiver, Transport transport) {
  return executor.run_blocking([self = shared_from_this(), receiver = std::move(receiver),
                                transport = std::move(transport)] { self->run(receiver, transport); });
}

void Delivery::push(std::string message) {
  MutexLock lock(mutex_);
  if (closed_) return;
  messages_.push_back(std::move(message));
  changed_.notify_all();
}

void Delivery::close(Status status) {
  MutexLock lock(mutex_);
  if (closed_) return;
  closed_ = std::move(status);
  changed_.notify_all();
}

void Delivery::run(StreamReceiver receiver, Transport transport) {
  bool wanted = true;
  MutexLock lock(mutex_);
  while (true) {
    // The transport ends every stream with close(): by answer, deadline, cancellation or the loss of its connection.
    changed_.wait(lock, [this]() DROVER_REQUIRES(mutex_) { return !messages_.empty() || closed_.has_value(); });
    if (messages_.empty()) break;
    std::string message = std::move(messages_.front());
    messages_.pop_front();
    lock.unlock();
    if (wanted && !receiver.message(std::move(message))) {
      wanted = false;
      transport.cancel();
    }
    transport.next();
    lock.lock();
  }
  Status status = *closed_;
  lock.unlock();
  transport = {};
  receiver.closed(std::move(status));
}

}  // namespace drover::wire
