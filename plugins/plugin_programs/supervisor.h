// Keeps one plugin's process running: starts it, shakes hands, asks for its health, starts it again, and says what
// happened. The decisions are supervision.h's; this is the shell.
//
// Threads: "plugin" (the supervisor's own) launches, waits and asks; "plugin-log" reads what the process prints. Both
// are joined by stop().
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "drover/clock.h"
#include "drover/metrics.h"
#include "drover/mutex.h"
#include "drover/plugin_programs/channel.h"
#include "drover/plugin_programs/plugin_log.h"
#include "drover/plugin_programs/process.h"
#include "mortal_channel.h"
#include "plugin_file.h"
#include "plugin_life.h"
#include "plugin_socket.h"
#include "supervision.h"

namespace drover::plugin_programs {

// A program to start.
struct Launch {
  Program program;
  std::shared_ptr<const PluginFile> file{};  // holds the image
};

struct SupervisorOptions {
  std::string name;  // of the file; in logs and messages
  // Asked before each launch. On an error the plugin is parked: nothing of it may run. [plugin]
  std::function<Result<Launch>()> open;
  SupervisionTimes times{};
  // Told of processes, which the agent must find again should it die first. [plugin]
  std::function<void(pid_t pid, uint64_t start_time)> launched;
  std::function<void(pid_t pid)> collected;
  // The calls that it has not answered. [plugin]
  std::function<std::vector<std::string>()> calls;
  // Makes a fresh process ready for use: configures it, opens its streams. On an error the process is ended and counts
  // as crashed. [plugin]
  std::function<Status(std::shared_ptr<Channel>)> prepare;
  // The process has ended: streams of its channel have ended or soon will. [plugin]
  std::function<void()> lost;
};

class Supervisor final : public PluginLife {
 public:
  Supervisor(SupervisorOptions options, Clock& clock, Metrics& metrics);
  ~Supervisor() override;

  void start() override;
  // Shutdown call, then two seconds, then SIGKILL. Joins.
  void stop() override;
  Status restart() override;

  Result<std::shared_ptr<Channel>> channel(const std::shared_ptr<Channel>& former, SteadyTime deadline,
                                           const std::stop_token& stop = {}) const override;
  bool wait_gone(const std::shared_ptr<Channel>& channel, SteadyTime deadline) const override;
  bool wait_first(SteadyTime deadline) const override;
  View view() const override;

 private:
  void run();
  void carry_out(Supervision::Action action);
  void launch();
  void prepare(const std::string& greeting);
  void check();
  void end();
  void on_exit();
  void look_at_descriptors();
  void read_output(const Process& process);
  bool may_log();
  void log_line(LogReader& reader, std::string_view line);
  void note(std::string why) DROVER_REQUIRES(mutex_);  // why it does not run

  const SupervisorOptions options_;
  Clock& clock_;
  Metrics& metrics_;

  // [plugin]
  ThreadChecker own_thread_{"plugin"};
  std::unique_ptr<Process> process_;
  std::thread output_;
  SteadyTime launched_{};
  std::string ending_;  // why we end it ourselves
  bool had_greeting_ = false;
  std::shared_ptr<MortalChannel> living_;        // to the process, until its end
  PluginSocket socket_;                          // removed after the process's end
  std::shared_ptr<const TlsIdentity> identity_;  // ours towards it, where it was asked for TLS
  std::optional<uint32_t> user_;                 // of the process, where it is another than ours

  // [plugin-log]
  SteadyTime second_began_{};
  int lines_in_second_ = 0;
  uint64_t dropped_ = 0;  // and not yet told of

  mutable Mutex mutex_;
  mutable CondVar changed_;
  Supervision supervision_ DROVER_GUARDED_BY(mutex_);
  std::shared_ptr<Channel> channel_ DROVER_GUARDED_BY(mutex_);  // while it is ready
  std::string problem_ DROVER_GUARDED_BY(mutex_);
  bool had_first_ DROVER_GUARDED_BY(mutex_) = false;
  bool is_stopping_ DROVER_GUARDED_BY(mutex_) = false;
  bool is_restart_wanted_ DROVER_GUARDED_BY(mutex_) = false;
  pid_t pid_ DROVER_GUARDED_BY(mutex_) = 0;
  std::optional<std::string> greeting_ DROVER_GUARDED_BY(mutex_);  // the first line of standard output
  std::deque<std::string> lines_ DROVER_GUARDED_BY(mutex_);        // of standard error
  std::deque<CrashRecord> crashes_ DROVER_GUARDED_BY(mutex_);
  std::string digest_ DROVER_GUARDED_BY(mutex_);  // of the file that was launched last
  uint64_t all_dropped_ DROVER_GUARDED_BY(mutex_) = 0;
  uint64_t forced_ends_ DROVER_GUARDED_BY(mutex_) = 0;
  bool is_short_ DROVER_GUARDED_BY(mutex_) = false;  // of descriptors

  int wake_ = -1;   // an eventfd: an order is there
  int quiet_ = -1;  // an eventfd: the log's thread shall end
  std::thread thread_;
};

}  // namespace drover::plugin_programs
