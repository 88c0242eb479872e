// Keeps one plugin answering: a process that is started again when it ends (supervisor.h), or one inside the agent
// (resident_life.h).
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/clock.h"
#include "drover/plugin_programs/channel.h"
#include "supervision.h"

namespace drover::plugin_programs {

// How a process of the plugin ended. The last five are kept.
struct CrashRecord {
  int64_t at = 0;      // nanoseconds since 1970
  std::string reason;  // "signal 9 (Killed)", "no handshake within 1m0s"
  std::chrono::nanoseconds uptime{};
  std::string digest{};                   // of the file that ran
  std::vector<std::string> last_lines{};  // of standard error, at most fifty
  std::vector<std::string> calls{};       // that it had not answered, "StartTask 3s"
};

class PluginLife {
 public:
  virtual ~PluginLife() = default;

  // Also after stop(). [one thread at a time with stop()]
  virtual void start() = 0;
  // Ends it in good order.
  virtual void stop() = 0;
  // An operator's order: ends what runs, in good order, and starts it again at once, also out of a pause and out of
  // parking. Returns at once. Errors: failed_precondition for what cannot be restarted. [any]
  virtual Status restart() = 0;

  // The channel to it; waits for one, or for another than `former`, while it is being started or restarted. Errors:
  // unavailable, saying why; cancelled. [any]
  virtual Result<std::shared_ptr<Channel>> channel(const std::shared_ptr<Channel>& former, SteadyTime deadline,
                                                   const std::stop_token& stop = {}) const = 0;
  // True when the process behind this channel has been seen to end, or is being ended by us. [any]
  virtual bool wait_gone(const std::shared_ptr<Channel>& channel, SteadyTime deadline) const = 0;
  // True once it has been ready, or has failed for the first time, since it was started. [any]
  virtual bool wait_first(SteadyTime deadline) const = 0;

  struct View {
    Supervision::State state;
    pid_t pid = 0;  // 0: none of its own
    uint64_t restarts = 0;
    std::string problem;  // why it is not running; empty while it is
    std::vector<CrashRecord> crashes;
    // The life of a process. Times are nanoseconds since 1970; zero: none.
    int64_t since = 0;     // of the state
    int64_t next_try = 0;  // while it waits for one
    std::string digest{};  // of the file that it runs, or would
    // Faults that it has shown since the agent started.
    uint64_t dropped_lines = 0;  // that were more than its share of the log
    uint64_t missed_checks = 0;
    uint64_t forced_ends = 0;              // it was told to end, did not, and was killed
    bool is_short_of_descriptors = false;  // this process, when it was last looked at
  };
  virtual View view() const = 0;  // [any]
};

}  // namespace drover::plugin_programs
