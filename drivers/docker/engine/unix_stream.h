// A connection to a Unix socket whose every wait has a deadline and a stop token.
//
// One thread may read while another one writes. No descriptor outlives the object.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "drover/clock.h"
#include "drover/result.h"

namespace drover::docker {

// How long one wait may last.
struct Patience {
  SteadyTime deadline = SteadyTime::max();
  std::stop_token stop{};

  static Patience of(std::chrono::nanoseconds time, std::stop_token stop = {}) {
    return {SystemClock().steady() + time, std::move(stop)};
  }
};

class UnixStream {
 public:
  // Errors: unavailable when nobody listens there; deadline_exceeded; cancelled.
  static Result<std::unique_ptr<UnixStream>> connect(const std::string& path, const Patience& patience);
  ~UnixStream();
  UnixStream(const UnixStream&) = delete;
  UnixStream& operator=(const UnixStream&) = delete;

  // Up to buffer.size() bytes; 0 at the end. Errors: unavailable when the connection broke; deadline_exceeded;
  // cancelled.
  Result<size_t> read_some(std::span<char> buffer, const Patience& patience);
  Status write_all(std::string_view bytes, const Patience& patience);
  // Says that nothing more is written.
  void close_write();

 private:
  UnixStream(int fd, int reader_wake, int writer_wake)
      : fd_(fd), reader_wake_(reader_wake), writer_wake_(writer_wake) {}
  // Until the socket is ready for `events`.
  Status wait(short events, const Patience& patience) const;

  const int fd_;
  const int reader_wake_, writer_wake_;  // eventfds, for a requested stop
};

}  // namespace drover::docker
