// Starting tasks, and waiting for them.
#include "trial.h"

namespace drover::conformance {
namespace {

// A start that must fail, and that the trial takes back when it did not.
Status refuses_start(Trial& t, const driver::TaskConfig& config) {
  driver::StartTaskRequest request;
  *request.mutable_task() = config;
  const auto started = t.call<driver::StartTaskResponse>("StartTask", request);
  if (started.ok() && started->result() == driver::StartTaskResponse::SUCCESS) {
    t.keep(started->handle());
    return failure("StartTask succeeds");
  }
  return started.status().code() == Code::unavailable || started.status().code() == Code::deadline_exceeded
             ? started.status()
             : ok_status();
}

Result<driver::TaskConfig> garbage(Trial& t) {
  DROVER_TRY(auto config, t.config("endless"));
  config.set_msgpack_driver_config("\xc1\xff garbage");
  return config;
}

using Waiting = std::future<Result<driver::ExitResult>>;

Waiting wait_async(Trial& t, const std::string& id, std::stop_token stop = {}) {
  return std::async(std::launch::async, [&t, id, stop] { return t.wait(id, t.limit(), stop); });
}

bool is_same(const driver::ExitResult& a, const driver::ExitResult& b) { return serialize(a) == serialize(b); }

const Check kChecks[] = {
    {"start.runs", "StartTask returns with the task running", "answer when the task runs, not before", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       return t.expect_running(task.id, "after StartTask");
     }},
    {"start.returns", "StartTask does not wait for the task's end", "wait for it on a thread of your own",
     Check::endless,
     [](Trial& t) -> Status {
       const auto began = std::chrono::steady_clock::now();
       DROVER_RETURN_IF_ERROR(t.launch("endless").status());
       return expect(std::chrono::steady_clock::now() - began < 10s, "it took more than ten seconds");
     }},
    {"start.handle-config", "the handle carries the task's configuration",
     "copy the configuration into the handle: RecoverTask gets nothing else", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       return expect(task.handle.config().id() == task.id, "the handle's id is \"" + task.handle.config().id() + "\"");
     }},
    {"start.handle-state", "the handle carries what is needed to find the task again", "fill driver_state",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       return expect(!task.handle.driver_state().empty(), "driver_state is empty");
     }},
    {"start.handle-version", "the handle has a version",
     "set it to 1 at least, so that a later driver knows what it reads", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       return expect(task.handle.version() >= 1, "the version is " + std::to_string(task.handle.version()));
     }},
    {"start.known-id", "a known identifier is refused", "look it up before starting anything", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       return refuses_start(t, task.config);
     }},
    {"start.known-id-harmless", "a refused second start leaves the task alone",
     "touch nothing before the identifier is known to be new", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       (void)refuses_start(t, task.config);
       t.keep(task.handle);
       DROVER_RETURN_IF_ERROR(t.expect_running(task.id, "after the second StartTask"));
       return t.stop(task.id);
     }},
    {"start.known-ended-id", "the identifier of an ended task is refused until it is destroyed",
     "keep ended tasks until DestroyTask", Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.ended());
       return refuses_start(t, task.config);
     }},
    {"start.garbage", "a task's configuration that is no msgpack is refused", "check what the decoder says",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto config, garbage(t));
       return refuses_start(t, config);
     }},
    {"start.failure-leaves-nothing", "a failed start leaves no task behind", "register the task last, or take it back",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto config, garbage(t));
       DROVER_RETURN_IF_ERROR(refuses_start(t, config));
       return t.expect_unknown(t.inspect(config.id()).status(), "InspectTask");
     }},
    {"start.after-failure", "after a failed start the same identifier can be used",
     "free the identifier when a start fails", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(auto config, garbage(t));
       DROVER_RETURN_IF_ERROR(refuses_start(t, config));
       const std::string id = config.id();
       DROVER_TRY(config, t.config("endless"));
       config.set_id(id);
       return t.start(config);
     }},
    {"start.invalid", "a task that cannot be started is an error of StartTask",
     "report what failed; do not answer with a dead task", Check::invalid,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto config, t.config("invalid"));
       return refuses_start(t, config);
     }},
    {"start.invalid-explained", "the error of a failed start says something", "put the cause into the status message",
     Check::invalid,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto config, t.config("invalid"));
       driver::StartTaskRequest request;
       *request.mutable_task() = config;
       const auto started = t.call<driver::StartTaskResponse>("StartTask", request);
       const std::string text = started.ok() ? started->driver_error_msg() : started.status().message();
       return expect(!text.empty(), "the message is empty");
     }},
    {"start.invalid-leaves-nothing", "a task that could not be started is unknown afterwards",
     "undo every step of a failed start", Check::invalid,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto config, t.config("invalid"));
       DROVER_RETURN_IF_ERROR(refuses_start(t, config));
       return t.expect_unknown(t.inspect(config.id()).status(), "InspectTask");
     }},
    {"start.two", "two tasks run side by side", "keep tasks by their identifier", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task one, t.launch("endless"));
       DROVER_TRY(const Task two, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.expect_running(one.id, "beside another"));
       return t.expect_running(two.id, "beside another");
     }},
    {"start.after-destroy", "the identifier of a destroyed task can be used again", "forget everything in DestroyTask",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.destroy(task.id, true));
       return t.start(task.config);
     }},
    {"start.no-task", "a StartTask without a task is refused, and it goes on", "check that the message has one",
     Check::nothing,
     [](Trial& t) -> Status {
       const auto started = t.call<driver::StartTaskResponse>("StartTask", driver::StartTaskRequest());
       if (started.ok() && started->result() == driver::StartTaskResponse::SUCCESS) {
         (void)t.destroy("", true);
         return failure("StartTask succeeds");
       }
       return t.is_alive();
     }},
    {"start.odd-names", "names with blanks and letters of other alphabets do no harm",
     "never build a path or a command line from them unquoted", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(auto config, t.config("endless"));
       config.set_job_name("a job; $(echo) \"quoted\"");
       config.set_task_group_name("größe 数");
       (*config.mutable_env())["ODD"] = "line one\nline two = $HOME";
       DROVER_RETURN_IF_ERROR(t.start(config));
       return t.expect_running(config.id(), "under an odd name");
     }},
    {"start.no-pipes", "a task whose output nobody wants starts",
     "open what stdout_path and stderr_path name, /dev/null too", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(auto config, t.config("endless"));
       config.set_stdout_path("/dev/null");
       config.set_stderr_path("/dev/null");
       DROVER_RETURN_IF_ERROR(t.start(config));
       return t.expect_running(config.id(), "without a reader");
     }},

    {"wait.exit-code", "the exit code arrives", "put it into the result's exit_code", Check::ending,
     [](Trial& t) -> Status {
       const auto code = t.setup().tasks.find("ending")->second.exit_code;
       if (!code) return t.inapplicable("the task \"ending\" names no exit_code");
       DROVER_TRY(const Task task, t.launch("ending"));
       DROVER_TRY(const auto result, t.wait(task.id));
       return expect(result.exit_code() == *code,
                     "it says " + std::to_string(result.exit_code()) + ", not " + std::to_string(*code));
     }},
    {"wait.no-signal", "a task that ended by itself has no signal", "set signal only when one ended the task",
     Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("ending"));
       DROVER_TRY(const auto result, t.wait(task.id));
       return expect(result.signal() == 0, "it says signal " + std::to_string(result.signal()));
     }},
    {"wait.no-oom", "a task that ended by itself was not out of memory",
     "set oom_killed only when the kernel killed it", Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("ending"));
       DROVER_TRY(const auto result, t.wait(task.id));
       return expect(!result.oom_killed(), "it says oom_killed");
     }},
    {"wait.result-present", "the answer to a wait holds a result", "hosts written in Go fail without it", Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("ending"));
       driver::WaitTaskRequest request;
       request.set_task_id(task.id);
       DROVER_TRY(const auto answer, t.call<driver::WaitTaskResponse>("WaitTask", request));
       return expect(answer.has_result(), "the result is missing");
     }},
    {"wait.again", "a task that has ended is answered at once, again and again", "keep the result until DestroyTask",
     Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("ending"));
       DROVER_TRY(const auto first, t.wait(task.id));
       for (int i = 0; i < 3; ++i) {
         DROVER_TRY(const auto next, t.wait(task.id));
         DROVER_RETURN_IF_ERROR(expect(is_same(first, next), "a later wait has another result"));
       }
       return ok_status();
     }},
    {"wait.blocks", "a wait for a running task blocks", "answer when the task has ended, not before", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       const auto result = t.wait(task.id, kShort);
       if (result.ok()) return failure("it answers while the task runs");
       return expect(result.status().code() == Code::deadline_exceeded, "it says " + result.status().to_string());
     }},
    {"wait.several", "three callers wait for one task, and all learn its end", "let each wait on its own",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       std::vector<Waiting> waiting;
       for (int i = 0; i < 3; ++i) waiting.push_back(wait_async(t, task.id));
       const Status stopped = t.stop(task.id);
       std::vector<Result<driver::ExitResult>> results;
       for (auto& one : waiting) results.push_back(one.get());
       DROVER_RETURN_IF_ERROR(stopped.with_context("StopTask"));
       for (const auto& result : results) {
         DROVER_RETURN_IF_ERROR(result.status());
         DROVER_RETURN_IF_ERROR(expect(is_same(*results[0], *result), "they learn different results"));
       }
       return ok_status();
     }},
    {"wait.cancelled-harmless", "a cancelled wait does not touch the task",
     "a wait's context is the caller's, not the task's", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       std::stop_source stop;
       auto waiting = wait_async(t, task.id, stop.get_token());
       stop.request_stop();
       if (waiting.get().ok()) return failure("the cancelled wait has a result");
       (void)t.wait(task.id, kShort);
       return t.expect_running(task.id, "after a cancelled wait");
     }},
    {"wait.cancelled-others", "of several waits one can be cancelled, and the others go on", "let each wait on its own",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       std::stop_source stop;
       auto cancelled = wait_async(t, task.id, stop.get_token()), other = wait_async(t, task.id);
       stop.request_stop();
       (void)cancelled.get();
       const bool goes_on = other.wait_for(kShort) == std::future_status::timeout;
       const Status stopped = t.stop(task.id);
       const auto result = other.get();
       DROVER_RETURN_IF_ERROR(stopped.with_context("StopTask"));
       if (!goes_on) return failure("the other wait ended with the cancelled one");
       return result.status();
     }},
    {"wait.deadline-harmless", "a wait that runs into its deadline does not touch the task", "as for a cancelled one",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       (void)t.wait(task.id, 20ms);
       (void)t.wait(task.id, 20ms);
       (void)t.wait(task.id, kShort);
       return t.expect_running(task.id, "after a wait's deadline");
     }},
    {"wait.unknown", "a wait for an unknown task says that it is not found",
     "the text is \"task not found for given id\"", Check::nothing,
     [](Trial& t) { return t.expect_unknown(t.wait(t.new_id()).status(), "WaitTask"); }},
    {"wait.own-task", "the end of one task is not the end of another", "keep results by identifier",
     Check::endless | Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task lasting, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.ended().status());
       const auto result = t.wait(lasting.id, kShort);
       return expect(!result.ok(), "the wait for the task that still runs has ended");
     }},
    {"wait.many", "a hundred waits for one task end together", "a wait must not need a thread of a small pool",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       std::vector<Waiting> waiting;
       for (int i = 0; i < 100; ++i) waiting.push_back(wait_async(t, task.id));
       const Status stopped = t.stop(task.id);
       Status first;
       for (auto& one : waiting) {
         const Status status = one.get().status();
         if (first.ok()) first = status;
       }
       DROVER_RETURN_IF_ERROR(stopped.with_context("StopTask"));
       return first;
     }},
};

}  // namespace

std::span<const Check> start_checks() { return kChecks; }

}  // namespace drover::conformance
