// Hands the messages of a stream that comes from another process to its receiver, on a thread of its own: the receiver
// may block, and then the sender waits. [any]
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "drover/executor.h"
#include "drover/methods.h"
#include "drover/mutex.h"

namespace drover::wire {

class Delivery : public std::enable_shared_from_this<Delivery> {
 public:
  struct Transport {
    std::function<void()> next;    // asks for the next message
    std::function<void()> cancel;  // the receiver wants no more
  };
  // The receiver's `closed` follows exactly once, after close(). Errors: those of Executor::run_blocking; then nothing
  // follows.
  Status start(Executor& executor, StreamReceiver receiver, Transport transport);
  void push(std::string message);
  void close(Status status);  // after what was pushed; the first one counts

 private:
  void run(StreamReceiver receiver, Transport transport);

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::string> messages_ DROVER_GUARDED_BY(mutex_);
  std::optional<Status> closed_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::wire
