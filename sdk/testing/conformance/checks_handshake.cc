// How a program and its host find each other, and how the program ends.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "drover/plugin_programs/handshake.h"
#include "trial.h"

namespace drover::conformance {
namespace {

// A program's printed output and its end, after at most a limit.
struct Run {
  std::string out, err, end;  // end: empty while it goes on
};

std::string take(int fd) {
  std::string all;
  char buffer[4096];
  for (ssize_t n = ::read(fd, buffer, sizeof buffer); n > 0; n = ::read(fd, buffer, sizeof buffer))
    all.append(buffer, static_cast<size_t>(n));
  return all;
}

// Until it has printed a line or ended, and a moment longer.
Result<Run> run_program(const plugin_programs::Program& program, std::chrono::nanoseconds limit) {
  DROVER_TRY(auto process, plugin_programs::Process::start(program));
  Run run;
  const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
  pollfd events[] = {{.fd = process->ended_fd(), .events = POLLIN, .revents = 0},
                     {.fd = process->out(), .events = POLLIN, .revents = 0}};
  while (run.out.find('\n') == std::string::npos && std::chrono::steady_clock::now() < deadline) {
    (void)::poll(events, 2, 20);
    run.out += take(process->out());
    run.err += take(process->err());
    if (events[0].revents != 0) break;
  }
  (void)::poll(events, 1, 50);
  run.out += take(process->out());
  run.err += take(process->err());
  if (events[0].revents != 0) run.end = process->collect();
  return run;
}

// The subject's program once more, started by hand.
Result<Run> greet(Trial& trial) {
  DROVER_TRY(Run run, run_program(trial.process().program(), trial.limit()));
  if (run.out.find('\n') == std::string::npos)
    return failure("no line came on standard output; it printed \"" + run.out + "\"");
  return run;
}

Result<std::vector<std::string>> fields(Trial& trial) {
  DROVER_TRY(const Run run, greet(trial));
  std::vector<std::string> out(1);
  for (const char c : run.out.substr(0, run.out.find('\n'))) {
    if (c == '|') {
      out.emplace_back();
    } else if (c != '\r') {
      out.back() += c;
    }
  }
  if (out.size() < 5) return failure("the line has " + std::to_string(out.size()) + " fields, not 5: " + run.out);
  return out;
}

Status expect_field(Trial& trial, size_t index, const std::string& expected, const std::string& name) {
  DROVER_TRY(const auto all, fields(trial));
  return expect(all[index] == expected, name + " should be \"" + expected + "\" and is \"" + all[index] + "\"");
}

Status refuses_cookie(Trial& trial, std::optional<std::string> cookie) {
  plugin_programs::Program program = trial.process().program();
  program.environment.erase(std::string(plugin_programs::kCookieKey));
  if (cookie) program.environment[std::string(plugin_programs::kCookieKey)] = *cookie;
  DROVER_TRY(const Run run, run_program(program, 3s));
  if (run.end.empty()) return failure("the program goes on");
  if (run.end == "exit code 0") return failure("the program ends as if all were well (exit code 0)");
  return expect(run.out.find("|unix|") == std::string::npos, "it prints a handshake: " + run.out);
}

bool is_gone(int pid) { return ::kill(pid, 0) != 0; }
bool is_ended(int pid) {
  char path[64];
  (void)std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  const std::string text = take(fd);
  ::close(fd);
  const size_t behind = text.rfind(')');
  return behind != std::string::npos && text.size() > behind + 2 && text[behind + 2] == 'Z';
}

Status ends_by(Trial& trial, int signal) {
  const int pid = trial.process().pid();
  (void)::kill(pid, signal);
  return expect(trial.eventually([&] { return is_gone(pid) || is_ended(pid); }, 5s),
                "the program goes on after five seconds");
}

Status shutdown(Trial& trial) {
  const Status status = trial.raw("/plugin.GRPCController/Shutdown", "", 5s).status();
  // A server that ends before its answer is out has done its task.
  return status.code() == Code::unavailable ? ok_status() : status;
}

const Check kChecks[] = {
    {"handshake.no-cookie", "started by hand, without the host's cookie, it ends with an error and does nothing",
     "look for NOMAD_PLUGIN_MAGIC_COOKIE before anything else and exit with a status that is not 0", Check::program,
     [](Trial& t) { return refuses_cookie(t, {}); }},
    {"handshake.wrong-cookie", "started with another cookie it ends with an error and does nothing",
     "compare the cookie's value, not only its presence", Check::program,
     [](Trial& t) { return refuses_cookie(t, "something-else"); }},
    {"handshake.first-line", "the first thing on its standard output is the handshake",
     "print nothing before it; redirect standard output before other code runs", Check::program,
     [](Trial& t) -> Status {
       DROVER_TRY(const Run run, greet(t));
       return expect(run.out.starts_with("1|"), "standard output begins with \"" + run.out.substr(0, 80) + "\"");
     }},
    {"handshake.one-line", "nothing follows the handshake on its standard output",
     "send later output to standard error; some hosts stop reading and the program would block", Check::program,
     [](Trial& t) -> Status {
       DROVER_TRY(const Run run, greet(t));
       return expect(run.out.find('\n') + 1 == run.out.size(),
                     "behind the line stands \"" + run.out.substr(run.out.find('\n') + 1, 80) + "\"");
     }},
    {"handshake.core-version", "the handshake's first field is the core protocol's version, 1", "print 1 first",
     Check::program, [](Trial& t) { return expect_field(t, 0, "1", "the core protocol's version"); }},
    {"handshake.plugin-version", "its second field is version 2 of the drivers' and devices' protocol",
     "print 2: it is the only version that hosts speak", Check::program,
     [](Trial& t) { return expect_field(t, 1, "2", "the plugin protocol's version"); }},
    {"handshake.unix", "it listens on a Unix socket", "print unix as the network", Check::program,
     [](Trial& t) { return expect_field(t, 2, "unix", "the network"); }},
    {"handshake.grpc", "it speaks gRPC", "print grpc as the fifth field; netrpc is not spoken any more", Check::program,
     [](Trial& t) { return expect_field(t, 4, "grpc", "the protocol"); }},
    {"handshake.address", "the socket's path is absolute and fits the operating system",
     "make the socket below TMPDIR or PLUGIN_UNIX_SOCKET_DIR; at most 107 bytes", Check::program,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto all, fields(t));
       return expect(all[3].starts_with('/') && all[3].size() <= plugin_programs::kMaxSocketPath,
                     "the path is \"" + all[3] + "\"");
     }},
    {"handshake.no-tls", "it demands no TLS that the host did not offer", "leave the sixth field empty", Check::program,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto all, fields(t));
       return expect(
           all.size() < 6 || all[5].empty(),
           "the sixth field holds " + std::to_string(all.size() < 6 ? 0 : all[5].size()) + " bytes of a certificate");
     }},
    {"handshake.tls", "it speaks TLS with a host that asks for it",
     "at PLUGIN_CLIENT_CERT: show a certificate in the sixth field, and take only a client with that one (AutoMTLS)",
     Check::program,
     [](Trial& t) -> Status {
       plugin_programs::Program program = t.process().program();
       DROVER_RETURN_IF_ERROR(plugin_programs::ask_for_tls(program));
       DROVER_TRY(auto other, program_subject(std::move(program))());
       const auto answer =
           other->channel().call(base_method("PluginInfo"), "", std::chrono::steady_clock::now() + t.limit());
       return answer.status().with_context("PluginInfo over TLS");
     }},
    {"handshake.socket-private", "nobody but its user can write to the socket", "set the umask before binding it",
     Check::program,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(t.is_alive());
       struct stat info {};
       if (::stat(t.process().socket().c_str(), &info) != 0)
         return failure("there is no socket at " + t.process().socket());
       return expect((info.st_mode & S_IWOTH) == 0, "others may write to it");
     }},
    {"handshake.twice", "two of them run side by side",
     "make a new socket name each time; take no lock in the constructor", Check::program,
     [](Trial& t) -> Status {
       DROVER_TRY(auto other, program_subject(t.process().program())());
       DROVER_RETURN_IF_ERROR(
           other->channel().call(base_method("PluginInfo"), "", std::chrono::steady_clock::now() + t.limit()).status());
       return t.is_alive();
     }},
    {"handshake.health", "it answers health checks for the service \"plugin\" with SERVING",
     "register grpc.health.v1.Health and set the status of the service named plugin", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const std::string answer, t.raw("/grpc.health.v1.Health/Check", "\n\x06plugin", t.limit()));
       return expect(answer == "\b\x01", "it says something other than SERVING");
     }},
    {"handshake.health-during-call", "it answers health checks while a call of a task blocks",
     "answer them on another thread", Check::endless,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(t.configure());
       DROVER_TRY(const Task task, t.launch("endless"));
       std::stop_source stop;
       auto waiting = std::async(std::launch::async, [&] { return t.wait(task.id, t.limit(), stop.get_token()); });
       (void)waiting.wait_for(kShort);
       const auto health = t.raw("/grpc.health.v1.Health/Check", "\n\x06plugin", t.limit());
       stop.request_stop();
       (void)waiting.get();
       return health.status();
     }},
    {"handshake.unknown-method", "a method that it does not know is answered with UNIMPLEMENTED, and it goes on",
     "leave unknown methods to the gRPC library", Check::nothing,
     [](Trial& t) -> Status {
       const Status status = t.raw("NoSuchMethod", "", t.limit()).status();
       if (status.code() != Code::unimplemented) return failure("it says " + status.to_string());
       return t.is_alive();
     }},
    {"handshake.stdio", "the stream of its standard output stays open",
     "serve plugin.GRPCStdio/StreamStdio and keep it open, even with nothing to send; or answer UNIMPLEMENTED",
     Check::nothing,
     [](Trial& t) -> Status {
       const auto stream = t.subject().channel().open("/plugin.GRPCStdio/StreamStdio", "");
       if (t.stays_open(stream)) return ok_status();
       return expect(stream->status().code() == Code::unimplemented, "it ended: " + stream->status().to_string());
     }},
    {"handshake.other-hosts", "it serves several connections, and outlives the end of one",
     "do not end with the first connection; hosts connect again", Check::program,
     [](Trial& t) -> Status {
       for (int i = 0; i < 3; ++i) {
         const auto channel = plugin_programs::connect(t.process().socket());
         DROVER_RETURN_IF_ERROR(
             channel->call(base_method("PluginInfo"), "", std::chrono::steady_clock::now() + t.limit()).status());
       }
       return t.is_alive();
     }},
    {"handshake.interrupt", "the terminal's interrupt does not end it", "ignore SIGINT: the host decides",
     Check::program,
     [](Trial& t) -> Status {
       (void)::kill(t.process().pid(), SIGINT);
       for (int i = 0; i < 3; ++i) DROVER_RETURN_IF_ERROR(t.is_alive());
       return expect(!t.eventually([&] { return is_ended(t.process().pid()); }, kShort), "it has ended");
     }},
    {"handshake.terminate", "SIGTERM ends it within five seconds", "end on SIGTERM, whatever is being called",
     Check::program, [](Trial& t) { return ends_by(t, SIGTERM); }},
    {"handshake.shutdown", "Shutdown ends it within five seconds",
     "serve plugin.GRPCController/Shutdown; the host kills what is slower", Check::program,
     [](Trial& t) -> Status {
       const int pid = t.process().pid();
       DROVER_RETURN_IF_ERROR(shutdown(t));
       return expect(t.eventually([&] { return is_gone(pid) || is_ended(pid); }, 5s),
                     "the program goes on after five seconds");
     }},
    {"handshake.shutdown-with-waits", "Shutdown ends it while calls of tasks are open",
     "do not wait for open calls; their callers come back after the restart", Check::program | Check::endless,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(t.configure());
       DROVER_TRY(const Task task, t.launch("endless"));
       auto waiting = std::async(std::launch::async, [&] { return t.wait(task.id); });
       (void)waiting.wait_for(5 * kShort);
       const int pid = t.process().pid();
       const Status told = shutdown(t);
       const bool ended = t.eventually([&] { return is_gone(pid) || is_ended(pid); }, 5s);
       if (!ended) t.subject().kill();
       (void)waiting.get();
       if (!told.ok()) return told;
       return expect(ended, "the program goes on after five seconds");
     }},
    {"handshake.socket-removed", "after its orderly end the socket is gone", "unlink it before exiting", Check::program,
     [](Trial& t) -> Status {
       const std::string socket = t.process().socket();
       const int pid = t.process().pid();
       DROVER_RETURN_IF_ERROR(shutdown(t));
       (void)t.eventually([&] { return is_gone(pid) || is_ended(pid); }, 5s);
       return expect(::access(socket.c_str(), F_OK) != 0, socket + " is still there");
     }},
};

}  // namespace

std::span<const Check> handshake_checks() { return kChecks; }

}  // namespace drover::conformance
