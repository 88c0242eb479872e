// Keeps one plugin answering: a process that is started again when it ends (supervisor.h), or one inside the agent
// (resident_life.h).
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/clock.h"
#include "drover/external/channel.h"
#include "supervision.h"

namespace drover::external {

// How a process of the plugin ended. The last five are kept.
struct CrashRecord {
  int64_t at = 0;      // nanoseconds since 1970
  std::string reason;  // "signal 9 (Killed)", "no handshake within 1m0s"
  std::chrono::nanoseconds uptime{};
  std::vector<std::string> last_lines{};  // of standard error, at most fifty
};

class PluginLife {
 public:
  virtual ~PluginLife() = default;

  virtual void start() = 0;
  // Ends it in good order. [main]
  virtual void stop() = 0;

  // The channel to it; waits for one, or for another than `former`, while it is being started or restarted. Errors:
  // unavailable, saying why; cancelled. [any]
  virtual Result<std::shared_ptr<Channel>> channel(const std::shared_ptr<Channel>& former, SteadyTime deadline,
                                                   const std::stop_token& stop = {}) const = 0;
  // Whether what this channel leads to has been seen to end. [any]
  virtual bool wait_gone(const std::shared_ptr<Channel>& channel, SteadyTime deadline) const = 0;
  // True once it has been ready, or has failed for the first time. [any]
  virtual bool wait_first(SteadyTime deadline) const = 0;

  struct View {
    Supervision::State state;
    pid_t pid = 0;  // 0: none of its own
    uint64_t restarts = 0;
    std::string problem;  // why it is not running; empty while it is
    std::vector<CrashRecord> crashes;
  };
  virtual View view() const = 0;  // [any]
};

}  // namespace drover::external
