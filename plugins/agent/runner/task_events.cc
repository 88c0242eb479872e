#include "task_events.h"

#include <algorithm>
#include <utility>

#include "drover/duration.h"
#include "drover/v1/allocation.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent::event {
namespace {

v1::TaskEvent make(int64_t now, const char* type, std::string display) {
  v1::TaskEvent event;
  event.set_type(type);
  event.set_time(now);
  event.set_display_message(std::move(display));
  return event;
}

void detail(v1::TaskEvent& event, const char* name, std::string_view value) {
  (*event.mutable_details())[name] = std::string(value);
}

}  // namespace

v1::TaskEvent received(int64_t now) { return make(now, "Received", "Task received by client"); }

v1::TaskEvent setup(int64_t now) {
  v1::TaskEvent event = make(now, "Task Setup", "Building Task Directory");
  event.set_message("Building Task Directory");
  detail(event, "message", "Building Task Directory");
  return event;
}

v1::TaskEvent setup_failure(int64_t now, std::string_view error) {
  v1::TaskEvent event = make(now, "Setup Failure", std::string(error));
  event.set_setup_error(std::string(error));
  event.set_fails_task(true);
  detail(event, "setup_error", error);
  detail(event, "fails_task", "true");
  return event;
}

v1::TaskEvent hook_failed(int64_t now, std::string_view hook, std::string_view error) {
  return make(now, "Task hook failed", std::string(hook) + ": " + std::string(error));
}

v1::TaskEvent failed_validation(int64_t now, std::string_view error) {
  v1::TaskEvent event = make(now, "Failed Validation", std::string(error));
  event.set_validation_error(std::string(error));
  event.set_fails_task(true);
  detail(event, "validation_error", error);
  detail(event, "fails_task", "true");
  return event;
}

v1::TaskEvent driver_failure(int64_t now, std::string_view error) {
  v1::TaskEvent event = make(now, "Driver Failure", std::string(error));
  event.set_driver_error(std::string(error));
  detail(event, "driver_error", error);
  return event;
}

v1::TaskEvent failed_restore(int64_t now, std::string_view error) {
  v1::TaskEvent event =
      make(now, "Failed Restoring Task", "The task was gone when the agent came back: " + std::string(error));
  event.set_driver_error(std::string(error));
  detail(event, "driver_error", error);
  return event;
}

v1::TaskEvent started(int64_t now) { return make(now, "Started", "Task started by client"); }

v1::TaskEvent terminated(int64_t now, const Exit& exit) {
  std::string text = "Exit Code: " + std::to_string(exit.code);
  if (exit.signal != 0) text += ", Signal: " + std::to_string(exit.signal);
  const std::string message = exit.message.empty() && exit.oom_killed ? "OOM Killed" : exit.message;
  if (!message.empty()) text += ", Exit Message: \"" + message + "\"";
  v1::TaskEvent event = make(now, "Terminated", std::move(text));
  event.set_exit_code(exit.code);
  event.set_signal(exit.signal);
  event.set_message(message);
  detail(event, "exit_code", std::to_string(exit.code));
  detail(event, "signal", std::to_string(exit.signal));
  detail(event, "oom_killed", exit.oom_killed ? "true" : "false");
  if (!message.empty()) detail(event, "exit_message", message);
  return event;
}

v1::TaskEvent restarting(int64_t now, std::chrono::nanoseconds delay, std::string_view reason) {
  std::string text = "Task restarting in " + format_duration(delay);
  if (!reason.empty() && reason != "Restart within policy") text = std::string(reason) + " - " + text;
  v1::TaskEvent event = make(now, "Restarting", std::move(text));
  event.set_restart_reason(std::string(reason));
  event.set_start_delay(delay.count());
  detail(event, "restart_reason", reason);
  detail(event, "start_delay", std::to_string(delay.count()));
  return event;
}

v1::TaskEvent not_restarting(int64_t now, std::string_view reason) {
  v1::TaskEvent event =
      make(now, "Not Restarting", reason.empty() ? "Task exceeded restart policy" : std::string(reason));
  event.set_restart_reason(std::string(reason));
  event.set_fails_task(true);
  detail(event, "restart_reason", reason);
  detail(event, "fails_task", "true");
  return event;
}

v1::TaskEvent restart_signaled(int64_t now, std::string_view reason) {
  v1::TaskEvent event =
      make(now, "Restart Signaled", reason.empty() ? "Task signaled to restart" : std::string(reason));
  event.set_restart_reason(std::string(reason));
  if (!reason.empty()) detail(event, "restart_reason", reason);
  return event;
}

v1::TaskEvent signaling(int64_t now, std::string_view signal, std::string_view reason) {
  std::string text = "Task being sent signal " + std::string(signal);
  if (!reason.empty()) text += ": " + std::string(reason);
  v1::TaskEvent event = make(now, "Signaling", std::move(text));
  event.set_task_signal(std::string(signal));
  event.set_task_signal_reason(std::string(reason));
  detail(event, "task_signal", signal);
  if (!reason.empty()) detail(event, "task_signal_reason", reason);
  return event;
}

v1::TaskEvent reconnected(int64_t now) { return make(now, "Reconnected", "Client reconnected"); }

v1::TaskEvent shutdown_delay(int64_t now, std::chrono::nanoseconds delay) {
  const std::string text = "Waiting for shutdown_delay of " + format_duration(delay) + " before killing the task.";
  v1::TaskEvent event = make(now, "Waiting for shutdown delay", text);
  event.set_message(text);
  return event;
}

v1::TaskEvent killing(int64_t now, std::chrono::nanoseconds timeout, std::string_view reason) {
  std::string text(reason);
  if (text.empty()) {
    text = timeout.count() == 0 ? "Sent interrupt"
                                : "Sent interrupt. Waiting " + format_duration(timeout) + " before force killing";
  }
  v1::TaskEvent event = make(now, "Killing", std::move(text));
  event.set_kill_timeout(timeout.count());
  event.set_kill_reason(std::string(reason));
  detail(event, "kill_timeout", format_duration(timeout));
  if (!reason.empty()) detail(event, "kill_reason", reason);
  return event;
}

v1::TaskEvent killed(int64_t now, std::string_view error) {
  v1::TaskEvent event = make(now, "Killed", error.empty() ? "Task successfully killed" : std::string(error));
  event.set_kill_error(std::string(error));
  if (!error.empty()) detail(event, "kill_error", error);
  return event;
}

v1::TaskEvent sibling_failed(int64_t now, std::string_view sibling) {
  v1::TaskEvent event =
      make(now, "Sibling Task Failed",
           sibling.empty() ? "Task's sibling failed" : "Task's sibling \"" + std::string(sibling) + "\" failed");
  event.set_failed_sibling(std::string(sibling));
  detail(event, "failed_sibling", sibling);
  return event;
}

v1::TaskEvent leader_dead(int64_t now) { return make(now, "Leader Task Dead", "Leader Task in Group dead"); }
v1::TaskEvent main_dead(int64_t now) { return make(now, "Main Tasks Dead", "Main tasks in the group died"); }

v1::TaskEvent unhealthy(int64_t now, std::string_view why) {
  v1::TaskEvent event = make(now, "Alloc Unhealthy", std::string(why));
  event.set_message(std::string(why));
  detail(event, "message", why);
  return event;
}

v1::TaskEvent driver_message(int64_t at, std::string_view driver, const driver::DriverTaskEvent& event) {
  v1::TaskEvent out = make(at, "Driver", event.message());
  out.set_driver_message(event.message());
  detail(out, "driver", driver);
  detail(out, "driver_message", event.message());
  for (const auto& [name, value] : event.annotations()) detail(out, name.c_str(), value);
  return out;
}

bool has_driver_message(const v1::TaskState& state, const v1::TaskEvent& event) {
  return std::ranges::any_of(state.events(), [&](const v1::TaskEvent& known) {
    return known.type() == event.type() && known.time() == event.time() &&
           known.driver_message() == event.driver_message();
  });
}

void append(v1::TaskState& state, v1::TaskEvent event) {
  if (event.fails_task()) state.set_failed(true);
  *state.add_events() = std::move(event);
  if (state.events_size() > kKept) state.mutable_events()->DeleteSubrange(0, state.events_size() - kKept);
}

}  // namespace drover::agent::event
