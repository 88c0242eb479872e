#include <fcntl.h>
#include <unistd.h>

#include "fault_parts.h"

namespace drover::faulty {
namespace {

driver::RecoverTaskRequest recovery(const Call& call) {
  driver::RecoverTaskRequest request;
  (void)request.ParseFromString(call.request());
  return request;
}

// Marks the tasks that a later instance has recovered: "again ID".
void mark_recovered(Methods& m, const WorldPtr& w) {
  wrap(m, "RecoverTask", [w](const Handler& inner, Call& call) {
    const std::string id = recovery(call).handle().config().id();
    const Status status = inner(call);
    if (status.ok() && instance(w) > 1) (void)count(w, "again " + id);
    return status;
  });
}

// Makes a method go wrong for recovered tasks only.
void after_recovery(Methods& m, const WorldPtr& w, const std::string& name,
                    const std::function<Status(const Handler&, Call&)>& then) {
  mark_recovered(m, w);
  wrap(m, name, [w, then](const Handler& inner, Call& call) {
    return has_mark(w, "again " + id_of(call)) ? then(inner, call) : inner(call);
  });
}

Status say_no(const Handler&, Call&) { return {Code::unknown, "it is not mine any more"}; }

// After a crash under this method RecoverTask fails in an undue way.
void fails_after_crash_in(Methods& m, const WorldPtr& w, const std::string& name) {
  wrap(m, "RecoverTask", [w, name](const Handler& inner, Call& call) {
    {
      const std::lock_guard lock(w->mutex);
      if (w->instances > 1 && w->crashed_in.contains(method(name)))
        return Status(Code::unknown, "the journal is damaged");
    }
    return inner(call);
  });
}
// And here the next instance does not do this.
void refuses_after_crash_in(Methods& m, const WorldPtr& w, const std::string& crashed, const std::string& name) {
  wrap(m, name, [w, crashed](const Handler& inner, Call& call) {
    {
      const std::lock_guard lock(w->mutex);
      if (w->instances > 1 && w->crashed_in.contains(method(crashed)))
        return Status(Code::unknown, "the journal is damaged");
    }
    return inner(call);
  });
}

void accepts_garbage(Methods& m, const std::string& name) {
  wrap(m, name, [](const Handler& inner, Call& call) {
    if (!call.request().starts_with("\xff\xff\xff")) return inner(call);
    (void)call.send("");
    return ok_status();
  });
}

void too_many(Methods& m, const WorldPtr& w, const std::string& name, size_t most) {
  wrap(m, name, [w, name, most](const Handler& inner, Call& call) {
    {
      const std::lock_guard lock(w->mutex);
      if (w->in_flight.count(method(name)) > most) return Status(Code::unknown, "too many at once");
    }
    return inner(call);
  });
}

void recode(Methods& m, const std::string& name, Code from, const std::string& only = "") {
  wrap(m, name, [from, only](const Handler& inner, Call& call) {
    const Status status = inner(call);
    return status.code() == from && status.message().find(only) != std::string::npos
               ? Status(Code::unknown, status.message())
               : status;
  });
}

const Fault kFaults[] = {
    {"recover.known",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "RecoverTask", [w](const Handler& inner, Call& call) {
         return instance(w) == 1 && task_of(w, recovery(call).handle().config().id()) &&
                        !recovery(call).task_id().empty() && count(w, "recovered") > 1
                    ? Status(Code::unknown, "is known")
                    : inner(call);
       });
     }},
    {"recover.known-harmless",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "RecoverTask", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (status.ok() && instance(w) == 1) end_task(w, recovery(call).handle().config().id());
         return status;
       });
     }},
    {"recover.forgotten",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "InspectTask", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (status.ok() || !task_of(w, id_of(call))) return status;
         driver::InspectTaskResponse answer;
         (void)call.send(serialize(answer));
         return ok_status();
       });
     }},
    {"recover.after-crash",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "RecoverTask", [w](const Handler& inner, Call& call) {
         return instance(w) > 1 ? Status(Code::unknown, "what is that?") : inner(call);
       });
     }},
    {"recover.after-end",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "RecoverTask", [w](const Handler& inner, Call& call) {
         return instance(w) == 2 && count(w, "second") == 1 ? Status(Code::unknown, "what is that?") : inner(call);
       });
     }},
    {"recover.runs",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "RecoverTask", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (status.ok() && instance(w) > 1) end_task(w, recovery(call).handle().config().id());
         return status;
       });
     }},
    {"recover.twice",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "RecoverTask", [w](const Handler& inner, Call& call) {
         return instance(w) == 2 && count(w, "again") > 1 ? Status(Code::unknown, "once is enough") : inner(call);
       });
     }},
    {"recover.wait-blocks",
     [](Methods& m, const WorldPtr& w) {
       after_recovery(m, w, "WaitTask", [w](const Handler& inner, Call& call) {
         if (has_ended(w, id_of(call))) return inner(call);
         (void)call.send("");
         return ok_status();
       });
     }},
    {"recover.wait",
     [](Methods& m, const WorldPtr& w) {
       after_recovery(m, w, "WaitTask", [](const Handler&, Call& call) {
         serve::wait_end(call);
         return cancelled("nobody waits any more");
       });
     }},
    {"recover.stop", [](Methods& m, const WorldPtr& w) { after_recovery(m, w, "StopTask", say_no); }},
    {"recover.destroy", [](Methods& m, const WorldPtr& w) { after_recovery(m, w, "DestroyTask", say_no); }},
    {"recover.stats", [](Methods& m, const WorldPtr& w) { after_recovery(m, w, "TaskStats", say_no); }},
    {"recover.signal", [](Methods& m, const WorldPtr& w) { after_recovery(m, w, "SignalTask", say_no); }},
    {"recover.known-id",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "StartTask", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (status.code() != Code::already_exists || instance(w) == 1) return status;
         (void)call.send("");
         return ok_status();
       });
     }},
    {"recover.started-at",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "InspectTask", [w](const Handler& inner, Call& call) {
         Altered altered(call, call.request(), [&](std::string& bytes) {
           driver::InspectTaskResponse answer;
           (void)answer.ParseFromString(bytes);
           if (instance(w) > 1)
             answer.mutable_task()->mutable_started_at()->set_seconds(answer.task().started_at().seconds() + 5);
           bytes = serialize(answer);
           return true;
         });
         return inner(altered);
       });
     }},
    {"recover.empty-task-id",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "RecoverTask", [](const Handler& inner, Call& call) {
         return recovery(call).task_id().empty() ? Status(Code::unknown, "which task?") : inner(call);
       });
     }},
    {"recover.ended",
     [](Methods& m, const WorldPtr& w) {
       mark_recovered(m, w);
       wrap(m, "WaitTask", [w](const Handler& inner, Call& call) {
         const auto task = task_of(w, id_of(call));
         if (task && task->kind == "ending" && has_mark(w, "again " + id_of(call))) serve::wait_end(call);
         return inner(call);
       });
     }},
    {"recover.two",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "RecoverTask", [w](const Handler& inner, Call& call) {
         const std::string mark = "first " + recovery(call).handle().config().id();
         {
           const std::lock_guard lock(w->mutex);
           const auto first = w->counts.lower_bound("first ");
           const bool has_first = first != w->counts.end() && first->first.starts_with("first ");
           if (w->instances > 1 && has_first && first->first != mark)
             return Status(Code::unknown, "task not found for given id");
         }
         const Status status = inner(call);
         if (status.ok() && instance(w) > 1) (void)count(w, mark);
         return status;
       });
     }},
    {"recover.garbage",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "RecoverTask", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (recovery(call).handle().driver_state().find("readable") == std::string::npos) return status;
         (void)call.send("");
         return ok_status();
       });
     }},
    {"recover.empty-state",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "RecoverTask", [](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (!recovery(call).has_handle() || !recovery(call).handle().driver_state().empty()) return status;
         (void)call.send("");
         return ok_status();
       });
     }},
    {"recover.version-zero",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "RecoverTask", [](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (!recovery(call).has_handle() || recovery(call).handle().version() != 0) return status;
         (void)call.send("");
         return ok_status();
       });
     }},
    {"recover.no-handle",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "RecoverTask", [](const Handler& inner, Call& call) {
         if (recovery(call).has_handle() || !call.request().empty()) return inner(call);
         (void)call.send("");
         return ok_status();
       });
     }},

    {"crash.idle",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "base/SetConfig", [w](const Handler& inner, Call& call) {
         return instance(w) > 1 ? Status(Code::unknown, "another one runs") : inner(call);
       });
     }},
    {"crash.wait", [](Methods& m, const WorldPtr& w) { fails_after_crash_in(m, w, "WaitTask"); }},
    {"crash.stop", [](Methods& m, const WorldPtr& w) { fails_after_crash_in(m, w, "StopTask"); }},
    {"crash.destroy",
     [](Methods& m, const WorldPtr& w) {
       delay(m, "DestroyTask", 150ms);
       fails_after_crash_in(m, w, "DestroyTask");
     }},
    {"crash.inspect",
     [](Methods& m, const WorldPtr& w) {
       delay(m, "InspectTask", 150ms);
       fails_after_crash_in(m, w, "InspectTask");
     }},
    {"crash.signal",
     [](Methods& m, const WorldPtr& w) {
       delay(m, "SignalTask", 150ms);
       fails_after_crash_in(m, w, "SignalTask");
     }},
    {"crash.stats", [](Methods& m, const WorldPtr& w) { fails_after_crash_in(m, w, "TaskStats"); }},
    {"crash.exec", [](Methods& m, const WorldPtr& w) { fails_after_crash_in(m, w, "ExecTask"); }},
    {"crash.recover",
     [](Methods& m, const WorldPtr& w) {
       delay(m, "RecoverTask", 150ms);
       fails_after_crash_in(m, w, "RecoverTask");
     }},
    {"crash.events", [](Methods& m, const WorldPtr& w) { refuses_after_crash_in(m, w, "TaskEvents", "TaskEvents"); }},
    {"crash.fingerprint",
     [](Methods& m, const WorldPtr& w) { refuses_after_crash_in(m, w, "Fingerprint", "Fingerprint"); }},
    {"crash.configure",
     [](Methods& m, const WorldPtr& w) {
       delay(m, "base/SetConfig", 150ms);
       refuses_after_crash_in(m, w, "base/SetConfig", "base/SetConfig");
     }},
    {"crash.three-times",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "RecoverTask", [w](const Handler& inner, Call& call) {
         return instance(w) > 3 ? Status(Code::unknown, "worn out") : inner(call);
       });
     }},

    {"logs.stdout",
     [](Methods& m, const WorldPtr&) {
       request<driver::StartTaskRequest>(m, "StartTask", [](auto& r) {
         if (r.has_task()) r.mutable_task()->set_stdout_path("/dev/null");
       });
     }},
    {"logs.stderr",
     [](Methods& m, const WorldPtr&) {
       request<driver::StartTaskRequest>(m, "StartTask", [](auto& r) {
         if (r.has_task()) r.mutable_task()->set_stderr_path("/dev/null");
       });
     }},
    {"logs.no-reader",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "StartTask", [](const Handler& inner, Call& call) {
         driver::StartTaskRequest request;
         (void)request.ParseFromString(call.request());
         // As opening for writing alone would.
         const int fd = ::open(request.task().stdout_path().c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
         if (fd < 0 && errno == ENXIO) serve::wait_end(call);
         if (fd >= 0) ::close(fd);
         return inner(call);
       });
     }},
    {"logs.reader-goes",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "WaitTask", [w](const Handler& inner, Call& call) {
         const auto task = task_of(w, id_of(call));
         if (task && task->kind == "talking") {
           task->writer.request_stop();
           if (task->writer.joinable()) task->writer.join();
           const int fd = ::open(task->config.stdout_path().c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
           if (fd < 0) end_task(w, id_of(call));  // a broken pipe
           if (fd >= 0) ::close(fd);
         }
         return inner(call);
       });
     }},
    {"logs.reader-returns",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "StartTask", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         driver::StartTaskRequest request;
         (void)request.ParseFromString(call.request());
         // Once the first lines are out.
         const auto task = task_of(w, request.task().id());
         if (task && task->kind == "talking") {
           (void)serve::wait(call, 5ms);
           task->writer.request_stop();
         }
         return status;
       });
     }},
    {"logs.full-pipe",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "StopTask", [w](const Handler& inner, Call& call) {
         const auto task = task_of(w, id_of(call));
         if (task && task->kind == "talking") serve::wait_end(call);
         return inner(call);
       });
     }},

    {"concurrency.lives",
     [](Methods& m, const WorldPtr& w) {
       too_many(m, w, "WaitTask", 300);
       wrap(m, "StartTask", [w](const Handler& inner, Call& call) {
         return count(w, "starts") > 20 ? Status(Code::unknown, "no more") : inner(call);
       });
     }},
    {"concurrency.inspect",
     [](Methods& m, const WorldPtr& w) {
       delay(m, "InspectTask", 5ms);
       too_many(m, w, "InspectTask", 10);
     }},
    {"concurrency.one-winner",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "StartTask", [w](const Handler& inner, Call& call) {
         bool is_race = false;
         {
           const std::lock_guard lock(w->mutex);
           is_race = w->in_flight.count(method("StartTask")) > 1;
         }
         const Status status = inner(call);
         if (status.code() != Code::already_exists || !is_race) return status;
         (void)call.send("");
         return ok_status();
       });
       wrap(m, "StartTask", [](const Handler& inner, Call& call) {
         const Status status = inner(call);
         (void)serve::wait(call, 10ms);
         return status;
       });
     }},
    {"concurrency.stop-and-destroy",
     [](Methods& m, const WorldPtr& w) {
       for (const char* name : {"StopTask", "DestroyTask"})
         wrap(m, name, [w](const Handler& inner, Call& call) {
           (void)serve::wait(call, 5ms);
           {
             const std::lock_guard lock(w->mutex);
             if (w->in_flight.contains(method("StopTask")) && w->in_flight.contains(method("DestroyTask")))
               return Status(Code::unknown, "is busy");
           }
           return inner(call);
         });
     }},
    {"concurrency.open-waits",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "InspectTask", [w](const Handler& inner, Call& call) {
         {
           const std::lock_guard lock(w->mutex);
           if (w->in_flight.count(method("WaitTask")) > 100) return Status(Code::unknown, "no thread is left");
         }
         return inner(call);
       });
     }},
    {"concurrency.recover",
     [](Methods& m, const WorldPtr& w) {
       delay(m, "RecoverTask", 5ms);
       too_many(m, w, "RecoverTask", 1);
     }},

    {"limits.garbage-start", [](Methods& m, const WorldPtr&) { accepts_garbage(m, "StartTask"); }},
    {"limits.garbage-recover", [](Methods& m, const WorldPtr&) { accepts_garbage(m, "RecoverTask"); }},
    {"limits.garbage-inspect", [](Methods& m, const WorldPtr&) { accepts_garbage(m, "InspectTask"); }},
    {"limits.garbage-stop", [](Methods& m, const WorldPtr&) { accepts_garbage(m, "StopTask"); }},
    {"limits.garbage-config", [](Methods& m, const WorldPtr&) { accepts_garbage(m, "base/SetConfig"); }},
    {"limits.long-id",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "InspectTask", [](const Handler& inner, Call& call) {
         if (call.request().size() < 1 << 20 || call.request().size() > 2 << 20) return inner(call);
         (void)call.send("");
         return ok_status();
       });
     }},
    {"limits.large-message",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "InspectTask", [](const Handler& inner, Call& call) {
         if (call.request().size() > 8 << 20) serve::wait_end(call);
         return inner(call);
       });
     }},
    {"limits.large-environment",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "StartTask", [](const Handler& inner, Call& call) {
         if (call.request().size() > 50000 && call.request().size() < 1 << 20) serve::wait_end(call);
         return inner(call);
       });
     }},
    {"limits.short-deadlines",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "InspectTask", [w](const Handler& inner, Call& call) {
         if (call.stop().stop_requested() || count(w, "looks") > 20) end_task(w, id_of(call));
         return inner(call);
       });
     }},
    {"limits.abandoned-streams",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "TaskEvents", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         (void)count(w, "left");
         return status;
       });
       wrap(m, "base/PluginInfo", [w](const Handler& inner, Call& call) {
         (void)serve::wait(call, 10ms);
         {
           const std::lock_guard lock(w->mutex);
           if (w->counts["left"] > 50) return Status(Code::unknown, "no thread is left");
         }
         return inner(call);
       });
     }},

    {"codes.known-id", [](Methods& m, const WorldPtr&) { recode(m, "StartTask", Code::already_exists); }},
    {"codes.wrong-option",
     [](Methods& m, const WorldPtr&) { recode(m, "StartTask", Code::invalid_argument, "no_such"); }},
    {"codes.unknown-signal", [](Methods& m, const WorldPtr&) { recode(m, "SignalTask", Code::invalid_argument); }},
    {"codes.running", [](Methods& m, const WorldPtr&) { recode(m, "DestroyTask", Code::failed_precondition); }},
    {"codes.bad-handle", [](Methods& m, const WorldPtr&) { recode(m, "RecoverTask", Code::invalid_argument); }},
    {"codes.exact-text",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "InspectTask", [](const Handler& inner, Call& call) {
         const Status status = inner(call);
         return status.ok() ? status : Status(status.code(), "Oh: " + status.message());
       });
     }},
};

}  // namespace

std::span<const Fault> later_faults() { return kFaults; }

}  // namespace drover::faulty
