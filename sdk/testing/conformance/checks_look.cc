// Looking at a task: inspection, statistics; reaching into it: signals, commands; events and networks.
#include "trial.h"

namespace drover::conformance {
namespace {

Result<driver::InspectTaskResponse> inspection(Trial& t, const std::string& id) {
  driver::InspectTaskRequest request;
  request.set_task_id(id);
  return t.call<driver::InspectTaskResponse>("InspectTask", request);
}

Result<driver::TaskStats> sample(Trial& t, const std::string& id) {
  DROVER_TRY(auto answer, t.next<driver::TaskStatsResponse>(t.stats(id)));
  if (!answer.has_stats()) return failure("the sample is empty");
  return std::move(*answer.mutable_stats());
}

// Commands streamed: the setup alone.
driver::ExecTaskStreamingRequest exec_setup(const std::string& id, std::vector<std::string> command) {
  driver::ExecTaskStreamingRequest setup;
  setup.mutable_setup()->set_task_id(id);
  for (std::string& word : command) setup.mutable_setup()->add_command(std::move(word));
  return setup;
}

std::shared_ptr<Messages> stream_exec(Trial& t, const std::string& id, std::vector<std::string> command) {
  driver::ExecTaskStreamingRequest end;
  end.mutable_stdin()->set_close(true);
  return t.subject().channel().converse(driver_method("ExecTaskStreaming"),
                                        {serialize(exec_setup(id, std::move(command))), serialize(end)});
}

struct Streamed {
  std::string out;
  std::optional<driver::ExitResult> result;
};
Result<Streamed> read_exec(Trial& t, const std::shared_ptr<Messages>& messages) {
  Streamed all;
  while (!all.result) {
    DROVER_TRY(const auto message, t.next<driver::ExecTaskStreamingResponse>(messages));
    all.out += message.stdout().data();
    if (message.exited()) all.result = message.result();
  }
  return all;
}

// Expects "hello\n" back when it is sent as input after the setup, in the pieces `words`.
Status expect_echo(Trial& t, const std::vector<std::string>& words, bool has_signs_of_life) {
  DROVER_TRY(const Task task, t.launch("endless"));
  const auto dialogue = t.subject().channel().talk(driver_method("ExecTaskStreaming"));
  (void)dialogue->say(serialize(exec_setup(task.id, {"/bin/sh", "-c", "cat"})));
  for (const std::string& word : words) {
    driver::ExecTaskStreamingRequest request;
    if (has_signs_of_life) (void)dialogue->say(serialize(request));
    request.mutable_stdin()->set_data(word);
    (void)dialogue->say(serialize(request));
  }
  driver::ExecTaskStreamingRequest end;
  end.mutable_stdin()->set_close(true);
  (void)dialogue->say(serialize(end));
  DROVER_TRY(const auto done, read_exec(t, dialogue));
  return expect(done.out == "hello\n", "its output is \"" + done.out + "\"");
}

int64_t nanoseconds(const google::protobuf::Timestamp& time) { return time.seconds() * 1'000'000'000 + time.nanos(); }

const Check kInspect[] = {
    {"inspect.names", "InspectTask tells the task's id and name", "copy them from the configuration", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_TRY(const auto seen, t.inspect(task.id));
       return expect(seen.id() == task.id && seen.name() == "web",
                     "it says id \"" + seen.id() + "\", name \"" + seen.name() + "\"");
     }},
    {"inspect.started", "InspectTask tells when the task started", "set started_at", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_TRY(const auto seen, t.inspect(task.id));
       const auto off = std::chrono::nanoseconds(SystemClock().wall_ns() - nanoseconds(seen.started_at()));
       return expect(seen.has_started_at() && off > -60s && off < 60s, "started_at is not within a minute of now");
     }},
    {"inspect.times-present", "no time is left out of InspectTask",
     "hosts written in Go fail without started_at and completed_at", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_TRY(const auto seen, t.inspect(task.id));
       return expect(seen.has_started_at() && seen.has_completed_at(), "a time is missing");
     }},
    {"inspect.result-present", "the result is never left out of InspectTask", "hosts written in Go fail without it",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_TRY(const auto seen, t.inspect(task.id));
       return expect(seen.has_result(), "the result is missing");
     }},
    {"inspect.driver-present", "the driver's part is never left out of InspectTask",
     "hosts written in Go fail without it", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_TRY(const auto seen, inspection(t, task.id));
       return expect(seen.has_driver(), "the field driver is missing");
     }},
    {"inspect.ended", "InspectTask of an ended task says EXITED", "update the state before answering waits",
     Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.ended());
       DROVER_TRY(const auto seen, t.inspect(task.id));
       return expect(seen.state() == driver::EXITED, "it says " + TaskState_Name(seen.state()));
     }},
    {"inspect.same-result", "InspectTask has the result that WaitTask had", "keep one result", Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("ending"));
       DROVER_TRY(const auto waited, t.wait(task.id));
       DROVER_TRY(const auto seen, t.inspect(task.id));
       return expect(
           seen.result().exit_code() == waited.exit_code() && seen.result().signal() == waited.signal(),
           "exit code " + std::to_string(seen.result().exit_code()) + " and not " + std::to_string(waited.exit_code()));
     }},
    {"inspect.completed", "InspectTask of an ended task says when it ended, after its start", "set completed_at",
     Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.ended());
       DROVER_TRY(const auto seen, t.inspect(task.id));
       return expect(nanoseconds(seen.completed_at()) >= nanoseconds(seen.started_at()),
                     "completed_at lies before started_at");
     }},
    {"inspect.unknown", "inspecting an unknown task says that it is not found",
     "the text is \"task not found for given id\"", Check::nothing,
     [](Trial& t) { return t.expect_unknown(t.inspect(t.new_id()).status(), "InspectTask"); }},
    {"inspect.during-wait", "InspectTask answers while a wait is open", "hold no lock while waiting", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       std::stop_source stop;
       auto waiting = std::async(std::launch::async, [&] { return t.wait(task.id, t.limit(), stop.get_token()); });
       (void)waiting.wait_for(5ms);
       const Status status = t.expect_running(task.id, "during a wait");
       stop.request_stop();
       (void)waiting.get();
       return status;
     }},

    {"stats.first", "the first sample comes soon", "send one before the first pause", Check::stats | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       const auto began = std::chrono::steady_clock::now();
       DROVER_RETURN_IF_ERROR(sample(t, task.id).status());
       return expect(std::chrono::steady_clock::now() - began < 5s, "it took more than five seconds");
     }},
    {"stats.timestamp", "a sample has its time", "hosts written in Go fail without it", Check::stats | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_TRY(const auto stats, sample(t, task.id));
       return expect(stats.has_timestamp() && stats.timestamp().seconds() > 0, "the timestamp is missing");
     }},
    {"stats.usage", "a sample has the use of processor and memory", "fill agg_resource_usage",
     Check::stats | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_TRY(const auto stats, sample(t, task.id));
       const auto& usage = stats.agg_resource_usage();
       return expect(usage.has_cpu() && usage.has_memory(), "one of them is missing");
     }},
    {"stats.measured", "a sample names what it measured", "list measured_fields; the others are shown as absent",
     Check::stats | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_TRY(const auto stats, sample(t, task.id));
       const auto& usage = stats.agg_resource_usage();
       return expect(usage.cpu().measured_fields_size() > 0 || usage.memory().measured_fields_size() > 0,
                     "measured_fields are empty");
     }},
    {"stats.follows", "samples go on coming", "one per interval until the call or the task ends",
     Check::stats | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       const auto stream = t.stats(task.id, 100ms);
       DROVER_RETURN_IF_ERROR(t.next(stream).status());
       return t.next(stream).status().with_context("the second sample");
     }},
    {"stats.ends", "the stream of samples ends with the task", "watch the task's end", Check::stats | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       const auto stream = t.stats(task.id, 100ms);
       DROVER_RETURN_IF_ERROR(t.next(stream).status());
       DROVER_RETURN_IF_ERROR(t.stop(task.id));
       return expect(t.ends(stream), "it goes on");
     }},
    {"stats.cancelled", "a cancelled stream of samples does not touch the task",
     "end the loop when the call's context ends", Check::stats | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       for (int i = 0; i < 3; ++i) DROVER_RETURN_IF_ERROR(sample(t, task.id).status());
       return t.expect_running(task.id, "after cancelled statistics");
     }},
    {"stats.two", "two streams of samples run side by side", "give each stream a loop of its own",
     Check::stats | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       const auto one = t.stats(task.id), two = t.stats(task.id);
       DROVER_RETURN_IF_ERROR(t.next(one).status());
       return t.next(two).status().with_context("the second stream");
     }},
    {"stats.unknown", "statistics of an unknown task say that it is not found",
     "the text is \"task not found for given id\"", Check::stats | Check::endless,
     [](Trial& t) -> Status {
       const auto stream = t.stats(t.new_id());
       const auto first = t.next(stream);
       if (first.ok()) return failure("there is a sample of it");
       return t.expect_unknown(stream->status(), "TaskStats");
     }},
};

const Check kReach[] = {
    {"signal.accepted", "a running task can be sent a signal", "names as SIGCONT", Check::signals | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_RETURN_IF_ERROR(t.signal(task.id, "SIGCONT"));
       return t.expect_running(task.id, "after SIGCONT");
     }},
    {"signal.unknown-name", "a signal that there is not is refused", "check the name before sending anything",
     Check::signals | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       return expect(!t.signal(task.id, "SIGNOPE").ok(), "SignalTask succeeds");
     }},
    {"signal.unknown-name-harmless", "after a refused signal the task runs on", "send nothing in its place",
     Check::signals | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       (void)t.signal(task.id, "SIGNOPE");
       (void)t.wait(task.id, kShort);
       return t.expect_running(task.id, "after a signal that there is not");
     }},
    {"signal.unknown-task", "a signal for an unknown task says that it is not found",
     "the text is \"task not found for given id\"", Check::signals,
     [](Trial& t) { return t.expect_unknown(t.signal(t.new_id(), "SIGCONT"), "SignalTask"); }},
    {"signal.ended-task", "a signal for an ended task is answered, and it goes on",
     "its process number may belong to another by now", Check::signals | Check::ending,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.ended());
       const Status status = t.signal(task.id, "SIGCONT");
       if (status.code() == Code::deadline_exceeded) return status;
       return t.is_alive();
     }},
    {"signal.at-once", "signals from several callers at once all arrive", "do not lose one to a lock",
     Check::signals | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       std::vector<std::future<Status>> sent;
       for (int i = 0; i < 8; ++i)
         sent.push_back(std::async(std::launch::async, [&] { return t.signal(task.id, "SIGCONT"); }));
       Status first;
       for (auto& one : sent) {
         const Status status = one.get();
         if (first.ok()) first = status;
       }
       return first;
     }},

    {"exec.exit-code", "a command in a task has its exit code", "run it in the task's surroundings and wait for it",
     Check::exec | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_TRY(const auto done, t.exec(task.id, {"/bin/sh", "-c", "exit 3"}));
       return expect(done.result().exit_code() == 3,
                     "it says " + std::to_string(done.result().exit_code()) + ", not 3");
     }},
    {"exec.output", "a command's output comes back", "collect both streams", Check::exec | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_TRY(const auto done, t.exec(task.id, {"/bin/sh", "-c", "echo hello"}));
       return expect(done.stdout() == "hello\n", "it says \"" + done.stdout() + "\"");
     }},
    {"exec.result-present", "the answer to ExecTask holds a result", "hosts written in Go fail without it",
     Check::exec | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_TRY(const auto done, t.exec(task.id, {"/bin/sh", "-c", "exit 0"}));
       return expect(done.has_result(), "the result is missing");
     }},
    {"exec.unknown-task", "a command in an unknown task says that it is not found",
     "the text is \"task not found for given id\"", Check::exec,
     [](Trial& t) { return t.expect_unknown(t.exec(t.new_id(), {"/bin/true"}).status(), "ExecTask"); }},
    {"exec.no-program", "a command that there is not is an error or an exit code",
     "do not answer as if it had succeeded", Check::exec | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       const auto done = t.exec(task.id, {"/no/such/program"});
       return expect(!done.ok() || done->result().exit_code() != 0, "it succeeds");
     }},
    {"exec.timeout", "a command that takes too long is ended", "kill it at the timeout", Check::exec | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       const auto done = t.exec(task.id, {"/bin/sh", "-c", "sleep 60"}, 100ms);
       return expect(done.status().code() != Code::deadline_exceeded ||
                         done.status().message().find("did not answer") == std::string::npos,
                     "ExecTask goes on");
     }},
    {"exec.harmless", "a command does not touch the task", "it is another process", Check::exec | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       (void)t.exec(task.id, {"/bin/sh", "-c", "exit 1"});
       return t.expect_running(task.id, "after ExecTask");
     }},
    {"exec.stream", "a streamed command tells its output and its end", "send the output, then exited with the result",
     Check::exec | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_TRY(const auto done, read_exec(t, stream_exec(t, task.id, {"/bin/sh", "-c", "echo hello"})));
       return expect(done.out == "hello\n", "its output is \"" + done.out + "\"");
     }},
    {"exec.stream-result", "a streamed command has its exit code", "send it with exited", Check::exec | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       DROVER_TRY(const auto done, read_exec(t, stream_exec(t, task.id, {"/bin/sh", "-c", "exit 4"})));
       return expect(done.result->exit_code() == 4, "it says " + std::to_string(done.result->exit_code()) + ", not 4");
     }},
    {"exec.stream-input", "a streamed command gets its input, and its end",
     "hand stdin on as it comes; close it at close", Check::exec | Check::endless,
     [](Trial& t) {
       return expect_echo(t, {"hel", "lo", "\n"}, false);
     }},
    {"exec.stream-alive", "messages without anything in them do a streamed command no harm",
     "hosts send them as signs of life: go on", Check::exec | Check::endless,
     [](Trial& t) { return expect_echo(t, {"hello\n"}, true); }},
    {"exec.stream-tty", "a streamed command has a terminal where the caller wants one", "make one at setup.tty",
     Check::exec | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       driver::ExecTaskStreamingRequest setup = exec_setup(task.id, {"/bin/sh", "-c", "test -t 1"});
       setup.mutable_setup()->set_tty(true);
       const auto dialogue = t.subject().channel().talk(driver_method("ExecTaskStreaming"));
       (void)dialogue->say(serialize(setup));
       dialogue->finish();
       DROVER_TRY(const auto done, read_exec(t, dialogue));
       return expect(done.result->exit_code() == 0, "its output is no terminal");
     }},
    {"exec.stream-unknown", "a streamed command in an unknown task says that it is not found",
     "the text is \"task not found for given id\"", Check::exec,
     [](Trial& t) -> Status {
       const auto stream = stream_exec(t, t.new_id(), {"/bin/true"});
       if (!t.ends(stream)) return failure("the stream stays open");
       return t.expect_unknown(stream->status(), "ExecTaskStreaming");
     }},
    {"exec.unsupported", "a driver that runs no commands says so",
     "the text is \"driver does not support exec\"; or leave the method out", Check::no_exec,
     [](Trial& t) -> Status {
       const Status status = t.exec(t.new_id(), {"/bin/true"}).status();
       return expect(status.code() == Code::unimplemented || status.code() == Code::not_found,
                     "it says " + status.to_string());
     }},

    {"events.open", "the stream of events stays open", "keep it open, even with nothing to tell", Check::nothing,
     [](Trial& t) -> Status {
       const auto stream = t.open("TaskEvents", driver::TaskEventsRequest());
       return t.expect_open(stream);
     }},
    {"events.two", "two streams of events run side by side", "give each stream its own queue", Check::nothing,
     [](Trial& t) -> Status {
       const auto one = t.open("TaskEvents", driver::TaskEventsRequest()),
                  two = t.open("TaskEvents", driver::TaskEventsRequest());
       DROVER_RETURN_IF_ERROR(t.expect_open(two, "the second one"));
       return t.expect_open(one, "the first one");
     }},
    {"events.cancelled", "after cancelled streams of events it goes on", "end the loop when the call's context ends",
     Check::nothing,
     [](Trial& t) -> Status {
       for (int i = 0; i < 10; ++i) t.open("TaskEvents", driver::TaskEventsRequest())->cancel();
       DROVER_RETURN_IF_ERROR(t.is_alive());
       const auto stream = t.open("TaskEvents", driver::TaskEventsRequest());
       return t.expect_open(stream, "the next one");
     }},

    {"network.unsupported", "a driver that makes no networks says so",
     "the text is \"CreateNetwork RPC not supported by driver\"; or leave the method out", Check::no_network,
     [](Trial& t) -> Status {
       driver::CreateNetworkRequest request;
       request.set_alloc_id("5f1c7d2e-0000-4000-8000-000000000001");
       const Status status = t.call<driver::CreateNetworkResponse>("CreateNetwork", request).status();
       return expect(status.code() == Code::unimplemented, "it says " + status.to_string());
     }},
    {"network.created", "CreateNetwork gives a network", "answer with the isolation_spec that tasks get",
     Check::network,
     [](Trial& t) -> Status {
       driver::CreateNetworkRequest create;
       create.set_alloc_id("5f1c7d2e-0000-4000-8000-000000000001");
       DROVER_TRY(const auto made, t.call<driver::CreateNetworkResponse>("CreateNetwork", create));
       driver::DestroyNetworkRequest destroy;
       destroy.set_alloc_id(create.alloc_id());
       *destroy.mutable_isolation_spec() = made.isolation_spec();
       DROVER_RETURN_IF_ERROR(
           t.call<driver::DestroyNetworkResponse>("DestroyNetwork", destroy).status().with_context("DestroyNetwork"));
       return expect(made.has_isolation_spec(), "isolation_spec is missing");
     }},
    {"network.destroyed-twice", "destroying a network that has gone succeeds",
     "answer with success when there is nothing left to do", Check::network,
     [](Trial& t) -> Status {
       driver::CreateNetworkRequest create;
       create.set_alloc_id("5f1c7d2e-0000-4000-8000-000000000001");
       DROVER_TRY(const auto made, t.call<driver::CreateNetworkResponse>("CreateNetwork", create));
       driver::DestroyNetworkRequest destroy;
       destroy.set_alloc_id(create.alloc_id());
       *destroy.mutable_isolation_spec() = made.isolation_spec();
       DROVER_RETURN_IF_ERROR(t.call<driver::DestroyNetworkResponse>("DestroyNetwork", destroy).status());
       return t.call<driver::DestroyNetworkResponse>("DestroyNetwork", destroy)
           .status()
           .with_context("the second time");
     }},
};

}  // namespace

std::span<const Check> look_checks() { return kInspect; }
std::span<const Check> reach_checks() { return kReach; }

}  // namespace drover::conformance
