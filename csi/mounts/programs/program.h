// One storage plugin that the agent itself runs: a process that the launcher holds, so that it serves the volumes in
// use while the agent is away; its socket, its health, what it prints, and its next start. When it is started and ended
// program_life.h says; this is the shell.
//
// Threads: "csi-program" launches, waits and ends; "csi-plugin" (supervision.h) asks for its health; "csi-output"
// (program_output.h) reads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "csi/protocol/redact.h"
#include "drover/fd.h"
#include "drover/launcher.h"
#include "drover/mutex.h"
#include "programs/program_life.h"
#include "programs/program_output.h"
#include "programs/program_settings.h"
#include "supervisor/supervision.h"

namespace drover {
class Metrics;
}

namespace drover::mounts {

class Folders;

// A process by its number and its start, with the settings that it was started with.
struct ProgramProcess {
  int pid = 0;
  uint64_t start_time = 0;
  std::string digest{};
};

// A program as an operator is shown it.
struct ProgramView {
  std::string state = "starting";   // or "running", "unhealthy", "stopping", "backoff", "stopped"
  int64_t since = 0;                // nanoseconds since 1970
  int pid = 0;                      // 0: none runs
  uint64_t restarts = 0;            // by this agent
  std::string problem{};            // why it does not run as it should, or did not before
  int64_t next_try = 0;             // as `since`; 0: none is due
  std::string provider{}, version{};  // as it says; empty before it has
};

class Program {
 public:
  // All outlives the program.
  struct Setup {
    Clock& clock;
    Metrics& metrics;
    Instances& instances;
    const Folders& folders;
    std::string launcher_folder;
    // A way to the plugin behind a socket, which tells the secrets that go there.
    std::function<std::shared_ptr<csi::Client>(const std::string& socket, std::shared_ptr<csi::KnownSecrets> told)>
        connect;
    // The process that runs from now on, durably; nothing: none does. [csi-program]
    std::function<void(const std::string& name, const std::optional<ProgramProcess>&)> remember;
    ProgramTimes times{};
    SupervisionTiming timing{};
  };
  // `found`: its process of a former life of the agent.
  Program(Setup setup, ProgramSettings settings, std::optional<ProgramProcess> found);
  ~Program();  // as stop() with Fate::ends

  void start();
  // Ends the process and starts the next one. Returns at once; the `restarts` of view() count it when it is done.
  void restart();
  ProgramView view() const;
  // Returns at once; wait() when it is done. Once.
  void stop(ProgramLife::Fate fate);
  void wait();

  const ProgramSettings& settings() const { return settings_; }

 private:
  void run();
  void adopt();
  void take_orders();
  void carry_out(ProgramLife::Action action);
  void show();
  void set_problem(const std::string& problem);
  void launch();
  Status try_launch();
  Status make_places();
  Result<Launcher::Task> start_process();
  Result<Launcher*> launcher();
  void watch(const ProgramProcess& process);
  void supervise();
  void end_supervision(const std::string& why);
  void on_exit();
  std::string how_it_ended();
  void forget();
  void remove_places() const;
  void signal(int number);
  void wake() const;

  const Setup setup_;
  const ProgramSettings settings_;
  const std::string digest_;
  const std::shared_ptr<csi::KnownSecrets> secrets_ = std::make_shared<csi::KnownSecrets>();

  // [csi-program]
  ProgramLife life_;
  std::optional<ProgramProcess> process_;  // at the beginning: of a former life of the agent
  Fd ended_;                               // readable when the process has ended
  std::string socket_, base_;
  std::unique_ptr<Launcher> launcher_;
  uint64_t starts_ = 0;      // a process of a former life of the agent included
  uint64_t registered_ = 0;  // among the instances; 0: not yet. Of the supervision's thread while there is one
  std::unique_ptr<Supervision> supervision_;
  ProgramOutput output_;

  mutable Mutex mutex_;
  CondVar heard_;
  std::optional<ProgramLife::Fate> fate_ DROVER_GUARDED_BY(mutex_);  // ordered, and not yet carried out
  bool is_unhealthy_ DROVER_GUARDED_BY(mutex_) = false;              // the same
  bool is_restarted_ DROVER_GUARDED_BY(mutex_) = false;              // the same
  std::optional<bool> is_well_ DROVER_GUARDED_BY(mutex_);            // as this process was last heard
  ProgramView view_ DROVER_GUARDED_BY(mutex_);
  std::map<int, Launcher::Exit> exits_ DROVER_GUARDED_BY(mutex_);    // by pid, as the launcher tells them

  const Fd wake_;
  std::thread thread_;
};

}  // namespace drover::mounts
