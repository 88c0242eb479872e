// Stopping tasks, and forgetting them.
#include <algorithm>

#include "trial.h"

namespace drover::conformance {
namespace {

Status expect_ended(Trial& t, const std::string& id, const std::string& when) {
  DROVER_TRY(const auto task, t.inspect(id).with_context("InspectTask " + when));
  return expect(task.state() == driver::EXITED,
                "the task should have ended " + when + ", but InspectTask says " + TaskState_Name(task.state()));
}

Status stops_early(Trial& t) {
  DROVER_TRY(const Task task, t.launch("endless"));
  driver::StopTaskRequest request;
  request.set_task_id(task.id);
  *request.mutable_timeout() = duration_of(t.limit() + 60s);
  return t.call<driver::StopTaskResponse>("StopTask", request, std::min<std::chrono::nanoseconds>(t.limit(), 10s))
      .status();
}

const Check kChecks[] = {
    {"stop.ends", "StopTask ends the task", "signal it, wait, kill it", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.stop(task.id));
       return expect_ended(t, task.id, "after StopTask");
     }},
    {"stop.result", "after StopTask a wait has its result", "let StopTask return when the task has gone",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.stop(task.id));
       return t.wait(task.id, 2s).status();
     }},
    {"stop.idempotent", "a stopped task can be stopped again", "answer with success when there is nothing left to do",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.stop(task.id));
       return t.stop(task.id).with_context("the second StopTask");
     }},
    {"stop.ended", "a task that has ended by itself can be stopped",
     "answer with success when there is nothing left to do", Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.ended());
       return t.stop(task.id);
     }},
    {"stop.keeps-result", "stopping an ended task does not change its result", "keep the first result", Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("ending"));
       DROVER_TRY(const auto before, t.wait(task.id));
       (void)t.stop(task.id);
       DROVER_TRY(const auto after, t.wait(task.id));
       return expect(serialize(before) == serialize(after), "it is another one");
     }},
    {"stop.unknown", "stopping an unknown task says that it is not found",
     "the text is \"task not found for given id\"", Check::nothing,
     [](Trial& t) { return t.expect_unknown(t.stop(t.new_id()), "StopTask"); }},
    {"stop.signal", "StopTask takes the name of a signal", "names as SIGTERM; the host hands on what the job says",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.stop(task.id, 2s, "SIGTERM"));
       return expect_ended(t, task.id, "after StopTask with SIGTERM");
     }},
    {"stop.unknown-signal", "StopTask with a signal that there is not is refused",
     "check the name before sending anything", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       return expect(!t.stop(task.id, 100ms, "SIGNOPE").ok(), "StopTask succeeds");
     }},
    {"stop.unknown-signal-harmless", "a refused signal leaves the task alone", "check the name before sending anything",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       if (t.stop(task.id, 100ms, "SIGNOPE").ok())
         return t.inapplicable("StopTask accepts every signal (stop.unknown-signal)");
       return t.expect_running(task.id, "after a refused StopTask");
     }},
    {"stop.kills", "a task that ignores the signal is killed after the timeout", "wait for the timeout, then kill",
     Check::deaf,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("deaf"));
       DROVER_RETURN_IF_ERROR(t.stop(task.id, 100ms, "SIGCONT"));
       return expect_ended(t, task.id, "after StopTask and its timeout");
     }},
    {"stop.waits", "StopTask gives the task its timeout before it kills", "do not kill at once", Check::deaf,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("deaf"));
       const auto began = std::chrono::steady_clock::now();
       DROVER_RETURN_IF_ERROR(t.stop(task.id, 150ms, "SIGCONT"));
       return expect(std::chrono::steady_clock::now() - began >= 140ms, "the task was gone before");
     }},
    {"stop.killed-signal", "a task that was killed says so", "set the result's signal to 9", Check::deaf,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("deaf"));
       DROVER_RETURN_IF_ERROR(t.stop(task.id, 50ms, "SIGCONT"));
       DROVER_TRY(const auto result, t.wait(task.id));
       return expect(
           result.signal() == 9 || result.exit_code() == 137,
           "it says signal " + std::to_string(result.signal()) + ", exit code " + std::to_string(result.exit_code()));
     }},
    {"stop.early", "StopTask returns when the task has gone, not when its timeout is over", "wait for either",
     Check::endless,
     [](Trial& t) {
       // A shell that is the first process of its namespace may lose a signal in its first moment: the driver has three
       // tasks to show it with.
       Status status = stops_early(t);
       for (int again = 0; again < 2 && !status.ok(); ++again) status = stops_early(t);
       return status;
     }},
    {"stop.at-once", "a timeout of zero kills at once", "zero is a timeout like another", Check::deaf,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("deaf"));
       const auto began = std::chrono::steady_clock::now();
       DROVER_RETURN_IF_ERROR(t.stop(task.id, 0s, "SIGCONT"));
       return expect(std::chrono::steady_clock::now() - began < 5s, "it took more than five seconds");
     }},
    {"stop.no-timeout", "a StopTask without a timeout is answered, and it goes on",
     "an absent duration is zero, or an error", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       driver::StopTaskRequest request;
       request.set_task_id(task.id);
       const Status status = t.call<driver::StopTaskResponse>("StopTask", request).status();
       if (status.code() == Code::deadline_exceeded) return status;
       return t.is_alive();
     }},
    {"stop.twice-at-once", "two StopTasks at once both succeed", "let the second one wait for the same end",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       auto other = std::async(std::launch::async, [&] { return t.stop(task.id); });
       const Status one = t.stop(task.id), two = other.get();
       DROVER_RETURN_IF_ERROR(one);
       return two;
     }},
    {"stop.own-task", "stopping one task leaves another alone", "signal one process group, not all", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task one, t.launch("endless"));
       DROVER_TRY(const Task two, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.stop(one.id));
       return t.expect_running(two.id, "after another was stopped");
     }},

    {"destroy.forgets", "a destroyed task is unknown", "forget everything in DestroyTask", Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.ended());
       DROVER_RETURN_IF_ERROR(t.destroy(task.id, false));
       return t.expect_unknown(t.inspect(task.id).status(), "InspectTask after DestroyTask");
     }},
    {"destroy.wait-after", "a wait for a destroyed task says that it is not found", "forget its result, too",
     Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.ended());
       DROVER_RETURN_IF_ERROR(t.destroy(task.id, false));
       return t.expect_unknown(t.wait(task.id).status(), "WaitTask after DestroyTask");
     }},
    {"destroy.refuses-running", "a running task is not destroyed without force", "look at the state first",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       return expect(!t.destroy(task.id, false).ok(), "DestroyTask succeeds");
     }},
    {"destroy.refusal-harmless", "a refused DestroyTask leaves the task alone", "look at the state first",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       if (t.destroy(task.id, false).ok())
         return t.inapplicable("DestroyTask does not refuse (destroy.refuses-running)");
       return t.expect_running(task.id, "after a refused DestroyTask");
     }},
    {"destroy.force", "with force a running task is ended and forgotten", "kill it first", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.destroy(task.id, true));
       return t.expect_unknown(t.inspect(task.id).status(), "InspectTask after DestroyTask");
     }},
    {"destroy.force-ended", "with force an ended task is forgotten",
     "force changes nothing for it; hosts always use it", Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.ended());
       DROVER_RETURN_IF_ERROR(t.destroy(task.id, true));
       return t.expect_unknown(t.inspect(task.id).status(), "InspectTask after DestroyTask");
     }},
    {"destroy.unknown", "destroying an unknown task says that it is not found",
     "the text is \"task not found for given id\"", Check::nothing,
     [](Trial& t) { return t.expect_unknown(t.destroy(t.new_id(), true), "DestroyTask"); }},
    {"destroy.twice", "destroying a task twice says that it is not found", "forget everything the first time",
     Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.ended());
       DROVER_RETURN_IF_ERROR(t.destroy(task.id, true));
       return t.expect_unknown(t.destroy(task.id, true), "the second DestroyTask");
     }},
    {"destroy.ends-waits", "DestroyTask with force ends the waits for the task", "wake who waits", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       auto waiting = std::async(std::launch::async, [&] { return t.wait(task.id, 5s); });
       (void)waiting.wait_for(kShort);
       const Status destroyed = t.destroy(task.id, true);
       const auto result = waiting.get();
       DROVER_RETURN_IF_ERROR(destroyed);
       return expect(result.status().code() != Code::deadline_exceeded, "the wait goes on");
     }},
    {"destroy.own-task", "destroying one task leaves another alone", "free what belongs to the one task",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task one, t.launch("endless"));
       DROVER_TRY(const Task two, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.destroy(one.id, true));
       return t.expect_running(two.id, "after another was destroyed");
     }},
};

}  // namespace

std::span<const Check> end_checks() { return kChecks; }

}  // namespace drover::conformance
