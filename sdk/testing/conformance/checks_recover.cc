// Finding tasks again: after a crash, after an orderly end, and with handles of any kind.
#include <poll.h>

#include "trial.h"

namespace drover::conformance {
namespace {

// Runs `call` against a running task, kills the plugin under it, and looks for the task with the next instance.
Status crash_during(Trial& t, std::string_view kind, const std::function<void(Trial&, const Task&)>& call) {
  DROVER_TRY(const Task task, t.launch(kind));
  auto calling = std::async(std::launch::async, [&] { call(t, task); });
  (void)calling.wait_for(kShort);
  t.subject().kill();
  calling.get();
  DROVER_RETURN_IF_ERROR(t.subject().start());
  DROVER_RETURN_IF_ERROR(t.configure());
  DROVER_TRY(const bool is_found, t.found_again(task));
  if (!is_found) return t.expect_unknown(t.inspect(task.id).status(), "InspectTask after RecoverTask found nothing");
  DROVER_RETURN_IF_ERROR(t.inspect(task.id).status().with_context("InspectTask after RecoverTask"));
  return t.destroy(task.id, true).with_context("DestroyTask after RecoverTask");
}

// With the next instance and the task recovered in it; not applicable where tasks do not outlive the plugin.
Status after_recovery(Trial& t, std::string_view kind, const std::function<Status(Trial&, const Task&)>& look) {
  DROVER_TRY(const Task task, t.launch(kind));
  DROVER_RETURN_IF_ERROR(t.replace());
  DROVER_TRY(const bool is_found, t.found_again(task));
  if (!is_found) return t.inapplicable("the driver says that its tasks do not outlive it");
  return look(t, task);
}

// Expects RecoverTask to refuse the spoiled handle: with an error, no crash.
Status refuses_handle(Trial& t, const std::function<void(driver::TaskHandle&)>& spoil) {
  DROVER_TRY(const Task task, t.launch("endless"));
  driver::TaskHandle handle = task.handle;
  handle.mutable_config()->set_id(t.new_id());
  spoil(handle);
  const Status status = t.recover(handle);
  if (status.ok()) {
    (void)t.destroy(handle.config().id(), true);
    return failure("RecoverTask succeeds");
  }
  if (status.code() == Code::unavailable || status.code() == Code::deadline_exceeded) return status;
  return t.is_alive();
}

const Check kChecks[] = {
    {"recover.known", "recovering a task that is known succeeds", "answer with success at once", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.recover(task.handle));
       return t.recover(task.handle).with_context("the second time");
     }},
    {"recover.known-harmless", "recovering a task that is known does not touch it", "answer with success at once",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.recover(task.handle));
       return t.expect_running(task.id, "after RecoverTask");
     }},
    {"recover.forgotten", "the next instance knows no task before it is told",
     "keep tasks in memory; the host has the handles", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.replace());
       return t.expect_unknown(t.inspect(task.id).status(), "InspectTask before RecoverTask");
     }},
    {"recover.after-crash", "after a crash RecoverTask finds the task or says not found",
     "whatever finds it must be in the handle", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.replace());
       return t.found_again(task).status();
     }},
    {"recover.after-end", "after an orderly end RecoverTask finds the task or says not found",
     "do not end tasks with the plugin", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.renew());
       return t.found_again(task).status();
     }},
    {"recover.runs", "a recovered task still runs", "RecoverTask must not restart or end it", Check::endless,
     [](Trial& t) {
       return after_recovery(t, "endless",
                             [](Trial& u, const Task& task) { return u.expect_running(task.id, "after RecoverTask"); });
     }},
    {"recover.twice", "a recovered task can be recovered again", "answer with success at once", Check::endless,
     [](Trial& t) {
       return after_recovery(t, "endless", [](Trial& u, const Task& task) { return u.recover(task.handle); });
     }},
    {"recover.wait-blocks", "a wait for a recovered task blocks", "start watching it in RecoverTask", Check::endless,
     [](Trial& t) {
       return after_recovery(t, "endless", [](Trial& u, const Task& task) -> Status {
         const auto result = u.wait(task.id, kShort);
         return expect(result.status().code() == Code::deadline_exceeded,
                       result.ok() ? "it answers while the task runs" : result.status().message());
       });
     }},
    {"recover.wait", "a wait for a recovered task learns its end", "start watching it in RecoverTask", Check::endless,
     [](Trial& t) {
       return after_recovery(t, "endless", [](Trial& u, const Task& task) -> Status {
         DROVER_RETURN_IF_ERROR(u.stop(task.id).with_context("StopTask"));
         return u.wait(task.id, 5s).status();
       });
     }},
    {"recover.stop", "a recovered task can be stopped", "RecoverTask must restore what StopTask needs", Check::endless,
     [](Trial& t) {
       return after_recovery(t, "endless", [](Trial& u, const Task& task) -> Status {
         DROVER_RETURN_IF_ERROR(u.stop(task.id));
         DROVER_TRY(const auto seen, u.inspect(task.id));
         return expect(seen.state() == driver::EXITED, "InspectTask says " + TaskState_Name(seen.state()));
       });
     }},
    {"recover.destroy", "a recovered task can be destroyed", "RecoverTask must restore what DestroyTask needs",
     Check::endless,
     [](Trial& t) {
       return after_recovery(t, "endless", [](Trial& u, const Task& task) -> Status {
         DROVER_RETURN_IF_ERROR(u.destroy(task.id, true));
         return u.expect_unknown(u.inspect(task.id).status(), "InspectTask after DestroyTask");
       });
     }},
    {"recover.stats", "a recovered task has statistics again", "start them in RecoverTask",
     Check::endless | Check::stats,
     [](Trial& t) {
       return after_recovery(t, "endless",
                             [](Trial& u, const Task& task) { return u.next(u.stats(task.id)).status(); });
     }},
    {"recover.signal", "a recovered task takes signals", "RecoverTask must restore what SignalTask needs",
     Check::endless | Check::signals,
     [](Trial& t) {
       return after_recovery(t, "endless", [](Trial& u, const Task& task) { return u.signal(task.id, "SIGCONT"); });
     }},
    {"recover.known-id", "the identifier of a recovered task is refused to a new one",
     "RecoverTask registers it like StartTask", Check::endless,
     [](Trial& t) {
       return after_recovery(t, "endless", [](Trial& u, const Task& task) -> Status {
         driver::StartTaskRequest request;
         *request.mutable_task() = task.config;
         const auto started = u.call<driver::StartTaskResponse>("StartTask", request);
         return expect(!started.ok() || started->result() != driver::StartTaskResponse::SUCCESS, "StartTask succeeds");
       });
     }},
    {"recover.started-at", "a recovered task keeps the time of its start", "put it into driver_state", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_TRY(const auto before, t.inspect(task.id));
       DROVER_RETURN_IF_ERROR(t.replace());
       DROVER_TRY(const bool is_found, t.found_again(task));
       if (!is_found) return t.inapplicable("the driver says that its tasks do not outlive it");
       DROVER_TRY(const auto after, t.inspect(task.id));
       const auto off = std::abs(before.started_at().seconds() - after.started_at().seconds());
       return expect(off <= 1, "started_at has moved by " + std::to_string(off) + " seconds");
     }},
    {"recover.empty-task-id", "the identifier is taken from the handle when the request has none",
     "hosts leave task_id empty; read handle.config.id", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       driver::RecoverTaskRequest request;
       *request.mutable_handle() = task.handle;
       return t.call<driver::RecoverTaskResponse>("RecoverTask", request).status();
     }},
    {"recover.ended", "a task that ended is found with its result, or not found", "never say that it runs",
     Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.ended());
       DROVER_RETURN_IF_ERROR(t.replace());
       DROVER_TRY(const bool is_found, t.found_again(task));
       if (!is_found) return ok_status();
       return t.wait(task.id, 5s).status().with_context("WaitTask");
     }},
    {"recover.two", "two tasks are recovered side by side", "keep tasks by their identifier", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task one, t.launch("endless"));
       DROVER_TRY(const Task two, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.replace());
       DROVER_TRY(const bool first, t.found_again(one));
       DROVER_TRY(const bool second, t.found_again(two));
       DROVER_RETURN_IF_ERROR(expect(first == second, "one is found and the other is not"));
       if (!first) return ok_status();
       DROVER_RETURN_IF_ERROR(t.expect_running(one.id, "beside another recovered one"));
       return t.expect_running(two.id, "beside another recovered one");
     }},
    {"recover.garbage", "a handle with a state that cannot be read is refused, and it goes on",
     "check what the decoder says", Check::endless,
     [](Trial& t) { return refuses_handle(t, [](auto& handle) { handle.set_driver_state("\xff not readable"); }); }},
    {"recover.empty-state", "a handle without a state is refused, and it goes on", "do not take zeros for a process",
     Check::endless, [](Trial& t) { return refuses_handle(t, [](auto& handle) { handle.clear_driver_state(); }); }},
    {"recover.version-zero", "a handle of an unknown version is refused, and it goes on",
     "look at the version before the state", Check::endless,
     [](Trial& t) -> Status {
       if (t.setup().is_sdk) return refuses_handle(t, [](auto& handle) { handle.set_version(0); });
       return t.inapplicable("older drivers do not look at versions");
     }},
    {"recover.no-handle", "a RecoverTask without a handle is refused, and it goes on", "check that the message has one",
     Check::nothing,
     [](Trial& t) -> Status {
       const Status status = t.call<driver::RecoverTaskResponse>("RecoverTask", driver::RecoverTaskRequest()).status();
       if (status.ok()) return failure("RecoverTask succeeds");
       if (status.code() == Code::unavailable) return status;
       return t.is_alive();
     }},
};

const Check kCrash[] = {
    kCrashIdle,
    {"crash.start", "after a crash of the plugin during StartTask, a new task starts",
     "leave nothing that a half start would block", Check::program | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto config, t.config("endless"));
       driver::StartTaskRequest request;
       *request.mutable_task() = config;
       auto starting =
           std::async(std::launch::async, [&] { return t.call<driver::StartTaskResponse>("StartTask", request); });
       (void)starting.wait_for(kShort);
       t.subject().kill();
       const auto started = starting.get();
       DROVER_RETURN_IF_ERROR(t.subject().start());
       DROVER_RETURN_IF_ERROR(t.configure());
       // The driver finds by its ID what runs although nobody was told, where it can; that goes with the check.
       const auto known = started.ok() ? started : t.call<driver::StartTaskResponse>("StartTask", request);
       if (known.ok() && known->result() == driver::StartTaskResponse::SUCCESS) t.keep(known->handle());
       return t.launch("endless").status();
     }},
    {"crash.wait", "after a crash of the plugin during WaitTask, RecoverTask finds the task or says not found",
     "whatever finds it must be in the handle", Check::endless,
     [](Trial& t) { return crash_during(t, "endless", [](Trial& u, const Task& task) { (void)u.wait(task.id); }); }},
    {"crash.stop", "after a crash of the plugin during StopTask, RecoverTask finds the task or says not found",
     "a half stopped task is one that runs or has ended", Check::deaf,
     [](Trial& t) {
       return crash_during(t, "deaf", [](Trial& u, const Task& task) { (void)u.stop(task.id, 10s, "SIGCONT"); });
     }},
    {"crash.destroy", "after a crash of the plugin during DestroyTask, RecoverTask finds the task or says not found",
     "a half destroyed task is one that runs or has gone", Check::endless,
     [](Trial& t) {
       return crash_during(t, "endless", [](Trial& u, const Task& task) { (void)u.destroy(task.id, false); });
     }},
    {"crash.inspect", "after a crash of the plugin during InspectTask, RecoverTask finds the task or says not found",
     "looking changes nothing", Check::endless,
     [](Trial& t) { return crash_during(t, "endless", [](Trial& u, const Task& task) { (void)u.inspect(task.id); }); }},
    {"crash.signal", "after a crash of the plugin during SignalTask, RecoverTask finds the task or says not found",
     "a signal changes nothing of what the driver keeps", Check::endless | Check::signals,
     [](Trial& t) {
       return crash_during(t, "endless", [](Trial& u, const Task& task) { (void)u.signal(task.id, "SIGCONT"); });
     }},
    {"crash.stats", "after a crash of the plugin during TaskStats, RecoverTask finds the task or says not found",
     "sampling must not belong to the task's life", Check::endless | Check::stats,
     [](Trial& t) {
       return crash_during(t, "endless", [](Trial& u, const Task& task) {
         const auto stream = u.stats(task.id, 100ms);
         while (stream->next()) {
         }
       });
     }},
    {"crash.exec", "after a crash of the plugin during ExecTask, RecoverTask finds the task or says not found",
     "the command may be lost, the task may not", Check::endless | Check::exec,
     [](Trial& t) {
       return crash_during(t, "endless", [](Trial& u, const Task& task) {
         (void)u.exec(task.id, {"/bin/sh", "-c", "sleep 1"}, 5s);
       });
     }},
    {"crash.recover",
     "after a crash of the plugin during RecoverTask, the next RecoverTask finds the task or says not found",
     "RecoverTask must be repeatable", Check::endless,
     [](Trial& t) {
       return crash_during(t, "endless", [](Trial& u, const Task& task) { (void)u.recover(task.handle); });
     }},
    {"crash.events", "after a crash of the plugin during TaskEvents, the next stream opens",
     "keep no lock or file that stops a second start", Check::nothing,
     [](Trial& t) -> Status {
       const auto stream = t.open("TaskEvents", driver::TaskEventsRequest());
       (void)t.eventually([] { return false; }, kShort);
       DROVER_RETURN_IF_ERROR(t.replace());
       const auto next = t.open("TaskEvents", driver::TaskEventsRequest());
       return t.expect_open(next);
     }},
    {"crash.fingerprint", "after a crash of the plugin during Fingerprint, the next stream has a fingerprint",
     "keep no lock or file that stops a second start", Check::nothing,
     [](Trial& t) -> Status {
       const auto stream = t.open("Fingerprint", driver::FingerprintRequest());
       DROVER_RETURN_IF_ERROR(t.next(stream).status());
       DROVER_RETURN_IF_ERROR(t.replace());
       return t.fingerprint().status();
     }},
    {"crash.configure", "after a crash of the plugin during SetConfig, the next instance takes its configuration",
     "write nothing half", Check::nothing,
     [](Trial& t) -> Status {
       auto configuring = std::async(std::launch::async, [&] { return t.configure(); });
       (void)configuring.wait_for(kShort);
       t.subject().kill();
       (void)configuring.get();
       DROVER_RETURN_IF_ERROR(t.subject().start());
       return t.configure();
     }},
    {"crash.three-times", "after three crashes in a row RecoverTask finds the task or says not found",
     "a handle does not wear out", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       for (int i = 0; i < 3; ++i) {
         DROVER_RETURN_IF_ERROR(t.replace());
         DROVER_RETURN_IF_ERROR(t.found_again(task).status());
       }
       return ok_status();
     }},
    {"crash.callers-learn", "whoever waits while the plugin crashes learns it", "nothing to do: the socket's end tells",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       auto waiting = std::async(std::launch::async, [&] { return t.wait(task.id); });
       (void)waiting.wait_for(kShort);
       t.subject().kill();
       const auto result = waiting.get();
       DROVER_RETURN_IF_ERROR(t.subject().start());
       DROVER_RETURN_IF_ERROR(t.configure());
       (void)t.recover(task.handle);
       return expect(!result.ok() && result.status().code() != Code::deadline_exceeded,
                     "the wait did not end with the plugin");
     }},
};

}  // namespace

std::span<const Check> recover_checks() { return kChecks; }
std::span<const Check> crash_checks() { return kCrash; }

}  // namespace drover::conformance
