#include "fault_parts.h"

namespace drover::faulty {
namespace {

using Start = driver::StartTaskResponse;
using Waited = driver::WaitTaskResponse;

void change_handle(Methods& m, std::function<void(driver::TaskHandle&)> change) {
  answer<Start>(m, "StartTask", [change](auto& a) { change(*a.mutable_handle()); });
}

// A start whose error is swallowed: where the text has this in it, a task that nobody knows is said to run.
void start_anyway(Methods& m, const std::string& only) {
  wrap(m, "StartTask", [only](const Handler& inner, Call& call) {
    const Status status = inner(call);
    if (status.ok() || status.message().find(only) == std::string::npos) return status;
    driver::StartTaskRequest request;
    (void)request.ParseFromString(call.request());
    Start answer;
    answer.mutable_handle()->set_version(1);
    *answer.mutable_handle()->mutable_config() = request.task();
    answer.mutable_handle()->set_driver_state("1");
    (void)call.send(serialize(answer));
    return ok_status();
  });
}

// After a start failed with this in its text, a task of that identifier is there all the same.
void leave_behind(Methods& m, const WorldPtr& w, const std::string& only) {
  wrap(m, "StartTask", [w, only](const Handler& inner, Call& call) {
    const Status status = inner(call);
    if (!status.ok() && status.message().find(only) != std::string::npos) {
      driver::StartTaskRequest request;
      (void)request.ParseFromString(call.request());
      (void)count(w, "left " + request.task().id());
    }
    return status;
  });
  wrap(m, "InspectTask", [w](const Handler& inner, Call& call) {
    if (!has_mark(w, "left " + id_of(call))) return inner(call);
    driver::InspectTaskResponse answer;
    answer.mutable_task()->set_id(id_of(call));
    (void)call.send(serialize(answer));
    return ok_status();
  });
}

void only_one_task(Methods& m, const WorldPtr& w) {
  wrap(m, "StartTask", [w](const Handler& inner, Call& call) {
    size_t running = 0;
    {
      const std::lock_guard lock(w->mutex);
      for (const auto& [id, task] : w->tasks) running += task->result ? 0 : 1;
    }
    return running > 0 ? Status(Code::unknown, "one is enough") : inner(call);
  });
}

void change_result(Methods& m, std::function<void(driver::ExitResult&)> change) {
  answer<Waited>(m, "WaitTask", [change](auto& a) { change(*a.mutable_result()); });
}

// Adds to a wait's end an effect on its task, when the task had not ended by itself.
void after_wait(Methods& m, std::function<void(Call&)> then) {
  wrap(m, "WaitTask", [then](const Handler& inner, Call& call) {
    const Status status = inner(call);
    if (call.stop().stop_requested()) then(call);
    return status;
  });
}

void refuse_ended(Methods& m, const WorldPtr& w, const std::string& name, const std::string& kind = "") {
  wrap(m, name, [w, kind](const Handler& inner, Call& call) {
    const auto task = task_of(w, id_of(call));
    if (task && (kind.empty() || task->kind == kind)) {
      const std::lock_guard lock(w->mutex);
      if (task->result) return Status(Code::unknown, "it has ended");
    }
    return inner(call);
  });
}

void change_stop(Methods& m, std::function<void(driver::StopTaskRequest&)> change) {
  request<driver::StopTaskRequest>(m, "StopTask", std::move(change));
}

const Fault kFaults[] = {
    {"start.runs",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "StartTask", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         driver::StartTaskRequest request;
         (void)request.ParseFromString(call.request());
         if (status.ok() && count(w, "starts") % 1 == 0) end_task(w, request.task().id());
         return status;
       });
       delay(m, "InspectTask", 5ms);
     }},
    {"start.returns", [](Methods& m, const WorldPtr&) { delay(m, "StartTask", 11s); }},
    {"start.handle-config",
     [](Methods& m, const WorldPtr&) { change_handle(m, [](auto& h) { h.mutable_config()->clear_id(); }); }},
    {"start.handle-state",
     [](Methods& m, const WorldPtr&) { change_handle(m, [](auto& h) { h.clear_driver_state(); }); }},
    {"start.handle-version", [](Methods& m, const WorldPtr&) { change_handle(m, [](auto& h) { h.set_version(0); }); }},
    {"start.known-id", [](Methods& m, const WorldPtr&) { start_anyway(m, "was started before"); }},
    {"start.known-id-harmless",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "StartTask", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         driver::StartTaskRequest request;
         (void)request.ParseFromString(call.request());
         if (status.code() == Code::already_exists) end_task(w, request.task().id());
         return status;
       });
     }},
    {"start.known-ended-id",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "StartTask", [w](const Handler& inner, Call& call) {
         driver::StartTaskRequest request;
         (void)request.ParseFromString(call.request());
         const auto task = task_of(w, request.task().id());
         if (!task || task->kind != "ending") return inner(call);
         Start answer;
         *answer.mutable_handle()->mutable_config() = request.task();
         (void)call.send(serialize(answer));
         return ok_status();
       });
     }},
    {"start.garbage", [](Methods& m, const WorldPtr&) { start_anyway(m, "msgpack"); }},
    {"start.failure-leaves-nothing", [](Methods& m, const WorldPtr& w) { leave_behind(m, w, "msgpack"); }},
    {"start.after-failure",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "StartTask", [w](const Handler& inner, Call& call) {
         driver::StartTaskRequest request;
         (void)request.ParseFromString(call.request());
         {
           const std::lock_guard lock(w->mutex);
           if (w->counts.contains("failed " + request.task().id())) return Status(Code::unknown, "failed before");
         }
         const Status status = inner(call);
         if (!status.ok()) (void)count(w, "failed " + request.task().id());
         return status;
       });
     }},
    {"start.invalid", [](Methods& m, const WorldPtr&) { start_anyway(m, "told to fail"); }},
    {"start.invalid-explained",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "StartTask", [](const Handler& inner, Call& call) {
         const Status status = inner(call);
         return status.message() == "told to fail" ? Status(Code::unknown, "") : status;
       });
     }},
    {"start.invalid-leaves-nothing", [](Methods& m, const WorldPtr& w) { leave_behind(m, w, "told to fail"); }},
    {"start.two", [](Methods& m, const WorldPtr& w) { only_one_task(m, w); }},
    {"start.after-destroy",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "DestroyTask", [w](const Handler& inner, Call& call) {
         const std::string id = id_of(call);
         const Status status = inner(call);
         if (status.ok()) (void)count(w, "destroyed " + id);
         return status;
       });
       wrap(m, "StartTask", [w](const Handler& inner, Call& call) {
         driver::StartTaskRequest request;
         (void)request.ParseFromString(call.request());
         {
           const std::lock_guard lock(w->mutex);
           if (w->counts.contains("destroyed " + request.task().id()))
             return Status(Code::unknown, "was destroyed before");
         }
         return inner(call);
       });
     }},
    {"start.no-task", [](Methods& m, const WorldPtr&) { start_anyway(m, "a task needs an id"); }},
    {"start.odd-names",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "StartTask", [](const Handler& inner, Call& call) {
         driver::StartTaskRequest request;
         (void)request.ParseFromString(call.request());
         return request.task().job_name().find(' ') == std::string::npos ? inner(call)
                                                                         : Status(Code::unknown, "a bad name");
       });
     }},
    {"start.no-pipes",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "StartTask", [](const Handler& inner, Call& call) {
         driver::StartTaskRequest request;
         (void)request.ParseFromString(call.request());
         return request.task().stdout_path() != "/dev/null" ? inner(call) : Status(Code::unknown, "no FIFO");
       });
     }},

    {"wait.exit-code", [](Methods& m, const WorldPtr&) { change_result(m, [](auto& r) { r.set_exit_code(0); }); }},
    {"wait.no-signal", [](Methods& m, const WorldPtr&) { change_result(m, [](auto& r) { r.set_signal(9); }); }},
    {"wait.no-oom", [](Methods& m, const WorldPtr&) { change_result(m, [](auto& r) { r.set_oom_killed(true); }); }},
    {"wait.result-present",
     [](Methods& m, const WorldPtr&) { answer<Waited>(m, "WaitTask", [](auto& a) { a.clear_result(); }); }},
    {"wait.again",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "WaitTask", [w](const Handler& inner, Call& call) {
         const auto task = task_of(w, id_of(call));
         if (task && task->kind == "ending" && count(w, "waits " + id_of(call)) > 2)
           return Status(Code::unknown, "was told before");
         return inner(call);
       });
     }},
    {"wait.blocks", [](Methods& m, const WorldPtr&) { do_nothing(m, "WaitTask"); }},
    {"wait.several",
     [](Methods& m, const WorldPtr& w) {
       answer<Waited>(m, "WaitTask", [w](auto& a) {
         if (a.result().signal() == 2) a.mutable_result()->set_exit_code(count(w, "waiters"));
       });
     }},
    {"wait.cancelled-harmless",
     [](Methods& m, const WorldPtr& w) { after_wait(m, [w](Call& call) { end_task(w, id_of(call)); }); }},
    {"wait.cancelled-others",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "WaitTask", [w](const Handler&, Call& call) {
         const auto task = task_of(w, id_of(call));
         if (!task) return Status(Code::unknown, "task not found for given id");
         const std::string mark = "left " + id_of(call);
         std::unique_lock lock(w->mutex);
         const SteadyTime end = std::chrono::steady_clock::now() + 30s;
         w->changed.wait_until(lock, call.stop(), std::min(end, task->ends_at),
                               [&] { return task->result || w->counts.contains(mark); });
         if (!task->result && std::chrono::steady_clock::now() >= task->ends_at)
           task->result.emplace().set_exit_code(7);
         if (call.stop().stop_requested() && !task->result) ++w->counts[mark];
         w->changed.notify_all();
         if (!task->result) return cancelled("somebody has gone");
         Waited answer;
         *answer.mutable_result() = *task->result;
         lock.unlock();
         (void)call.send(serialize(answer));
         return ok_status();
       });
     }},
    {"wait.deadline-harmless",
     [](Methods& m, const WorldPtr& w) {
       after_wait(m, [w](Call& call) {
         if (count(w, "deadlines " + id_of(call)) > 1) end_task(w, id_of(call));
       });
     }},
    {"wait.unknown", [](Methods& m, const WorldPtr&) { misname_unknown(m, "WaitTask"); }},
    {"wait.own-task",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "WaitTask", [w](const Handler& inner, Call& call) {
         bool has_other = false;
         {
           const std::lock_guard lock(w->mutex);
           for (const auto& [id, task] : w->tasks)
             has_other |= task->kind == "ending" && task->result && id != id_of(call);
         }
         if (has_other) {
           (void)call.send("");
           return ok_status();
         }
         return inner(call);
       });
     }},
    {"wait.many",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "WaitTask", [w](const Handler& inner, Call& call) {
         size_t waiting = 0;
         {
           const std::lock_guard lock(w->mutex);
           waiting = w->in_flight.count(method("WaitTask"));
         }
         return waiting > 10 ? Status(Code::unknown, "too many wait") : inner(call);
       });
     }},

    {"stop.ends", [](Methods& m, const WorldPtr&) { do_nothing(m, "StopTask"); }},
    {"stop.result",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "StopTask", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (status.ok()) (void)count(w, "stopped " + id_of(call));
         return status;
       });
       wrap(m, "WaitTask", [w](const Handler& inner, Call& call) {
         bool is_stopped = false;
         {
           const std::lock_guard lock(w->mutex);
           is_stopped = w->counts.contains("stopped " + id_of(call));
         }
         if (is_stopped) (void)serve::wait(call, 10s);
         return inner(call);
       });
     }},
    {"stop.idempotent", [](Methods& m, const WorldPtr& w) { refuse_ended(m, w, "StopTask", "endless"); }},
    {"stop.ended", [](Methods& m, const WorldPtr& w) { refuse_ended(m, w, "StopTask", "ending"); }},
    {"stop.keeps-result",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "StopTask", [w](const Handler& inner, Call& call) {
         const auto task = task_of(w, id_of(call));
         const Status status = inner(call);
         const std::lock_guard lock(w->mutex);
         if (task && task->kind == "ending" && task->result) task->result->set_exit_code(0);
         return status;
       });
     }},
    {"stop.unknown", [](Methods& m, const WorldPtr&) { misname_unknown(m, "StopTask"); }},
    {"stop.signal",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "StopTask", [](const Handler& inner, Call& call) {
         driver::StopTaskRequest request;
         (void)request.ParseFromString(call.request());
         return request.signal() == "SIGTERM" ? Status(Code::unknown, "not that one") : inner(call);
       });
     }},
    {"stop.unknown-signal",
     [](Methods& m, const WorldPtr&) {
       change_stop(m, [](auto& r) {
         if (r.signal() == "SIGNOPE") r.clear_signal();
       });
     }},
    {"stop.unknown-signal-harmless",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "StopTask", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (status.code() == Code::invalid_argument) end_task(w, id_of(call));
         return status;
       });
     }},
    {"stop.kills",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "StopTask", [w](const Handler& inner, Call& call) {
         const auto task = task_of(w, id_of(call));
         if (!task || task->kind != "deaf") return inner(call);
         driver::StopTaskRequest request;
         (void)request.ParseFromString(call.request());
         (void)serve::wait(call, serve::duration_of(request.timeout()));
         (void)call.send("");
         return ok_status();
       });
     }},
    {"stop.waits", [](Methods& m, const WorldPtr&) { change_stop(m, [](auto& r) { r.mutable_timeout()->Clear(); }); }},
    {"stop.killed-signal",
     [](Methods& m, const WorldPtr&) {
       change_result(m, [](auto& r) {
         if (r.signal() == 9) {
           r.clear_signal();
           r.set_exit_code(1);
         }
       });
     }},
    {"stop.early",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "StopTask", [](const Handler& inner, Call& call) {
         driver::StopTaskRequest request;
         (void)request.ParseFromString(call.request());
         const Status status = inner(call);
         if (request.timeout().seconds() > 50) (void)serve::wait(call, 20s);
         return status;
       });
     }},
    {"stop.at-once",
     [](Methods& m, const WorldPtr&) {
       change_stop(m, [](auto& r) {
         if (r.has_timeout() && r.timeout().seconds() == 0 && r.timeout().nanos() == 0)
           r.mutable_timeout()->set_seconds(60);
       });
     }},
    {"stop.no-timeout",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "StopTask", [](const Handler& inner, Call& call) {
         driver::StopTaskRequest request;
         (void)request.ParseFromString(call.request());
         if (!request.has_timeout()) (void)serve::wait(call, 60s);
         return inner(call);
       });
     }},
    {"stop.twice-at-once",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "StopTask", [w](const Handler& inner, Call& call) {
         {
           const std::lock_guard lock(w->mutex);
           if (w->in_flight.count(method("StopTask")) > 1) return Status(Code::unknown, "is being stopped");
         }
         return inner(call);
       });
       delay(m, "StopTask", 5ms);
     }},
    {"stop.own-task",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "StopTask", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (status.ok()) end_all(w);
         return status;
       });
     }},

    {"destroy.forgets", [](Methods& m, const WorldPtr&) { do_nothing(m, "DestroyTask"); }},
    {"destroy.wait-after", [](Methods& m, const WorldPtr&) { accept(m, "WaitTask", "not found"); }},
    {"destroy.refuses-running", [](Methods& m, const WorldPtr&) { accept(m, "DestroyTask", "running"); }},
    {"destroy.refusal-harmless",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "DestroyTask", [w](const Handler& inner, Call& call) {
         const std::string id = id_of(call);
         const Status status = inner(call);
         if (status.code() == Code::failed_precondition) end_task(w, id);
         return status;
       });
     }},
    {"destroy.force",
     [](Methods& m, const WorldPtr&) {
       request<driver::DestroyTaskRequest>(m, "DestroyTask", [](auto& r) { r.set_force(false); });
     }},
    {"destroy.force-ended",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "DestroyTask", [w](const Handler& inner, Call& call) {
         driver::DestroyTaskRequest request;
         (void)request.ParseFromString(call.request());
         const auto task = task_of(w, request.task_id());
         const bool is_ended = task && task->kind == "ending";
         return request.force() && is_ended ? Status(Code::unknown, "no force is needed") : inner(call);
       });
     }},
    {"destroy.unknown", [](Methods& m, const WorldPtr&) { misname_unknown(m, "DestroyTask"); }},
    {"destroy.twice",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "DestroyTask", [w](const Handler& inner, Call& call) {
         const std::string mark = "destroyed " + id_of(call);
         const Status status = inner(call);
         if (status.ok()) (void)count(w, mark);
         const std::lock_guard lock(w->mutex);
         if (status.ok() || !w->counts.contains(mark)) return status;
         (void)call.send("");
         return ok_status();
       });
     }},
    {"destroy.ends-waits",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "WaitTask", [](const Handler& inner, Call& call) {
         driver::WaitTaskResponse answer;
         Altered altered(call, call.request(), [&](std::string& bytes) {
           return answer.ParseFromString(bytes) && answer.result().signal() != 9;
         });
         const Status status = inner(altered);
         if (answer.result().signal() == 9) (void)serve::wait(call, 20s);
         return status;
       });
     }},
    {"destroy.own-task",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "DestroyTask", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (status.ok()) end_all(w);
         return status;
       });
     }},
};

}  // namespace

std::span<const Fault> task_faults() { return kFaults; }

}  // namespace drover::faulty
