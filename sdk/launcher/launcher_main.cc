// drover-launcher: the parent of an agent's task processes.
//
//   started by the first client ──▶ serving ──no client, no task, nothing held for a while──▶ gone
//                                      └──no client, no running task, no way here for a client──▶ gone
//
// It is small and does one thing so that it need never be restarted: the agent may be killed, upgraded and started
// again while tasks run, and their exit codes are kept here until a client has collected them. One thread; nothing in
// its loop waits for a client. Usage: drover-launcher FOLDER GRACE_MILLISECONDS, with the listening socket as
// descriptor 3.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "confinement_codec.h"
#include "drover/process.h"
#include "protocol.h"
#include "spawn.h"

namespace drover::launcher {
namespace {

constexpr size_t kLargestBacklog = size_t{32} << 20;  // a client that does not read is dropped

struct Client {
  int fd = -1;
  std::string in, out;
  bool is_gone = false;
};

struct Task {
  TaskRecord record;
  // The launcher's own ends of the task's FIFOs: while they are open, what the task wrote stays in the pipe.
  int out = -1, err = -1;
  // A command that goes with its client has that client here; null when it has gone.
  bool is_exec = false;
  const Client* owner = nullptr;
};

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class Server {
 public:
  Server(std::string folder, int grace_ms) : folder_(std::move(folder)), grace_ms_(grace_ms) {}

  int run() {
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return give_up("prctl");
    prctl(PR_SET_NAME, "drover-launcher");
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    signals_ = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0) return give_up("signalfd");
    lock_ = open((folder_ + "/" + kLockName).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_ < 0) return give_up("open the lock");
    fcntl(kListenFd, F_SETFD, FD_CLOEXEC);
    fcntl(kListenFd, F_SETFL, fcntl(kListenFd, F_GETFL) | O_NONBLOCK);

    while (true) {
      std::vector<pollfd> polled = {{.fd = signals_, .events = POLLIN}, {.fd = kListenFd, .events = POLLIN}};
      for (const auto& client : clients_) {
        polled.push_back(
            {.fd = client->fd, .events = static_cast<short>(client->out.empty() ? POLLIN : POLLIN | POLLOUT)});
      }
      const bool is_idle = clients_.empty() && pids_.empty();
      const int n = poll(polled.data(), polled.size(), is_idle ? grace_ms_ : -1);
      if (n < 0 && errno != EINTR) return give_up("poll");
      if (n == 0 && is_idle && (is_out_of_reach() || (tasks_.empty() && held_.empty() && leave()))) return 0;
      if (n <= 0) continue;
      const size_t known = clients_.size();
      if (polled[1].revents) admit();
      for (size_t i = 0; i < known; ++i) {
        if (polled[i + 2].revents) serve(*clients_[i]);
      }
      if (polled[0].revents) reap();
      for (auto& client : clients_) flush(*client);
      std::erase_if(clients_, [this](const auto& client) {
        if (!client->is_gone) return false;
        close(client->fd);
        end_execs(*client);
        return true;
      });
    }
  }

 private:
  int give_up(const char* what) {
    const std::string line = std::string("launcher: ") + what + ": " + std::strerror(errno) + "\n";
    const int log = open((folder_ + "/" + kLogName).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log >= 0) {
      [[maybe_unused]] ssize_t n = write(log, line.data(), line.size());
      close(log);
    }
    return 1;
  }

  // Clients come through the folder and take its lock first. Once that file is deleted none can come: results and FIFOs
  // are kept for nobody. (A folder that was moved still has it.)
  bool is_out_of_reach() const {
    struct stat lock {};
    return fstat(lock_, &lock) == 0 && lock.st_nlink == 0;
  }

  // A client holds the lock from before it connects until it was greeted, so none can be lost between the last look at
  // the socket and the end.
  bool leave() {
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0) return false;
    pollfd waiting{.fd = kListenFd, .events = POLLIN};
    if (poll(&waiting, 1, 0) != 0) {
      flock(lock_, LOCK_UN);
      return false;
    }
    unlink((folder_ + "/" + kSocketName).c_str());
    return true;
  }

  void admit() {
    while (true) {
      const int fd = accept4(kListenFd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) return;
      ucred peer{};
      socklen_t size = sizeof peer;
      if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || (peer.uid != geteuid() && peer.uid != 0)) {
        close(fd);
        continue;
      }
      clients_.push_back(std::make_unique<Client>());
      clients_.back()->fd = fd;
    }
  }

  void serve(Client& client) {
    char bytes[65536];
    while (true) {
      const ssize_t n = read(client.fd, bytes, sizeof bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      if (n <= 0) {
        client.is_gone = true;
        return;
      }
      client.in.append(bytes, static_cast<size_t>(n));
    }
    std::string frame;
    while (!client.is_gone) {
      const Take taken = take_frame(client.in, frame);
      if (taken == Take::more) return;
      if (taken == Take::broken) client.is_gone = true;
      if (taken == Take::frame) answer(client, frame);
    }
  }

  void flush(Client& client) {
    while (!client.is_gone && !client.out.empty()) {
      const ssize_t n = send(client.fd, client.out.data(), client.out.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) {
        client.is_gone = client.out.size() > kLargestBacklog;
        return;
      }
      if (n < 0) client.is_gone = true;
      if (n > 0) client.out.erase(0, static_cast<size_t>(n));
    }
  }

  static void fail(Client& client, uint64_t request, int error, const std::string& text) {
    Writer out(Kind::failed, request);
    out.number(static_cast<uint64_t>(error));
    out.text(text);
    client.out += out.finish();
  }

  // Reads a start and what comes before it. False: it shall be confined by something that is not known here.
  static bool read_start(Reader& in, StartRequest& start) {
    const Kind kind = in.kind();
    const bool is_confined = kind == Kind::start_confined || kind == Kind::exec_confined;
    const bool is_within = is_confined || kind == Kind::start_within || kind == Kind::exec_within;
    std::optional<Confinement> confinement;
    if (is_confined && !(confinement = read_confinement(in))) return false;
    const std::string network = is_within ? in.text() : std::string();
    start = StartRequest::read(in);
    start.network_namespace = network;
    start.confinement = std::move(confinement);
    return true;
  }

  void answer(Client& client, const std::string& frame) {
    Reader in(frame);
    const uint64_t request = in.request();
    switch (in.kind()) {
      case Kind::hello: {
        in.number();
        Writer out(Kind::hello_reply, request);
        out.number(kVersion);
        out.number(static_cast<uint64_t>(getpid()));
        client.out += out.finish();
        return;
      }
      case Kind::start:
      case Kind::start_within:
      case Kind::start_confined: {
        StartRequest start;
        if (!read_start(in, start)) return fail(client, request, ENOSYS, "a confinement of another form");
        if (!in.ok() || start.id.empty() || start.arguments.size() < 2) return fail(client, request, EINVAL, "start");
        return start_task(client, request, start);
      }
      case Kind::exec:
      case Kind::exec_within:
      case Kind::exec_confined: {
        StartRequest start;
        if (!read_start(in, start)) return fail(client, request, ENOSYS, "a confinement of another form");
        const ExecStreams streams = ExecStreams::read(in);
        if (!in.ok() || start.id.empty() || start.arguments.size() < 2) return fail(client, request, EINVAL, "exec");
        return start_exec(client, request, start, streams);
      }
      case Kind::list: {
        Writer out(Kind::tasks, request);
        out.number(tasks_.size());
        for (const auto& [id, task] : tasks_) task.record.write(out);
        client.out += out.finish();
        return;
      }
      case Kind::signal: {
        const std::string id = in.text();
        const int signal = static_cast<int>(in.number());
        const bool to_group = in.number() != 0;
        auto at = tasks_.find(id);
        if (at == tasks_.end()) return fail(client, request, ESRCH, "signal " + id);
        // Not reaped yet, so the number still is this task's.
        if (!at->second.record.has_exited) {
          const pid_t pid = at->second.record.pid;
          if (kill(to_group ? -pid : pid, signal) != 0 && errno != ESRCH)
            return fail(client, request, errno, "signal " + id);
        }
        client.out += Writer(Kind::done, request).finish();
        return;
      }
      case Kind::forget: {
        auto at = tasks_.find(in.text());
        if (at != tasks_.end() && !at->second.record.has_exited)
          return fail(client, request, EBUSY, "forget " + at->first);
        if (at != tasks_.end()) {
          close_streams(at->second);
          tasks_.erase(at);
        }
        client.out += Writer(Kind::done, request).finish();
        return;
      }
      case Kind::hold: {
        const std::string name = in.text();
        const std::vector<std::string> fifos = in.list();
        if (!in.ok() || name.empty()) return fail(client, request, EINVAL, "hold");
        return hold(client, request, name, fifos);
      }
      case Kind::release:
        release(in.text());
        client.out += Writer(Kind::done, request).finish();
        return;
      default:
        fail(client, request, ENOSYS, "request of kind " + std::to_string(static_cast<int>(in.kind())));
    }
  }

  // Returns -1 and sets errno on errors. Follows no link and takes only a FIFO: a task may have put the file there.
  static int open_stream(const std::string& path) {
    if (path.empty() || path == "/dev/null") return open("/dev/null", O_RDWR | O_CLOEXEC);
    // For reading too: a FIFO opens without a reader, and a writer never meets a broken pipe while the agent is away.
    const int fd = open(path.c_str(), O_RDWR | O_APPEND | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
    struct stat found {};
    if (fd < 0 || (fstat(fd, &found) == 0 && S_ISFIFO(found.st_mode) && fcntl(fd, F_SETFL, O_APPEND) == 0)) return fd;
    close(fd);
    errno = EINVAL;
    return -1;
  }
  // A reader sees the end of the stream, and what a reader that is just being killed has not read is not lost.
  static void end_streams(Task& task) {
    for (int* fd : {&task.out, &task.err}) {
      struct stat info {};
      if (*fd < 0) continue;
      const std::string opened = "/proc/self/fd/" + std::to_string(*fd);
      const bool is_pipe = fstat(*fd, &info) == 0 && S_ISFIFO(info.st_mode);
      const int reader = is_pipe ? open(opened.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
      close(*fd);
      *fd = reader;
    }
  }
  static void close_streams(Task& task) {
    for (int* fd : {&task.out, &task.err}) {
      if (*fd >= 0) close(*fd);
      *fd = -1;
    }
  }

  void start_task(Client& client, uint64_t request, const StartRequest& start) {
    if (tasks_.contains(start.id)) return fail(client, request, EEXIST, "start " + start.id);
    Task task;
    task.out = open_stream(start.stdout_path);
    if (task.out < 0) return fail(client, request, errno, "open " + start.stdout_path);
    task.err = open_stream(start.stderr_path);
    if (task.err < 0) {
      const int error = errno;
      close_streams(task);
      return fail(client, request, error, "open " + start.stderr_path);
    }
    const Spawned spawned = spawn(start, task.out, task.err);
    if (spawned.pid < 0) {
      close_streams(task);
      return fail(client, request, spawned.error, spawned.what);
    }
    keep(client, request, start.id, spawned.pid, std::move(task));
  }

  void start_exec(Client& client, uint64_t request, const StartRequest& start, const ExecStreams& streams) {
    if (tasks_.contains(start.id)) return fail(client, request, EEXIST, "exec " + start.id);
    const Spawned spawned = spawn(start, streams);
    if (spawned.pid < 0) return fail(client, request, spawned.error, spawned.what);
    Task task;
    task.is_exec = true;
    task.owner = &client;
    keep(client, request, start.id, spawned.pid, std::move(task));
  }

  void keep(Client& client, uint64_t request, const std::string& id, pid_t pid, Task task) {
    task.record.id = id;
    task.record.pid = pid;
    task.record.start_time = process_start_time(pid).value_or(0);
    task.record.started_at = now_ns();
    Writer out(Kind::started, request);
    task.record.write(out);
    client.out += out.finish();
    pids_[pid] = id;
    tasks_[id] = std::move(task);
  }

  // Ends the commands of a client that has gone. Those that still run are forgotten when they have been collected.
  void end_execs(const Client& client) {
    for (auto& [id, task] : tasks_) {
      if (!task.is_exec || task.owner != &client) continue;
      task.owner = nullptr;
      if (!task.record.has_exited) kill(-task.record.pid, SIGKILL);
    }
    std::erase_if(tasks_, [](const auto& entry) {
      return entry.second.is_exec && entry.second.owner == nullptr && entry.second.record.has_exited;
    });
  }

  void hold(Client& client, uint64_t request, const std::string& name, const std::vector<std::string>& fifos) {
    std::vector<int> opened;
    for (const std::string& fifo : fifos) {
      opened.push_back(open_stream(fifo));
      if (opened.back() >= 0) continue;
      const int error = errno;
      for (const int fd : opened) close(fd);
      return fail(client, request, error, "open " + fifo);
    }
    release(name);
    held_[name] = std::move(opened);
    client.out += Writer(Kind::done, request).finish();
  }
  void release(const std::string& name) {
    const auto found = held_.find(name);
    if (found == held_.end()) return;
    for (const int fd : found->second) close(fd);
    held_.erase(found);
  }

  // Looks again: a client may have gone since its descriptor was polled.
  bool has_client() const {
    for (const auto& client : clients_) {
      pollfd polled{.fd = client->fd, .events = POLLRDHUP};
      if (!client->is_gone && poll(&polled, 1, 0) == 0) return true;
    }
    return false;
  }

  void reap() {
    signalfd_siginfo info[8];
    while (read(signals_, info, sizeof info) > 0) {
    }
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      auto at = pids_.find(pid);
      if (at == pids_.end()) continue;  // what a task left behind
      const auto known = tasks_.find(at->second);
      Task& task = known->second;
      pids_.erase(at);
      if (task.is_exec && task.owner == nullptr) {
        tasks_.erase(known);
        continue;
      }
      task.record.has_exited = true;
      task.record.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
      task.record.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      task.record.exited_at = now_ns();
      // With a client there is a reader, and it shall see the end of the stream. Without one the pipe is kept.
      if (has_client()) end_streams(task);
      Writer out(Kind::exited, 0);
      task.record.write(out);
      const std::string event = out.finish();
      for (auto& client : clients_) client->out += event;
    }
  }

  const std::string folder_;
  const int grace_ms_;
  int signals_ = -1;
  int lock_ = -1;
  std::vector<std::unique_ptr<Client>> clients_;
  std::map<std::string, Task> tasks_;
  std::map<pid_t, std::string> pids_;  // of running tasks
  std::map<std::string, std::vector<int>> held_;
};

}  // namespace
}  // namespace drover::launcher

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  // The launcher is nobody's child: its starter has collected it at once, and need not do so at some later time.
  const pid_t pid = fork();
  if (pid != 0) return pid > 0 ? 0 : 1;
  return drover::launcher::Server(argv[1], std::atoi(argv[2])).run();
}
