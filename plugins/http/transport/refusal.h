// Says to connections that they are one too many. Each is closed only once the client has had time to read that: what
// it sends meanwhile is read and dropped, since closing over unread bytes resets the connection.
#pragma once

#include <atomic>
#include <memory>

#include "drover/mutex.h"
#include "guard/attempts.h"
#include "stream.h"

namespace drover::api {

// Outlives what it refuses. [any]
class Refusals {
 public:
  // With 429 while that is not asked for more often than ten times a second; else, and where TLS is spoken, without a
  // word.
  void refuse(Stream::Socket socket, bool speaks_tls, SteadyTime now);

 private:
  bool may_speak(SteadyTime now);

  Mutex mutex_;
  Bucket words_ DROVER_GUARDED_BY(mutex_){100, std::chrono::seconds(10)};
  std::atomic<size_t> alive_ = 0;
};

}  // namespace drover::api
