// A plugin's process: started without a shell, with nothing of ours but three streams, in a group of its own.
//
// Only the process itself is ever killed, never its group: what it started may be tasks, and a plugin's end is never
// theirs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drover/result.h"
#include "drover/tls.h"

namespace drover::external {

struct Program {
  std::string file;  // absolute
  std::vector<std::string> arguments{};
  std::map<std::string, std::string> environment{};
  // What this host shows a program that it asks for TLS; null: it does not ask.
  std::shared_ptr<const TlsIdentity> identity{};
};

// Has the program asked for TLS, with a key and certificate made for it (AutoMTLS).
Status ask_for_tls(Program& program);

class Process {
 public:
  // Errors: failed_precondition with the file and the reason.
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

}  // namespace drover::external
