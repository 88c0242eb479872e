#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "confinement_codec.h"
#include "drover/fd.h"
#include "drover/launcher.h"
#include "drover/mutex.h"
#include "protocol.h"
#include "rendezvous.h"

namespace drover {

using launcher::Kind;

namespace {

constexpr int kConnectAttempts = 3;
constexpr auto kKillTime = std::chrono::milliseconds(2000);  // within which a killed command has gone

int milliseconds_until(SteadyTime deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SystemClock().steady()).count() + 1;
  return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
}

Launcher::Task to_task(const launcher::TaskRecord& record) {
  Launcher::Task task{.id = record.id,
                      .pid = record.pid,
                      .start_time = record.start_time,
                      .started_at = record.started_at,
                      .exit = std::nullopt};
  if (record.has_exited)
    task.exit = Launcher::Exit{.exit_code = record.exit_code, .signal = record.signal, .at = record.exited_at};
  return task;
}

Status failed_status(int error, const std::string& what) {
  const std::string text = what + ": " + strerror(error);
  switch (error) {
    case EEXIST:
      return already_exists(text);
    case ESRCH:
      return not_found(text);
    case ENOSYS:
      return unimplemented(text + " (the launcher is of an older version)");
    case EBUSY:
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
      return failed_precondition(text);  // may pass
    default:
      return invalid_argument(text);
  }
}

// The state of a command, shared between its owner and the connection's reader.
struct ExecState {
  Fd ended{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Mutex mutex;
  std::optional<Launcher::Exit> exit DROVER_GUARDED_BY(mutex);

  void end(const std::optional<Launcher::Exit>& how) {
    {
      const MutexLock lock(mutex);
      if (how) exit = how;
    }
    const uint64_t one = 1;
    [[maybe_unused]] ssize_t n = write(ended.get(), &one, sizeof one);
  }
};

}  // namespace

struct Launcher::Connection {
  std::string folder;
  Callbacks callbacks;
  Fd socket;
  Fd wake;  // eventfd: the reader shall end
  int pid = 0;

  Mutex writing;  // held for the write of one frame, so that frames do not mix

  Mutex mutex;
  CondVar answered;
  bool is_lost DROVER_GUARDED_BY(mutex) = false;
  uint64_t last_request DROVER_GUARDED_BY(mutex) = 0;
  std::map<uint64_t, std::optional<std::string>> answers DROVER_GUARDED_BY(mutex);  // of requests in flight
  std::map<std::string, std::shared_ptr<ExecState>, std::less<>> execs DROVER_GUARDED_BY(mutex);

  std::thread reader;

  Result<std::string> call(Kind kind, const std::function<void(launcher::Writer&)>& fields, SteadyTime deadline);
  Status send_all(const std::string& frame, SteadyTime deadline);
  void read_loop();
  void dispatch(std::string frame);
};

Status Launcher::Connection::send_all(const std::string& frame, SteadyTime deadline) {
  MutexLock lock(writing);
  size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t n = send(socket.get(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent += static_cast<size_t>(n);
    if (n >= 0 || errno == EINTR) continue;
    pollfd writable{.fd = socket.get(), .events = POLLOUT};
    if (errno == EAGAIN && poll(&writable, 1, milliseconds_until(deadline)) > 0) continue;
    // A frame that was sent in part leaves nothing that could follow it.
    shutdown(socket.get(), SHUT_RDWR);
    return unavailable("the launcher does not take requests");
  }
  return ok_status();
}

Result<std::string> Launcher::Connection::call(Kind kind, const std::function<void(launcher::Writer&)>& fields,
                                               SteadyTime deadline) {
  uint64_t request = 0;
  {
    MutexLock lock(mutex);
    if (is_lost) return unavailable("the launcher is gone");
    request = ++last_request;
    answers[request];
  }
  launcher::Writer out(kind, request);
  fields(out);
  const std::string frame = out.finish();
  Status sent = frame.size() > launcher::kLargestFrame
                    ? invalid_argument("arguments and environment of a task are larger than 8 MiB")
                    : send_all(frame, deadline);
  MutexLock lock(mutex);
  if (sent.ok())
    answered.wait_until(lock, deadline,
                        [&]() DROVER_REQUIRES(mutex) { return is_lost || answers.at(request).has_value(); });
  std::optional<std::string> answer = std::move(answers.at(request));
  answers.erase(request);
  if (!sent.ok()) return sent;
  if (answer) {
    launcher::Reader in(*answer);
    if (in.kind() != Kind::failed) return std::move(*answer);
    const int error = static_cast<int>(in.number());
    return failed_status(error, in.text());
  }
  if (is_lost) return unavailable("the launcher is gone");
  return deadline_exceeded("the launcher did not answer in time");
}

void Launcher::Connection::dispatch(std::string frame) {
  launcher::Reader in(frame);
  if (in.request() == 0) {
    if (in.kind() != Kind::exited) return;  // events of a newer launcher
    const launcher::TaskRecord record = launcher::TaskRecord::read(in);
    if (!in.ok()) return;
    {
      MutexLock lock(mutex);
      if (const auto at = execs.find(record.id); at != execs.end()) return at->second->end(to_task(record).exit);
    }
    if (callbacks.exited) callbacks.exited(to_task(record));
    return;
  }
  MutexLock lock(mutex);
  if (auto at = answers.find(in.request()); at != answers.end()) at->second = std::move(frame);
  answered.notify_all();
}

void Launcher::Connection::read_loop() {
  pthread_setname_np(pthread_self(), "launcher");
  std::string bytes, frame;
  bool was_closed = false;
  for (bool is_open = true; is_open;) {
    pollfd polled[] = {{.fd = socket.get(), .events = POLLIN}, {.fd = wake.get(), .events = POLLIN}};
    if (poll(polled, 2, -1) < 0) continue;
    if (polled[1].revents) {
      was_closed = true;
      break;
    }
    char chunk[65536];
    const ssize_t n = recv(socket.get(), chunk, sizeof chunk, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) break;
    bytes.append(chunk, static_cast<size_t>(n));
    launcher::Take taken = launcher::Take::frame;
    while ((taken = launcher::take_frame(bytes, frame)) == launcher::Take::frame) dispatch(std::move(frame));
    is_open = taken == launcher::Take::more;
  }
  {
    MutexLock lock(mutex);
    is_lost = true;
    for (const auto& [id, exec] : execs) exec->end({});
    answered.notify_all();
  }
  if (!was_closed && callbacks.lost) callbacks.lost();
}

Result<std::unique_ptr<Launcher>> Launcher::connect(Options options, Callbacks callbacks, SteadyTime deadline) {
  DROVER_TRY(Fd folder, launcher::open_folder(options.folder));
  // Held until the launcher has greeted: it does not end itself meanwhile, and nobody else starts a second one.
  DROVER_TRY(Fd lock, launcher::take_lock(folder, deadline));
  Status failure;
  for (int attempt = 0; attempt < kConnectAttempts; ++attempt) {
    Result<Fd> socket = launcher::connect_to(folder);
    // One that is there and cannot be reached has tasks: another one in its place would lose them.
    if (!socket.ok() && socket.status().code() != Code::unavailable) return socket.status();
    if (!socket.ok()) {
      DROVER_RETURN_IF_ERROR(launcher::start_launcher(folder, options));
      socket = launcher::connect_to(folder);
    }
    if (!socket.ok()) return socket.status();
    auto connection = std::make_shared<Connection>();
    connection->folder = options.folder;
    connection->callbacks = callbacks;
    connection->socket = *std::move(socket);
    connection->wake = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    DROVER_CHECK(connection->wake);
    Connection& c = *connection;
    std::unique_ptr<Launcher> client(new Launcher(std::move(connection)));
    c.reader = std::thread([&c] { c.read_loop(); });
    Result<std::string> answer = c.call(
        Kind::hello, [](launcher::Writer& out) { out.number(launcher::kVersion); }, deadline);
    if (answer.ok()) {
      launcher::Reader in(*answer);
      in.number();
      c.pid = static_cast<int>(in.number());
      return client;
    }
    failure = answer.status();
    if (failure.code() != Code::unavailable) break;
  }
  return failure.with_context("greet the launcher");
}

Launcher::Launcher(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}

Launcher::~Launcher() {
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t n = write(connection_->wake.get(), &one, sizeof one);
  if (connection_->reader.joinable()) connection_->reader.join();
}

bool Launcher::is_connected() const {
  MutexLock lock(connection_->mutex);
  return !connection_->is_lost;
}

int Launcher::pid() const { return connection_->pid; }

const std::string& Launcher::folder() const { return connection_->folder; }

namespace {

launcher::StartRequest request_of(const Launcher::Start& start) {
  launcher::StartRequest request;
  request.id = start.id;
  request.arguments.push_back(start.program);
  request.arguments.insert(request.arguments.end(), start.arguments.begin(), start.arguments.end());
  request.environment = start.environment;
  request.directory = start.directory;
  request.stdout_path = start.stdout_path;
  request.stderr_path = start.stderr_path;
  if (start.user) {
    request.changes_user = true;
    request.user = start.user->id;
    request.group = start.user->group;
    request.groups.assign(start.user->groups.begin(), start.user->groups.end());
  }
  request.cgroup_files = start.cgroup_files;
  request.network_namespace = start.network_namespace;
  request.confinement = start.confinement;
  return request;
}

// The kind by what the request holds beyond the first version's fields: a launcher that does not know it says so.
Kind kind_of(const launcher::StartRequest& request, bool is_exec) {
  if (request.confinement) return is_exec ? Kind::exec_confined : Kind::start_confined;
  if (!request.network_namespace.empty()) return is_exec ? Kind::exec_within : Kind::start_within;
  return is_exec ? Kind::exec : Kind::start;
}

void write_start(launcher::Writer& out, const launcher::StartRequest& request) {
  if (request.confinement) launcher::write_confinement(out, *request.confinement);
  if (request.confinement || !request.network_namespace.empty()) out.text(request.network_namespace);
  request.write(out);
}

Result<Launcher::Task> read_started(const std::string& answer) {
  launcher::Reader in(answer);
  const launcher::TaskRecord record = launcher::TaskRecord::read(in);
  if (!in.ok()) return internal_error("the launcher's answer to a start is cut short");
  return to_task(record);
}

}  // namespace

Result<Launcher::Task> Launcher::start(const Start& start, SteadyTime deadline) {
  const launcher::StartRequest request = request_of(start);
  DROVER_TRY(std::string answer,
             connection_->call(
                 kind_of(request, false), [&](launcher::Writer& out) { write_start(out, request); }, deadline));
  return read_started(answer);
}

class Launcher::LaunchedExec final : public Launcher::Exec {
 public:
  LaunchedExec(std::shared_ptr<Connection> connection, std::shared_ptr<ExecState> state, Task task)
      : connection_(std::move(connection)), state_(std::move(state)), task_(std::move(task)) {}
  ~LaunchedExec() override {
    signal(SIGKILL);
    {
      MutexLock lock(connection_->mutex);
      connection_->execs.erase(task_.id);
    }
    pollfd ended{.fd = state_->ended.get(), .events = POLLIN};
    if (poll(&ended, 1, static_cast<int>(kKillTime.count())) <= 0) return;  // the launcher forgets it with this client
    (void)connection_->call(
        Kind::forget, [this](launcher::Writer& out) { out.text(task_.id); }, SystemClock().steady() + kKillTime);
  }
  int pid() const override { return task_.pid; }
  uint64_t start_time() const override { return task_.start_time; }
  int ended_fd() const override { return state_->ended.get(); }
  std::optional<Exit> exit() const override {
    const MutexLock lock(state_->mutex);
    return state_->exit;
  }
  void signal(int number) override {
    if (exit()) return;
    (void)connection_->call(
        Kind::signal,
        [&](launcher::Writer& out) {
          out.text(task_.id);
          out.number(static_cast<uint64_t>(number));
          out.number(1);
        },
        SystemClock().steady() + kKillTime);
  }

 private:
  const std::shared_ptr<Connection> connection_;
  const std::shared_ptr<ExecState> state_;
  const Task task_;
};

Result<std::unique_ptr<Launcher::Exec>> Launcher::exec(const Start& start, const Streams& streams,
                                                       SteadyTime deadline) {
  const launcher::StartRequest request = request_of(start);
  const launcher::ExecStreams paths{streams.input, streams.output, streams.error, streams.terminal};
  auto state = std::make_shared<ExecState>();
  if (!state->ended) return errno_status(errno, "eventfd");
  {
    MutexLock lock(connection_->mutex);
    if (!connection_->execs.try_emplace(start.id, state).second)
      return already_exists("command " + start.id + " was started before");
  }
  auto answer = connection_->call(
      kind_of(request, true),
      [&](launcher::Writer& out) {
        write_start(out, request);
        paths.write(out);
      },
      deadline);
  auto task = answer ? read_started(*answer) : Result<Task>(answer.status());
  if (!task) {
    MutexLock lock(connection_->mutex);
    connection_->execs.erase(start.id);
    return task.status();
  }
  return std::unique_ptr<Exec>(std::make_unique<LaunchedExec>(connection_, std::move(state), *std::move(task)));
}

Result<std::vector<Launcher::Task>> Launcher::list(SteadyTime deadline) {
  DROVER_TRY(std::string answer, connection_->call(
                                     Kind::list, [](launcher::Writer&) {}, deadline));
  launcher::Reader in(answer);
  std::vector<Task> tasks;
  const uint64_t count = in.number();
  for (uint64_t i = 0; i < count && in.ok(); ++i) tasks.push_back(to_task(launcher::TaskRecord::read(in)));
  if (!in.ok()) return internal_error("the launcher's list of tasks is cut short");
  return tasks;
}

Status Launcher::signal(std::string_view id, int signal, To to, SteadyTime deadline) {
  return connection_
      ->call(
          Kind::signal,
          [&](launcher::Writer& out) {
            out.text(id);
            out.number(static_cast<uint64_t>(signal));
            out.number(to == To::group ? 1 : 0);
          },
          deadline)
      .status();
}

Status Launcher::forget(std::string_view id, SteadyTime deadline) {
  return connection_
      ->call(
          Kind::forget, [&](launcher::Writer& out) { out.text(id); }, deadline)
      .status();
}

Status Launcher::hold(std::string_view name, const std::vector<std::string>& fifos, SteadyTime deadline) {
  return connection_
      ->call(
          Kind::hold,
          [&](launcher::Writer& out) {
            out.text(name);
            out.list(fifos);
          },
          deadline)
      .status();
}

Status Launcher::release(std::string_view name, SteadyTime deadline) {
  return connection_
      ->call(
          Kind::release, [&](launcher::Writer& out) { out.text(name); }, deadline)
      .status();
}

Result<Launcher::User> find_user(const std::string& name) {
  std::vector<char> memory(16384);
  passwd entry{};
  passwd* found = nullptr;
  uint32_t number = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  if (is_number) {
    getpwuid_r(number, &entry, memory.data(), memory.size(), &found);
  } else {
    getpwnam_r(name.c_str(), &entry, memory.data(), memory.size(), &found);
  }
  if (!found) return invalid_argument("user \"" + name + "\" is not known on this machine");
  Launcher::User user{.id = entry.pw_uid, .group = entry.pw_gid, .groups = {}};
  int count = 0;
  getgrouplist(entry.pw_name, entry.pw_gid, nullptr, &count);
  std::vector<gid_t> groups(static_cast<size_t>(std::max(count, 1)));
  count = static_cast<int>(groups.size());
  if (getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) >= 0)
    user.groups.assign(groups.begin(), groups.begin() + count);
  return user;
}

}  // namespace drover
