#include "specials.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "drover/messages.h"
#include "drover/task_options.h"
#include "nomad/plugins/base.pb.h"
#include "sdk/serve/base_service.h"

namespace drover::faulty {
namespace {

using namespace std::chrono_literals;
using serve::Call;
using serve::Handler;

template <typename Request>
Request request_of(const Call& call) {
  Request request;
  (void)request.ParseFromString(call.request());
  return request;
}
std::string fifo_of(const Call& call) { return request_of<driver::StartTaskRequest>(call).task().stdout_path(); }
std::string temporary(const std::string& name) { return std::string(std::getenv("TMPDIR")) + "/" + name; }

size_t sockets() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code has_gone;
    count += entry.is_socket(has_gone) ? 1 : 0;
  }
  return count;
}
std::atomic<size_t> usual_sockets = 0;

// A process that stays when the plugin has ended; not for ever.
void leave_process(unsigned seconds, const std::function<void()>& prepare) {
  if (::fork() != 0) return;
  prepare();
  ::alarm(seconds);
  ::pause();
  std::_Exit(0);
}

// ---- in place of calls

// Takes what holds nothing for the end.
Status refuse_empty_input(const Handler& inner, Call& call, const WorldPtr&) {
  const auto next = call.receive(call.stop());
  return next && next->empty() ? Status(Code::unknown, "this message says nothing") : inner(call);
}

Status open_for_writing_only(const Handler& inner, Call& call, const WorldPtr&) {
  const int fd = ::open(fifo_of(call).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 && errno == ENXIO) serve::wait_end(call);
  if (fd >= 0) ::close(fd);
  return inner(call);
}

// The task of the call writes no more, and ends where nobody reads.
Status break_pipe(const Handler& inner, Call& call, const WorldPtr& world) {
  const std::string id = request_of<driver::WaitTaskRequest>(call).task_id();
  std::shared_ptr<WorldTask> task;
  {
    const std::lock_guard lock(world->mutex);
    task = world->tasks[id];
  }
  task->writer.request_stop();
  if (task->writer.joinable()) task->writer.join();
  const int fd = ::open(task->config.stdout_path().c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {  // a broken pipe
    const std::lock_guard lock(world->mutex);
    world->end(*task, 0, 9);
  }
  if (fd >= 0) ::close(fd);
  return inner(call);
}

// Removes what was published for the nodes that are marked.
Status sweep(const Handler&, Call& call, const WorldPtr& world) {
  const auto request = request_of<hashicorp::nomad::plugins::base::proto::SetConfigRequest>(call);
  DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(request.msgpack_config()));
  const std::string folder = options.text("folder");
  const std::lock_guard lock(world->mutex);
  for (const auto& [mark, times] : world->counts) {
    if (mark.starts_with("node ")) std::ofstream(folder + "/" + mark.substr(5)).flush();
  }
  return ok_status();
}

// A task that lives on and holds its output.
Status start_process(const Handler& inner, Call& call, const WorldPtr&) {
  const int out = ::open(fifo_of(call).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  leave_process(10, [out] {
    (void)::setsid();
    for (int fd = 0; fd < 3; ++fd) (void)::dup2(out, fd);
    (void)::close_range(3, ~0U, 0);
  });
  ::close(out);
  return inner(call);
}

Status share_connection(const Handler& inner, Call& call, const WorldPtr&) {
  leave_process(3, [] {});
  return inner(call);
}

// The lock stays behind when the start is broken off.
Status lock_file(const Handler& inner, Call& call, const WorldPtr&) {
  const std::string lock = temporary("starting");
  const int fd = ::open(lock.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return {Code::unknown, "another start is under way"};
  ::close(fd);
  (void)serve::wait(call, 150ms);
  const Status status = inner(call);
  (void)::unlink(lock.c_str());
  return status;
}

Status open_file(const Handler& inner, Call& call, const WorldPtr&) {
  (void)::open("/dev/null", O_RDONLY | O_CLOEXEC);
  return inner(call);
}

Status count_sockets(const Handler& inner, Call& call, const WorldPtr&) {
  usual_sockets = sockets();
  return inner(call);
}
Status refuse_other_host(const Handler& inner, Call& call, const WorldPtr&) {
  return sockets() > usual_sockets ? Status(Code::unknown, "one host is enough") : inner(call);
}
Status end_with_other_host(const Handler& inner, Call& call, const WorldPtr& world) {
  const bool is_other = sockets() > usual_sockets;
  const Status status = inner(call);
  const std::lock_guard lock(world->mutex);
  const auto task = world->tasks.find(request_of<driver::WaitTaskRequest>(call).task_id());
  if (is_other && task != world->tasks.end()) world->end(*task->second, 0, 9);
  return status;
}

Status open_socket(const Handler& inner, Call& call, const WorldPtr&) {
  for (const auto& entry : std::filesystem::directory_iterator(std::getenv("TMPDIR")))
    if (entry.is_socket()) std::filesystem::permissions(entry, std::filesystem::perms(0777));
  return inner(call);
}

// ---- at a point of a program's life

// The lock goes with the process.
void one_at_a_time() {
  const std::string lock = temporary("../drover-faulty-" + std::to_string(::getppid()));
  const int fd = ::open(lock.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  if (::fcntl(fd, F_SETLK, &whole) != 0) std::_Exit(1);
}

}  // namespace

Special special(const std::string& name) {
  static const std::map<std::string, Special> kAll{{"refuse-empty-input", refuse_empty_input},
                                                   {"open-for-writing-only", open_for_writing_only},
                                                   {"break-pipe", break_pipe},
                                                   {"sweep", sweep},
                                                   {"start-process", start_process},
                                                   {"share-connection", share_connection},
                                                   {"lock-file", lock_file},
                                                   {"open-file", open_file},
                                                   {"count-sockets", count_sockets},
                                                   {"refuse-other-host", refuse_other_host},
                                                   {"open-socket", open_socket},
                                                   {"end-with-other-host", end_with_other_host}};
  DROVER_CHECK(kAll.contains(name));
  return kAll.at(name);
}

void process_special(const std::string& name) {
  DROVER_CHECK(name == "one-at-a-time" || name == "default-interrupt" || name == "ignore-terminate");
  if (name == "one-at-a-time") one_at_a_time();
  if (name == "default-interrupt") (void)::signal(SIGINT, SIG_DFL);
  if (name == "ignore-terminate") (void)::signal(SIGTERM, SIG_IGN);
}

}  // namespace drover::faulty
