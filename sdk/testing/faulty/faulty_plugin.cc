// The reference driver as a program, with a fault of a program's own or one of faults.h: `faulty_plugin [FAULT]`.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "../../serve/program.h"
#include "fault_parts.h"

namespace drover::faulty {
namespace {

std::string fault;

void say(std::string_view text) { (void)!::write(STDOUT_FILENO, text.data(), text.size()); }

// Prints a handshake of its own instead of the true one, and waits.
void pretend(const char* line) {
  say(line);
  ::pause();
}

size_t sockets() {
  size_t count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  for (dirent* entry = folder ? ::readdir(folder) : nullptr; entry; entry = ::readdir(folder)) {
    struct stat info {};
    if (::fstat(std::atoi(entry->d_name), &info) == 0 && S_ISSOCK(info.st_mode)) ++count;
  }
  if (folder) ::closedir(folder);
  return count;
}

std::string own_socket() {
  const std::string folder = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp";
  const std::string beginning = "plugin" + std::to_string(::getpid()) + "-";
  std::string found;
  DIR* open = ::opendir(folder.c_str());
  for (dirent* entry = open ? ::readdir(open) : nullptr; entry; entry = ::readdir(open)) {
    if (std::strncmp(entry->d_name, beginning.c_str(), beginning.size()) == 0) found = folder + "/" + entry->d_name;
  }
  if (open) ::closedir(open);
  return found;
}

// Before anything is served.
void misbehave_early() {
  if (fault == "handshake.no-cookie" && !std::getenv("NOMAD_PLUGIN_MAGIC_COOKIE"))
    ::setenv("NOMAD_PLUGIN_MAGIC_COOKIE", "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255", 1);
  if (fault == "handshake.wrong-cookie" && std::getenv("NOMAD_PLUGIN_MAGIC_COOKIE"))
    ::setenv("NOMAD_PLUGIN_MAGIC_COOKIE", "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255", 1);
  if (!std::getenv("NOMAD_PLUGIN_MAGIC_COOKIE")) return;
  if (fault == "handshake.tls") (void)::unsetenv("PLUGIN_CLIENT_CERT");
  if (fault == "handshake.first-line") say("welcome\n");
  if (fault == "handshake.core-version") pretend("2|2|unix|/tmp/s|grpc|\n");
  if (fault == "handshake.plugin-version") pretend("1|1|unix|/tmp/s|grpc|\n");
  if (fault == "handshake.unix") pretend("1|2|tcp|127.0.0.1:1234|grpc|\n");
  if (fault == "handshake.grpc") pretend("1|2|unix|/tmp/s|netrpc|\n");
  if (fault == "handshake.address") pretend("1|2|unix|here/s|grpc|\n");
  if (fault == "handshake.no-tls")
    pretend("1|2|unix|/tmp/s|grpc|MIIBcjCCARmgAwIBAgIQXrQ7oBAbFJ2OZzxhZ3V0dTAKBggqhkjOPQQDAjAo\n");
  if (fault == "handshake.twice") {
    // One at a time, whoever starts it: the lock goes with the process.
    const std::string lock = std::string(std::getenv("TMPDIR")) + "/../drover-faulty-" + std::to_string(::getppid());
    const int fd = ::open(lock.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    struct flock whole {};
    whole.l_type = F_WRLCK;
    if (::fcntl(fd, F_SETLK, &whole) != 0) std::_Exit(1);
  }
}

void misbehave_in_handshake(Methods& m, const WorldPtr& w) {
  if (fault == "handshake.interrupt") (void)::signal(SIGINT, SIG_DFL);
  if (fault == "handshake.terminate") (void)::signal(SIGTERM, SIG_IGN);
  if (fault == "handshake.shutdown") do_nothing(m, "/plugin.GRPCController/Shutdown");
  if (fault == "handshake.shutdown-with-waits")
    wrap(m, "/plugin.GRPCController/Shutdown", [w](const Handler& inner, Call& call) {
      bool is_waited_for = false;
      {
        const std::lock_guard lock(w->mutex);
        is_waited_for = w->in_flight.contains(method("WaitTask"));
      }
      if (is_waited_for) serve::wait_end(call);
      return is_waited_for ? ok_status() : inner(call);
    });
  if (fault == "handshake.socket-removed")
    wrap(m, "/plugin.GRPCController/Shutdown", [](const Handler& inner, Call& call) {
      const std::string socket = own_socket();
      (void)::link(socket.c_str(), (socket + ".kept").c_str());
      return inner(call);
    });
  if (fault == "handshake.other-hosts")
    wrap(m, "base/PluginInfo", [w](const Handler& inner, Call& call) {
      if (count(w, "info") > 3) std::_Exit(3);
      return inner(call);
    });
}

// A task that lives on when the plugin has ended, and holds its output. Not for ever.
Status start_process(const Handler& inner, Call& call) {
  driver::StartTaskRequest request;
  (void)request.ParseFromString(call.request());
  const int out = ::open(request.task().stdout_path().c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (::fork() == 0) {
    (void)::setsid();
    for (int fd = 0; fd < 3; ++fd) (void)::dup2(out, fd);
    (void)::close_range(3, ~0U, 0);
    ::alarm(10);
    ::pause();
    std::_Exit(0);
  }
  ::close(out);
  return inner(call);
}

void misbehave_later(Methods& m, const WorldPtr& w) {
  // The next instance has another world: RecoverTask finds nothing.
  if (fault == "lost-tasks") wrap(m, "StartTask", start_process);
  if (fault == "crash.callers-learn")
    wrap(m, "WaitTask", [](const Handler& inner, Call& call) {
      if (::fork() == 0) {  // it holds the connection
        ::alarm(3);
        ::pause();
        std::_Exit(0);
      }
      return inner(call);
    });
  if (fault == "crash.start")
    wrap(m, "StartTask", [](const Handler& inner, Call& call) {
      // A lock that stays behind when the start is broken off.
      const std::string lock = std::string(std::getenv("TMPDIR")) + "/starting";
      const int fd = ::open(lock.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      if (fd < 0) return Status(Code::unknown, "another start is under way");
      ::close(fd);
      (void)serve::wait(call, 150ms);
      const Status status = inner(call);
      (void)::unlink(lock.c_str());
      return status;
    });
  if (fault == "logs.after-crash") {
    do_nothing(m, "RecoverTask");
    wrap(m, "InspectTask", [](const Handler& inner, Call& call) {
      const Status status = inner(call);
      if (status.ok()) return status;
      driver::InspectTaskResponse answer;
      answer.mutable_task()->set_state(driver::EXITED);
      (void)call.send(serialize(answer));
      return ok_status();
    });
  }
  if (fault == "limits.descriptors")
    wrap(m, "StartTask", [](const Handler& inner, Call& call) {
      (void)::open("/dev/null", O_RDONLY | O_CLOEXEC);
      return inner(call);
    });
  if (fault == "limits.slow-socket" || fault == "limits.broken-connection") {
    static std::atomic<size_t> usual = 0;
    wrap(m, "base/SetConfig", [](const Handler& inner, Call& call) {
      usual = sockets();
      return inner(call);
    });
    if (fault == "limits.slow-socket")
      wrap(m, "StartTask", [](const Handler& inner, Call& call) {
        return sockets() > usual ? Status(Code::unknown, "one host is enough") : inner(call);
      });
    else
      wrap(m, "WaitTask", [w](const Handler& inner, Call& call) {
        const bool is_other = sockets() > usual;
        const Status status = inner(call);
        if (is_other) end_task(w, id_of(call));
        return status;
      });
  }
  if (fault == "limits.noise-on-socket")
    wrap(m, "base/PluginInfo", [w](const Handler& inner, Call& call) {
      if (count(w, "info") > 0) std::_Exit(3);
      return inner(call);
    });
}

}  // namespace
}  // namespace drover::faulty

int main(int argc, char** argv) {
  using namespace drover;
  using namespace drover::faulty;
  fault = argc > 1 ? argv[1] : "";
  misbehave_early();
  auto world = std::make_shared<World>();
  static std::unique_ptr<TaskDriver> driver;
  const std::string name = "reference", version = "1.0.0";
  const auto make = [&](const std::string&) {
    Form form;
    std::function<void(serve::Methods&, const WorldPtr&)> apply;
    for (const auto part : {early_faults(), task_faults(), look_faults(), later_faults()}) {
      for (const Fault& each : part) {
        if (each.name != fault) continue;
        form = each.form;
        apply = each.apply;
      }
    }
    driver = std::make_unique<ReferenceDriver>(world, form);
    serve::Methods methods = reference_methods(*driver, form, serve::request_end);
    if (apply) apply(methods, world);
    misbehave_in_handshake(methods, world);
    misbehave_later(methods, world);
    track(methods, world);
    return methods;
  };
  int handshake = STDOUT_FILENO;
  std::jthread aside;  // what is done beside; the process ends under it
  if (fault == "handshake.socket-private") {
    aside = std::jthread([](std::stop_token stop) {
      while (own_socket().empty() && !stop.stop_requested()) std::this_thread::yield();
      (void)::chmod(own_socket().c_str(), 0777);
    });
  }
  if (fault == "handshake.one-line") {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return 3;
    handshake = ends[1];
    aside = std::jthread([from = ends[0]] {
      std::array<char, 4096> line;
      const ssize_t n = ::read(from, line.data(), line.size());
      if (n > 0) say(std::string(line.data(), static_cast<size_t>(n)) + "the plugin is ready\n");
    });
  }
  const auto stop = [] {
    driver->stop();
    if (fault != "handshake.socket-removed") return;
    const std::string kept = own_socket();
    if (kept.ends_with(".kept")) (void)::rename(kept.c_str(), kept.substr(0, kept.size() - 5).c_str());
  };
  const int status = serve::serve({.kind = "task driver", .name = name, .version = version, .make = make, .stop = stop},
                                  {argv, 1}, handshake);
  if (handshake != STDOUT_FILENO) ::close(handshake);
  return status;
}
