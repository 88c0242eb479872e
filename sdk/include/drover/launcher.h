// A client of this agent's launcher: the small process that is the parent of all task processes, so that they and their
// exit codes outlive the agent.
//
//   connect: an existing launcher ──▶ connected ──launcher gone──▶ lost (every call answers unavailable)
//            else start one      ──▶     └──────destructor───────▶ closed; the tasks and the launcher stay
//
// One object per driver; all of an agent's share one launcher through a socket in one folder. Calls come from any
// thread. The callbacks run on the client's own thread, one after the other: they must be brief and must not call back
// into the object. The protocol is in sdk/launcher/protocol.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/clock.h"
#include "drover/confinement.h"
#include "drover/result.h"

namespace drover {

class Launcher {
 public:
  struct Options {
    std::string folder;                                          // made with mode 0700; holds socket, lock and log
    std::string program;                                         // empty: the launcher installed beside the SDK
    std::chrono::milliseconds grace = std::chrono::seconds(10);  // how long a launcher without client and task stays
  };
  struct User {
    uint32_t id = 0, group = 0;
    std::vector<uint32_t> groups;
  };
  struct Start {
    std::string id;
    std::string program;                   // a path
    std::vector<std::string> arguments;    // argv, with the name of the program first
    std::vector<std::string> environment;  // "NAME=value"
    std::string directory;
    std::string stdout_path, stderr_path;   // FIFOs; empty: /dev/null
    std::optional<User> user;               // absent: the agent's
    std::vector<std::string> cgroup_files;  // cgroup.procs of every cgroup to join before the program runs
    std::string network_namespace{};        // path of the one to run in; empty: the launcher's
    // Absent: none. With a root the program and the directory are paths in there.
    std::optional<Confinement> confinement{};
  };
  struct Exit {
    int exit_code = 0;
    int signal = 0;  // zero: it ended by itself
    int64_t at = 0;  // nanoseconds since 1970
  };
  struct Task {
    std::string id;
    int pid = 0;
    uint64_t start_time = 0;  // of the process in ticks since boot; names it together with the pid
    int64_t started_at = 0;
    std::optional<Exit> exit;
  };
  // Where the command of exec() reads and writes: three FIFOs with somebody at their other ends, or one terminal.
  struct Streams {
    std::string input, output, error;  // paths
    std::string terminal;              // of the slave of a pseudo-terminal, instead of the three
  };
  struct Callbacks {
    std::function<void(const Task&)> exited;  // once for each task that ends while connected, of other drivers too
    std::function<void()> lost;
  };

  // Errors: permission_denied when the socket belongs to another user; unavailable when no launcher can be started.
  static Result<std::unique_ptr<Launcher>> connect(Options options, Callbacks callbacks, SteadyTime deadline);
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  bool is_connected() const;
  int pid() const;  // of the launcher

  // Returns when the program runs. Errors: invalid_argument when it cannot be executed, with the system's words;
  // failed_precondition when the machine is short of something; already_exists; unimplemented for a network namespace
  // or a confinement by a launcher of an older version.
  Result<Task> start(const Start& start, SteadyTime deadline);
  // All tasks it knows: running ones, and ended ones that were not forgotten.
  Result<std::vector<Task>> list(SteadyTime deadline);
  // Signals the task's first process, or its process group. An ended task is no error; an unknown one is not_found.
  enum class To : uint8_t { process, group };
  Status signal(std::string_view id, int signal, To to, SteadyTime deadline);
  // A command that lives as long as its object at most: with the object, this client or the launcher it goes.
  class Exec {
   public:
    virtual ~Exec() = default;  // kills its process group
    virtual int pid() const = 0;
    virtual uint64_t start_time() const = 0;
    virtual int ended_fd() const = 0;  // readable when it has ended, or the launcher has
    // Requires: ended. Nothing: the launcher has gone, and the result with it.
    virtual std::optional<Exit> exit() const = 0;
    virtual void signal(int number) = 0;  // to its process group
  };
  // As start(), for a command of which only the caller shall hear; `start` names no streams. Errors also: unimplemented
  // by a launcher of an older version.
  Result<std::unique_ptr<Exec>> exec(const Start& start, const Streams& streams, SteadyTime deadline);
  const std::string& folder() const;  // of the options

  // Drops the result of an ended task. Idempotent. Errors: failed_precondition while it runs.
  Status forget(std::string_view id, SteadyTime deadline);

  // Keeps FIFOs open that somebody else's task writes to: it never meets a broken pipe while the agent is away, and
  // what it wrote stays there. `name` is the holder's own; holding it again replaces what was held. Errors:
  // invalid_argument when one cannot be opened; unimplemented by a launcher of an older version.
  Status hold(std::string_view name, const std::vector<std::string>& fifos, SteadyTime deadline);
  // The readers see the end of the streams once all writers are gone. Idempotent.
  Status release(std::string_view name, SteadyTime deadline);

 private:
  struct Connection;
  class LaunchedExec;
  explicit Launcher(std::shared_ptr<Connection> connection);
  std::shared_ptr<Connection> connection_;
};

// A user by name or number with all groups. Errors: invalid_argument when there is none.
Result<Launcher::User> find_user(const std::string& name);

}  // namespace drover
