// A task driver: starts one kind of workload on this machine and keeps hold of it.
//
//   (none) ──start_task──▶ running ──exit──▶ exited ──destroy_task──▶ (none)
//              ▲              │ stop_task: signal, wait, kill ──▶ exited
//              └─recover_task─┘ after a restart of the agent or of the driver
//
// The messages are those of the published driver protocol (nomad/plugins/driver.proto). All calls for all tasks come in
// parallel, from any thread; only wait_task, stop_task, exec_task, exec_task_streaming, follow_events and the calls of
// networks may block. Task identifiers have the form
// "<allocation>/<task>/<8 hex digits>" and are new with every start. The configuration arrives as msgpack.
//
// Errors: not_found with the text "task not found for given id"; failed_precondition when the restart policy may try
// again; anything else fails the task for good.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "drover/clock.h"
#include "drover/configurable.h"
#include "drover/plugin_kind.h"
#include "drover/result.h"

namespace hashicorp::nomad::plugins::drivers::proto {
class CreateNetworkRequest;
class CreateNetworkResponse;
class DestroyNetworkRequest;
class DriverCapabilities;
class DriverTaskEvent;
class ExecTaskResponse;
class ExecTaskStreamingRequest;
class ExecTaskStreamingResponse;
class ExitResult;
class FingerprintResponse;
class InspectTaskResponse;
class StartTaskResponse;
class TaskConfig;
class TaskHandle;
class TaskStats;
}  // namespace hashicorp::nomad::plugins::drivers::proto

namespace drover {

namespace driver = hashicorp::nomad::plugins::drivers::proto;

inline constexpr std::string_view kTaskNotFound = "task not found for given id";

// A command that is to run inside a task, beside what the task itself runs.
struct ExecCommand {
  std::string task_id;
  std::vector<std::string> command;  // the program, then its arguments; not empty
  bool tty = false;                  // on a terminal of its own: its errors come as output
};

// The caller's end of such a command. receive() and send() may be called at the same time, each by one thread at a
// time.
class ExecStream {
 public:
  virtual ~ExecStream() = default;
  // The caller's next message: input, the end of the input, the size of the terminal, or nothing at all as a sign of
  // life. Blocks. Nothing when the caller has said everything or has gone, or `stop` was requested.
  virtual std::optional<driver::ExecTaskStreamingRequest> receive(std::stop_token stop) = 0;
  // Output, or the end of one. Blocks while the caller reads slowly. False when it has gone.
  virtual bool send(const driver::ExecTaskStreamingResponse& response) = 0;
  // Requested when the caller has gone.
  virtual std::stop_token stop() const = 0;
};

// The fingerprint of a driver that cannot work on this machine, and why. Pure.
driver::FingerprintResponse undetected(std::string why);
// The task's folder on this machine; "/" for one without an allocation. Pure.
std::string task_folder(const driver::TaskConfig& config);

class TaskDriver : public Configurable {
 public:
  static constexpr PluginKind kKind{.type = 2,
                                    .point = "task_driver",
                                    .word = "driver",
                                    .name = "task driver",
                                    .protocol = "nomad/plugins/driver.proto"};
  static constexpr std::string_view kExtensionPoint = kKind.point;

  // Says what a task's `config` may hold, for the forms outside of the exact tier: the host checks and converts by it
  // before start_task, so every name of the schema arrives, null where the job says nothing. Constant. An empty one,
  // the default: nothing.
  virtual hashicorp::nomad::plugins::shared::hclspec::Spec task_config_schema() const;

  // Ends all waits and whatever the driver itself runs; its tasks go on where they can. Nothing is called after it.
  // Idempotent. The default does nothing.
  void stop() override {}

  // The abilities of this driver; constant for its life.
  virtual driver::DriverCapabilities capabilities() const = 0;

  // Health and node attributes ("driver.<name>" = "1" and "driver.<name>.*") now. Asked at start and every 30 s.
  virtual driver::FingerprintResponse fingerprint() = 0;

  // A task's `config`, every reference resolved, as start_task takes it: checked, and in the driver's own msgpack form.
  // Starts nothing. Errors: invalid_argument naming the option.
  virtual Result<std::string> encode_config(std::string_view config_json) = 0;

  // Returns when the task runs. The handle must be enough to find it again after a crash of the agent; on failure
  // nothing is left behind. stdout_path and stderr_path are FIFOs: open them for reading and writing, so that a task
  // outlives the reader. Refuses a known identifier with already_exists.
  virtual Result<driver::StartTaskResponse> start_task(const driver::TaskConfig& config) = 0;

  // Finds a task that this driver started earlier. Idempotent. not_found: it is gone and its result with it. A handle
  // without a driver_state: the agent ended while start_task was under way, and asks for what may have come of it; a
  // driver that cannot tell answers with any error and is told to start the task anew.
  virtual Status recover_task(const driver::TaskHandle& handle) = 0;

  // Blocks until the task has exited, or `stop` is requested (cancelled; the task is not touched). Several callers may
  // wait; an exited task answers at once until it is destroyed.
  virtual Result<driver::ExitResult> wait_task(std::string_view id, std::stop_token stop) = 0;
  // The same without a thread that waits: calls `done` once with what wait_task would return, on any thread, perhaps
  // before it returns; `done` must not wait. False, the default: the driver cannot, and has done nothing; its host then
  // keeps a thread in wait_task for each of its tasks.
  using TellExit = std::function<void(Result<driver::ExitResult> exit)>;
  virtual bool watch_task(std::string_view id, std::stop_token stop, TellExit done);

  // Sends `signal` (a name; empty: the driver's default), waits up to `timeout`, then kills the task and everything it
  // started. Returns when all of it is gone. Idempotent.
  virtual Status stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) = 0;

  // Frees what is kept of an exited task. A running one: failed_precondition, or with `force` it is killed first.
  virtual Status destroy_task(std::string_view id, bool force) = 0;

  virtual Result<driver::InspectTaskResponse> inspect_task(std::string_view id) = 0;
  // One sample, of the whole tree of processes. Bytes and MHz.
  virtual Result<driver::TaskStats> task_stats(std::string_view id) = 0;
  // Errors: invalid_argument for an unknown signal name; nothing is sent then.
  virtual Status signal_task(std::string_view id, std::string_view signal) = 0;

  // Runs a command in the task's surroundings (its folder, environment, user, limits; of a container, inside it) until
  // it has ended: every output with its bytes and then once with `close`, at last `exited` with the result, where death
  // by a signal is 128 and its number. Returns then, on the caller's thread. A caller that goes ends the command: first
  // as by a hang-up, soon after by force; so does the task's end. Only with the capability `exec`. A driver's crash
  // ends the call as unavailable; the command is not found again, and whatever is left of it ends with the task at the
  // latest. Errors: not_found; failed_precondition for a task that has ended; invalid_argument for what cannot be run.
  // The default is unimplemented.
  virtual Status exec_task_streaming(const ExecCommand& command, ExecStream& stream);
  // The same without input, for at most `timeout`, after which the command is ended and the answer deadline_exceeded.
  // The first mebibyte of each output is kept. The default does it through exec_task_streaming.
  virtual Result<driver::ExecTaskResponse> exec_task(const ExecCommand& command, std::chrono::nanoseconds timeout);

  // Tells what happens to tasks between their start and their end ("image pulled"), with time, text and annotations,
  // until `stop` is requested; blocks as long. Two threads must not call `tell` at the same time. Events that happen
  // while nobody follows may be kept and told later (drover/task_event_feed.h does it); an event that is told twice,
  // with the same task, time and text, is shown once. The default has nothing to tell.
  using TellEvent = std::function<void(const driver::DriverTaskEvent& event)>;
  virtual void follow_events(const TellEvent& tell, std::stop_token stop);

  // Makes the network that an allocation's tasks share, or finds it (`created` false). For hosts that ask a driver with
  // the capability `must_create_network`, before the first of the tasks starts; they give what it returns to each task
  // and hand it back to destroy_network when all have gone. Both idempotent: a network that is gone already is
  // destroyed. May block. The defaults are unimplemented.
  virtual Result<driver::CreateNetworkResponse> create_network(const driver::CreateNetworkRequest& request);
  virtual Status destroy_network(const driver::DestroyNetworkRequest& request);
};

}  // namespace drover
