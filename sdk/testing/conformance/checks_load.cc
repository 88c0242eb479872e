// Output, many callers at once, messages of every kind, slow and broken connections; and the SDK's error codes.
#include <dirent.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "slow_relay.h"
#include "trial.h"

namespace drover::conformance {
namespace {

constexpr size_t kMebibyte = 1 << 20;

// The whole life of a task.
Status live(Trial& t, const driver::TaskConfig& config) {
  driver::StartTaskRequest request;
  *request.mutable_task() = config;
  DROVER_RETURN_IF_ERROR(t.call<driver::StartTaskResponse>("StartTask", request).status().with_context("StartTask"));
  DROVER_RETURN_IF_ERROR(t.stop(config.id()).with_context("StopTask"));
  DROVER_RETURN_IF_ERROR(t.wait(config.id()).status().with_context("WaitTask"));
  driver::DestroyTaskRequest destroy;
  destroy.set_task_id(config.id());
  destroy.set_force(true);
  return t.call<driver::DestroyTaskResponse>("DestroyTask", destroy).status().with_context("DestroyTask");
}

Status first_error(std::vector<std::future<Status>>& all) {
  Status first;
  for (auto& one : all) {
    const Status status = one.get();
    if (first.ok()) first = status;
  }
  return first;
}

size_t open_descriptors(int pid) {
  size_t count = 0;
  if (DIR* folder = ::opendir(("/proc/" + std::to_string(pid) + "/fd").c_str())) {
    while (::readdir(folder)) ++count;
    ::closedir(folder);
  }
  return count;
}

const Check kOutput[] = {
    {"logs.stdout", "what a task writes to standard output arrives in its pipe", "open stdout_path for the task",
     Check::talking,
     [](Trial& t) -> Status {
       const std::string& text = t.setup().tasks.find("talking")->second.out;
       if (text.empty()) return t.inapplicable("the task \"talking\" names no stdout");
       DROVER_RETURN_IF_ERROR(t.launch("talking").status());
       return expect(t.out().read_until(text, 5s), "only this came: \"" + t.out().text().substr(0, 200) + "\"");
     }},
    {"logs.stderr", "what a task writes to standard error arrives in its pipe", "open stderr_path for the task",
     Check::talking,
     [](Trial& t) -> Status {
       const std::string& text = t.setup().tasks.find("talking")->second.err;
       if (text.empty()) return t.inapplicable("the task \"talking\" names no stderr");
       DROVER_RETURN_IF_ERROR(t.launch("talking").status());
       return expect(t.err().read_until(text, 5s), "only this came: \"" + t.err().text().substr(0, 200) + "\"");
     }},
    {"logs.reader-goes", "a task outlives the reader of its output", "open the pipes for reading, too, and hold them",
     Check::talking,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("talking"));
       (void)t.out().read_until(t.setup().tasks.find("talking")->second.out, 5s);
       t.out().close();
       t.err().close();
       (void)t.wait(task.id, 100ms);
       return t.expect_running(task.id, "after its reader has gone");
     }},
    {"logs.reader-returns", "output goes on when the reader comes back", "keep the pipe open for the life of the task",
     Check::talking,
     [](Trial& t) -> Status {
       const std::string text = t.setup().tasks.find("talking")->second.out;
       if (text.empty()) return t.inapplicable("the task \"talking\" names no stdout");
       DROVER_RETURN_IF_ERROR(t.launch("talking").status());
       if (!t.out().read_until(text, 5s)) return failure("nothing came before");
       t.out().close();
       t.out().reopen();
       return expect(t.out().read_until("\n", 5s), "nothing came after the reader came back");
     }},
    {"logs.no-reader", "StartTask does not wait for a reader of the pipes", "open them so that opening does not block",
     Check::endless,
     [](Trial& t) -> Status {
       t.out().close();
       t.err().close();
       return t.launch("endless").status();
     }},
    {"logs.full-pipe", "a task whose output nobody reads can be stopped",
     "never write to a pipe on the thread that answers calls", Check::talking,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("talking"));
       return t.stop(task.id, 500ms, "");
     }},
    {"logs.after-crash", "the output of a recovered task goes on",
     "the task keeps its pipes; the plugin must not be in between, or must come back", Check::talking,
     [](Trial& t) -> Status {
       const std::string text = t.setup().tasks.find("talking")->second.out;
       if (text.empty() || !dynamic_cast<ProgramSubject*>(&t.subject()))
         return t.inapplicable("needs a program and a task that writes");
       DROVER_TRY(const Task task, t.launch("talking"));
       if (!t.out().read_until(text, 5s)) return failure("nothing came before");
       DROVER_RETURN_IF_ERROR(t.replace());
       DROVER_TRY(const bool is_found, t.found_again(task));
       if (!is_found) return t.inapplicable("the driver says that its tasks do not outlive it");
       const auto seen = t.inspect(task.id);
       DROVER_RETURN_IF_ERROR(seen.status());
       return expect(seen->state() == driver::RUNNING, "the task has ended with the plugin that read its output");
     }},
};

const Check kMany[] = {
    {"concurrency.lives", "fifty tasks start, stop and go in parallel", "guard what calls share", Check::endless,
     [](Trial& t) -> Status {
       std::vector<driver::TaskConfig> configs;
       for (int i = 0; i < 50; ++i) {
         DROVER_TRY(auto config, t.config("endless"));
         config.set_stdout_path("/dev/null");
         config.set_stderr_path("/dev/null");
         configs.push_back(std::move(config));
       }
       std::vector<std::future<Status>> lives;
       for (const auto& config : configs)
         lives.push_back(std::async(std::launch::async, [&t, &config] { return live(t, config); }));
       return first_error(lives);
     }},
    {"concurrency.inspect", "a hundred inspections at once are all answered", "guard what calls share", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       std::vector<std::future<Status>> all;
       for (int i = 0; i < 100; ++i)
         all.push_back(std::async(std::launch::async, [&] { return t.inspect(task.id).status(); }));
       return first_error(all);
     }},
    {"concurrency.one-winner", "of eight starts with one identifier exactly one succeeds",
     "reserve the identifier before starting", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto config, t.config("endless"));
       driver::StartTaskRequest request;
       *request.mutable_task() = config;
       std::vector<std::future<Result<driver::StartTaskResponse>>> all;
       for (int i = 0; i < 8; ++i)
         all.push_back(
             std::async(std::launch::async, [&] { return t.call<driver::StartTaskResponse>("StartTask", request); }));
       int winners = 0;
       for (auto& one : all) {
         const auto started = one.get();
         if (!started.ok() || started->result() != driver::StartTaskResponse::SUCCESS) continue;
         ++winners;
         t.keep(started->handle());
       }
       return expect(winners == 1, std::to_string(winners) + " succeed");
     }},
    {"concurrency.stop-and-destroy", "StopTask and DestroyTask at once end the task",
     "one of them may say not found, neither may hang", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       auto stopping = std::async(std::launch::async, [&] { return t.stop(task.id); });
       const Status destroyed = t.destroy(task.id, true), stopped = stopping.get();
       for (const Status& status : {stopped, destroyed}) {
         if (!status.ok() && status.code() != Code::not_found) return status;
       }
       return t.expect_unknown(t.inspect(task.id).status(), "InspectTask afterwards");
     }},
    {"concurrency.open-waits", "two hundred open waits do not hold up other calls",
     "a wait must not hold a thread of a small pool, or a lock", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       driver::WaitTaskRequest request;
       request.set_task_id(task.id);
       std::vector<std::shared_ptr<Messages>> waits;
       for (int i = 0; i < 200; ++i) waits.push_back(t.open("WaitTask", request));
       return t.expect_running(task.id, "under two hundred waits");
     }},
    {"concurrency.recover", "RecoverTask of one task by eight callers at once succeeds for all",
     "the second one finds it known", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       std::vector<std::future<Status>> all;
       for (int i = 0; i < 8; ++i)
         all.push_back(std::async(std::launch::async, [&] { return t.recover(task.handle); }));
       return first_error(all);
     }},

    {"limits.garbage-start", "bytes that are no message are an error of StartTask alone",
     "let the protobuf library refuse them", Check::nothing,
     [](Trial& t) { return survives_garbage(t, driver_method("StartTask")); }},
    {"limits.garbage-recover", "bytes that are no message are an error of RecoverTask alone",
     "let the protobuf library refuse them", Check::nothing,
     [](Trial& t) { return survives_garbage(t, driver_method("RecoverTask")); }},
    {"limits.garbage-inspect", "bytes that are no message are an error of InspectTask alone",
     "let the protobuf library refuse them", Check::nothing,
     [](Trial& t) { return survives_garbage(t, driver_method("InspectTask")); }},
    {"limits.garbage-stop", "bytes that are no message are an error of StopTask alone",
     "let the protobuf library refuse them", Check::nothing,
     [](Trial& t) { return survives_garbage(t, driver_method("StopTask")); }},
    {"limits.garbage-config", "bytes that are no message are an error of SetConfig alone",
     "let the protobuf library refuse them", Check::nothing,
     [](Trial& t) { return survives_garbage(t, base_method("SetConfig")); }},
    {"limits.long-id", "an identifier of a mebibyte is unknown, like any other",
     "put no bound or path on what is only looked up", Check::nothing,
     [](Trial& t) -> Status {
       const Status status = t.inspect(std::string(kMebibyte, 'x')).status();
       if (status.ok()) return failure("InspectTask succeeds");
       if (status.code() == Code::unavailable || status.code() == Code::deadline_exceeded) return status;
       return t.is_alive();
     }},
    {"limits.large-message", "a message of sixteen mebibytes is answered or refused, and it goes on",
     "set a bound for messages", Check::nothing,
     [](Trial& t) -> Status {
       const Status status = t.inspect(std::string(16 * kMebibyte, 'x')).status();
       if (status.code() == Code::deadline_exceeded) return status;
       return t.is_alive();
     }},
    {"limits.large-environment", "a task with a large environment starts, or is refused with a reason",
     "the kernel's bound is 128 KiB a variable", Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(auto config, t.config("endless"));
       for (int i = 0; i < 100; ++i) (*config.mutable_env())["VARIABLE_" + std::to_string(i)] = std::string(1000, 'x');
       const Status status = t.start(config);
       if (status.code() == Code::unavailable || status.code() == Code::deadline_exceeded) return status;
       return t.is_alive();
     }},
    {"limits.short-deadlines", "calls that nobody waits for do no harm", "an answer that nobody reads is no error",
     Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       driver::InspectTaskRequest request;
       request.set_task_id(task.id);
       for (int i = 0; i < 50; ++i) (void)t.call<driver::InspectTaskResponse>("InspectTask", request, 1us);
       return t.expect_running(task.id, "after calls with short deadlines");
     }},
    {"limits.abandoned-streams", "two hundred abandoned streams leave nothing behind",
     "end the loop when the call's context ends", Check::nothing,
     [](Trial& t) -> Status {
       for (int i = 0; i < 200; ++i)
         t.open(i % 2 ? "Fingerprint" : "TaskEvents", driver::FingerprintRequest())->cancel();
       return t.is_alive();
     }},
    {"limits.descriptors", "it does not leak descriptors", "close what a call opened", Check::program | Check::endless,
     [](Trial& t) -> Status {
       const auto live_once = [&]() -> Status {
         DROVER_TRY(const Task task, t.launch("endless"));
         DROVER_RETURN_IF_ERROR(t.stop(task.id));
         return t.destroy(task.id, true);
       };
       for (int i = 0; i < 3; ++i) DROVER_RETURN_IF_ERROR(live_once());
       const size_t before = open_descriptors(t.process().pid());
       for (int i = 0; i < 12; ++i) DROVER_RETURN_IF_ERROR(live_once());
       size_t after = 0;
       const bool is_even =
           t.eventually([&] { return (after = open_descriptors(t.process().pid())) < before + 10; }, 2s);
       return expect(is_even, "there were " + std::to_string(before) + " and are " + std::to_string(after) +
                                  " after twelve tasks");
     }},
    {"limits.slow-socket", "a slow connection only takes longer", "set no deadline of your own on reading a request",
     Check::program | Check::endless,
     [](Trial& t) -> Status {
       SlowRelay relay(t.folder() + "/slow", t.process().socket());
       const auto channel = plugin_programs::connect(t.folder() + "/slow");
       DROVER_TRY(const auto config, t.config("endless"));
       driver::StartTaskRequest request;
       *request.mutable_task() = config;
       DROVER_TRY(const std::string bytes, channel->call(driver_method("StartTask"), serialize(request),
                                                         std::chrono::steady_clock::now() + t.limit()));
       DROVER_TRY(const auto started, parse_message<driver::StartTaskResponse>(bytes));
       t.keep(started.handle());
       return t.expect_running(config.id(), "after a slow StartTask");
     }},
    {"limits.broken-connection", "a connection that breaks off does not touch the task that waits over it",
     "a wait's context is the caller's, not the task's", Check::program | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       {
         SlowRelay relay(t.folder() + "/slow", t.process().socket());
         const auto channel = plugin_programs::connect(t.folder() + "/slow");
         driver::WaitTaskRequest request;
         request.set_task_id(task.id);
         auto waiting = std::async(std::launch::async, [&] {
           return channel->call(driver_method("WaitTask"), serialize(request),
                                std::chrono::steady_clock::now() + t.limit());
         });
         (void)waiting.wait_for(500ms);
         relay.cut();
         (void)waiting.get();
       }
       (void)t.wait(task.id, kShort);
       return t.expect_running(task.id, "after the connection broke off");
     }},
    {"limits.noise-on-socket", "noise on its socket ends that connection alone", "leave it to the gRPC library",
     Check::program,
     [](Trial& t) -> Status {
       sockaddr_un address{};
       address.sun_family = AF_UNIX;
       t.process().socket().copy(address.sun_path, sizeof address.sun_path - 1);
       for (int i = 0; i < 5; ++i) {
         const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
         if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
           (void)!::write(fd, "GET / HTTP/1.1\r\n\r\n\xff\xfe", 20);
         ::close(fd);
       }
       return t.is_alive();
     }},

    {"codes.known-id", "a known identifier is refused with already_exists", "return already_exists(…)",
     Check::sdk | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       const Status status = t.start(task.config);
       return expect(status.code() == Code::already_exists, "it says " + status.to_string());
     }},
    {"codes.wrong-option", "a wrong configuration of a task is refused with invalid_argument",
     "return options.finish()", Check::sdk | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(auto config, t.config("endless"));
       config.set_msgpack_driver_config("\x81\xa7no_such\xc3");  // {"no_such": true}
       const Status status = t.start(config);
       return expect(status.code() == Code::invalid_argument, "it says " + status.to_string());
     }},
    {"codes.unknown-signal", "a signal that there is not is refused with invalid_argument",
     "return parse_signal(…)'s status", Check::sdk | Check::signals | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       const Status stopped = t.stop(task.id, {}, "SIGNOPE"), signalled = t.signal(task.id, "SIGNOPE");
       return expect(stopped.code() == Code::invalid_argument && signalled.code() == Code::invalid_argument,
                     "they say " + stopped.to_string() + " and " + signalled.to_string());
     }},
    {"codes.running", "a running task is not destroyed without force, with failed_precondition",
     "return failed_precondition(…)", Check::sdk | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       const Status status = t.destroy(task.id, false);
       return expect(status.code() == Code::failed_precondition, "it says " + status.to_string());
     }},
    {"codes.bad-handle", "a handle that cannot be read is refused with invalid_argument", "return invalid_argument(…)",
     Check::sdk | Check::endless,
     [](Trial& t) -> Status {
       DROVER_TRY(const Task task, t.launch("endless"));
       driver::TaskHandle handle = task.handle;
       handle.mutable_config()->set_id(t.new_id());
       handle.set_driver_state("\xff not readable");
       const Status status = t.recover(handle);
       return expect(status.code() == Code::invalid_argument, "it says " + status.to_string());
     }},
    {"codes.exact-text", "the text for an unknown task is exactly the one that hosts compare",
     "return not_found(std::string(kTaskNotFound))", Check::sdk,
     [](Trial& t) -> Status {
       const std::string id = t.new_id();
       for (const Status& status : {t.wait(id).status(), t.stop(id), t.destroy(id, true), t.inspect(id).status()}) {
         if (status.message() != "task not found for given id") return failure("it says \"" + status.message() + "\"");
       }
       return ok_status();
     }},
};

}  // namespace

std::span<const Check> output_checks() { return kOutput; }
std::span<const Check> load_checks() { return kMany; }

}  // namespace drover::conformance
