#include "fault_parts.h"

namespace drover::faulty {
namespace {

using Seen = driver::InspectTaskResponse;
using Sample = driver::TaskStatsResponse;

void inspect(Methods& m, std::function<void(Seen&)> change) { answer<Seen>(m, "InspectTask", std::move(change)); }

// No sample is sent for which this is false.
void samples(Methods& m, std::function<bool(Sample&)> keep) {
  wrap(m, "TaskStats", [keep](const Handler& inner, Call& call) {
    Altered altered(call, call.request(), [&](std::string& bytes) {
      Sample sample;
      (void)sample.ParseFromString(bytes);
      const bool is_kept = keep(sample);
      bytes = serialize(sample);
      return is_kept;
    });
    return inner(altered);
  });
}

void alone(Methods& m, const WorldPtr& w, const std::string& name) {
  wrap(m, name, [w, name](const Handler& inner, Call& call) {
    {
      const std::lock_guard lock(w->mutex);
      if (w->in_flight.count(method(name)) > 1) return Status(Code::unknown, "one is enough");
    }
    return inner(call);
  });
}

void exec(Methods& m, std::function<void(driver::ExecTaskResponse&)> change) {
  answer<driver::ExecTaskResponse>(m, "ExecTask", std::move(change));
}

const Fault kFaults[] = {
    {"inspect.names", [](Methods& m, const WorldPtr&) { inspect(m, [](auto& a) { a.mutable_task()->clear_name(); }); }},
    {"inspect.started",
     [](Methods& m, const WorldPtr&) {
       inspect(m, [](auto& a) { a.mutable_task()->mutable_started_at()->set_seconds(1); });
     }},
    {"inspect.times-present",
     [](Methods& m, const WorldPtr&) { inspect(m, [](auto& a) { a.mutable_task()->clear_completed_at(); }); }},
    {"inspect.result-present",
     [](Methods& m, const WorldPtr&) { inspect(m, [](auto& a) { a.mutable_task()->clear_result(); }); }},
    {"inspect.driver-present", [](Methods& m, const WorldPtr&) { inspect(m, [](auto& a) { a.clear_driver(); }); }},
    {"inspect.ended",
     [](Methods& m, const WorldPtr&) {
       inspect(m, [](auto& a) {
         if (a.task().result().exit_code() == 7) a.mutable_task()->set_state(driver::RUNNING);
       });
     }},
    {"inspect.same-result",
     [](Methods& m, const WorldPtr&) {
       inspect(m, [](auto& a) { a.mutable_task()->mutable_result()->set_exit_code(0); });
     }},
    {"inspect.completed",
     [](Methods& m, const WorldPtr&) {
       inspect(m, [](auto& a) {
         if (a.task().state() == driver::EXITED) a.mutable_task()->mutable_completed_at()->set_seconds(1);
       });
     }},
    {"inspect.unknown", [](Methods& m, const WorldPtr&) { misname_unknown(m, "InspectTask"); }},
    {"inspect.during-wait",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "InspectTask", [w](const Handler& inner, Call& call) {
         bool is_waited_for = false;
         {
           const std::lock_guard lock(w->mutex);
           is_waited_for = w->in_flight.contains(method("WaitTask"));
         }
         return is_waited_for ? Status(Code::unknown, "somebody waits") : inner(call);
       });
     }},

    {"stats.first", [](Methods& m, const WorldPtr&) { delay(m, "TaskStats", 5200ms); }},
    {"stats.timestamp",
     [](Methods& m, const WorldPtr&) {
       samples(m, [](auto& a) {
         a.mutable_stats()->clear_timestamp();
         return true;
       });
     }},
    {"stats.usage",
     [](Methods& m, const WorldPtr&) {
       samples(m, [](auto& a) {
         a.mutable_stats()->mutable_agg_resource_usage()->clear_memory();
         return true;
       });
     }},
    {"stats.measured",
     [](Methods& m, const WorldPtr&) {
       samples(m, [](auto& a) {
         auto& usage = *a.mutable_stats()->mutable_agg_resource_usage();
         usage.mutable_cpu()->clear_measured_fields();
         usage.mutable_memory()->clear_measured_fields();
         return true;
       });
     }},
    {"stats.follows",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "TaskStats", [](const Handler& inner, Call& call) {
         bool is_first = true;
         Altered altered(call, call.request(), [&](std::string&) { return std::exchange(is_first, false); });
         return inner(altered);
       });
     }},
    {"stats.ends",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "TaskStats", [](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (status.ok()) serve::wait_end(call);
         return status;
       });
     }},
    {"stats.cancelled",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "TaskStats", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (call.stop().stop_requested() && count(w, "left " + id_of(call)) > 2) end_task(w, id_of(call));
         return status;
       });
       delay(m, "InspectTask", 5ms);
     }},
    {"stats.two", [](Methods& m, const WorldPtr& w) { alone(m, w, "TaskStats"); }},
    {"stats.unknown", [](Methods& m, const WorldPtr&) { misname_unknown(m, "TaskStats"); }},

    {"signal.accepted",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "SignalTask", [w](const Handler& inner, Call& call) {
         const std::string id = id_of(call);
         const Status status = inner(call);
         if (status.ok()) end_task(w, id);
         return status;
       });
     }},
    {"signal.unknown-name", [](Methods& m, const WorldPtr&) { accept(m, "SignalTask", "SIGNOPE"); }},
    {"signal.unknown-name-harmless",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "SignalTask", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (status.code() == Code::invalid_argument) end_task(w, id_of(call));
         return status;
       });
     }},
    {"signal.unknown-task", [](Methods& m, const WorldPtr&) { misname_unknown(m, "SignalTask"); }},
    {"signal.ended-task",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "SignalTask", [](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (status.message().find("has ended") != std::string::npos) (void)serve::wait(call, 60s);
         return status;
       });
     }},
    {"signal.at-once",
     [](Methods& m, const WorldPtr& w) {
       alone(m, w, "SignalTask");
       wrap(m, "SignalTask", [](const Handler& inner, Call& call) {
         const Status status = inner(call);
         (void)serve::wait(call, 5ms);
         return status;
       });
     }},

    {"exec.exit-code",
     [](Methods& m, const WorldPtr&) {
       exec(m, [](auto& a) {
         if (a.result().exit_code() == 3) a.mutable_result()->set_exit_code(0);
       });
     }},
    {"exec.output", [](Methods& m, const WorldPtr&) { exec(m, [](auto& a) { a.clear_stdout(); }); }},
    {"exec.result-present", [](Methods& m, const WorldPtr&) { exec(m, [](auto& a) { a.clear_result(); }); }},
    {"exec.unknown-task", [](Methods& m, const WorldPtr&) { misname_unknown(m, "ExecTask"); }},
    {"exec.no-program", [](Methods& m, const WorldPtr&) { accept(m, "ExecTask", "no such program"); }},
    {"exec.timeout",
     [](Methods& m, const WorldPtr&) {
       request<driver::ExecTaskRequest>(m, "ExecTask", [](auto& r) { r.mutable_timeout()->set_seconds(60); });
     }},
    {"exec.harmless",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "ExecTask", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         end_task(w, id_of(call));
         return status;
       });
     }},
    {"exec.stream",
     [](Methods& m, const WorldPtr&) {
       answer<driver::ExecTaskStreamingResponse>(m, "ExecTaskStreaming", [](auto& a) { a.clear_stdout(); });
     }},
    {"exec.stream-result",
     [](Methods& m, const WorldPtr&) {
       answer<driver::ExecTaskStreamingResponse>(m, "ExecTaskStreaming", [](auto& a) { a.clear_result(); });
     }},
    {"exec.stream-input",
     [](Methods& m, const WorldPtr&) {
       answer<driver::ExecTaskStreamingResponse>(m, "ExecTaskStreaming", [](auto& a) {
         if (a.stdout().data() == "hello\n") a.mutable_stdout()->set_data("hel");
       });
     }},
    {"exec.stream-alive",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "ExecTaskStreaming", [](const Handler& inner, Call& call) {
         // Takes what holds nothing for the end.
         const auto next = call.receive(call.stop());
         return next && next->empty() ? Status(Code::unknown, "this message says nothing") : inner(call);
       });
     }},
    {"exec.stream-tty",
     [](Methods& m, const WorldPtr&) {
       request<driver::ExecTaskStreamingRequest>(m, "ExecTaskStreaming",
                                                 [](auto& r) { r.mutable_setup()->set_tty(false); });
     }},
    {"exec.stream-unknown", [](Methods& m, const WorldPtr&) { misname_unknown(m, "ExecTaskStreaming"); }},
    {"exec.unsupported",
     [](Methods& m, const WorldPtr&) { do_nothing(m, "ExecTask"); },
     {.can_exec = false, .makes_networks = false}},

    {"events.open", [](Methods& m, const WorldPtr&) { do_nothing(m, "TaskEvents"); }},
    {"events.two", [](Methods& m, const WorldPtr& w) { alone(m, w, "TaskEvents"); }},
    {"events.cancelled",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "TaskEvents", [w](const Handler& inner, Call& call) {
         return count(w, "events") > 5 ? Status(Code::unknown, "no more") : inner(call);
       });
     }},

    {"network.unsupported",
     [](Methods& m, const WorldPtr&) { do_nothing(m, "CreateNetwork"); },
     {.can_exec = false, .makes_networks = false}},
    {"network.created", [](Methods& m, const WorldPtr&) { do_nothing(m, "CreateNetwork"); }},
    {"network.destroyed-twice",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "DestroyNetwork", [w](const Handler& inner, Call& call) {
         return count(w, "networks") > 1 ? Status(Code::unknown, "has gone") : inner(call);
       });
     }},
};

}  // namespace

std::span<const Fault> look_faults() { return kFaults; }

}  // namespace drover::faulty
