// A stream's messages on their way from the stream's thread to the connection's strand. The connection sets the pace:
// the handler waits while more than a megabyte is queued. [any]
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "drover/methods.h"
#include "drover/mutex.h"
#include "request.h"

namespace drover::api {

class Outflow {
 public:
  // The header of a download, from its first message.
  struct Head {
    std::string digest;
    std::string content_type = "application/octet-stream";
  };
  struct Piece {
    std::string bytes;
    Head head;
    std::optional<Status> closed;  // how the stream has ended; these bytes are its last
  };

  // Takes the stream's messages until it closes, or until `stop`. `wake` runs on the stream's thread whenever there is
  // something to take again; whatever it holds lives as long as the stream.
  static StreamReceiver receiver(std::shared_ptr<Outflow> flow, const Outgoing& call, std::stop_token stop,
                                 std::function<void()> wake);
  // Everything that is there. Nothing: `wake` tells when to come again.
  std::optional<Piece> take();

 private:
  bool add(const Outgoing& call, const std::string& message, const std::stop_token& stop);
  void close(const Outgoing& call, Status status);
  bool wakes();

  Mutex mutex_;
  CondVarAny room_;
  Piece piece_ DROVER_GUARDED_BY(mutex_);
  bool has_begun_ DROVER_GUARDED_BY(mutex_) = false;
  bool is_taken_ DROVER_GUARDED_BY(mutex_) = false;  // somebody takes, or is on the way
};

}  // namespace drover::api
