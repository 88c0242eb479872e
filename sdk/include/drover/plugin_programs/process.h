// A plugin's process: started without a shell, with nothing of ours but three streams, in a session of its own, and
// with no more rights and means than the operator gives it.
//
// Only the process itself is ever killed, never its group: what it started may be tasks, and a plugin's end is never
// theirs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drover/result.h"
#include "drover/tls.h"

namespace drover::plugin_programs {

// The rights and limits of a process. All that it starts inherits them.
struct Confinement {
  struct User {
    uint32_t id = 0, group = 0;
    std::vector<uint32_t> groups{};
  };
  std::optional<User> user{};               // absent: ours
  std::vector<std::string> cgroup_files{};  // cgroup.procs of every control group to join first
  uint64_t open_files = 65'536;             // descriptors; never more than we may have ourselves
  bool no_new_privileges = false;           // programs with the set-user bit or file capabilities give none
  std::optional<int> oom_score{};           // -1000 to 1000, oom_score_adj: who goes first when memory is short
};

struct Program {
  std::string file;    // absolute
  int image = -1;      // a descriptor of the file to run, should another one lie at `file` by then
  std::string name{};  // that the process is told; empty: `file`
  std::vector<std::string> arguments{};
  std::map<std::string, std::string> environment{};
  Confinement confinement{};
  // The identity that this host shows a program that it asks for TLS; null: it does not ask.
  std::shared_ptr<const TlsIdentity> identity{};
};

// Has the program asked for TLS, with a key and certificate made for it (AutoMTLS).
Status ask_for_tls(Program& program);

class Process {
 public:
  // Returns when the program runs. Errors: failed_precondition with the file, the step and the reason.
  static Result<std::unique_ptr<Process>> start(const Program& program);
  // Kills and collects it.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  uint64_t start_time() const { return start_time_; }  // ticks since boot; with the pid it names the process for good
  int ended_fd() const { return pidfd_; }              // readable when it has ended
  int out() const { return out_; }                     // not blocking
  int err() const { return err_; }

  void kill(int signal);
  // How it ended: "exit code 2", "signal 11 (Segmentation fault)". Requires: it has ended.
  std::string collect();

 private:
  Process(pid_t pid, int pidfd, int out, int err);

  const pid_t pid_;
  const int pidfd_, out_, err_;
  const uint64_t start_time_;
  bool is_collected_ = false;
};

}  // namespace drover::plugin_programs
