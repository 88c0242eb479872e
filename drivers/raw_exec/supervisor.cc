#include "supervisor.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "drover/log.h"
#include "drover/process.h"

namespace drover::raw_exec {
namespace {

using namespace std::chrono_literals;

constexpr auto kKillAttempt = 20ms;  // of one task, before the others are looked at
constexpr int kRetryMs = 50;
constexpr auto kKillLimit = 10s;
constexpr int kExitSignalBase = 128;  // as shells report a death by signal

}  // namespace

Supervisor::Supervisor(TaskStore& store, std::function<Result<std::vector<Launcher::Task>>()> tasks_of_launcher)
    : store_(store), tasks_of_launcher_(std::move(tasks_of_launcher)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  DROVER_CHECK(wake_ >= 0);
  thread_ = std::jthread([this](std::stop_token token) { run(token); });
}

Supervisor::~Supervisor() {
  stop();
  for (const Watched& watched : watched_) close(watched.fd);
  close(wake_);
}

void Supervisor::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t n = write(wake_, &one, sizeof one);
  thread_.join();
}

void Supervisor::post(Event event) {
  {
    std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t n = write(wake_, &one, sizeof one);
}

void Supervisor::exited(const std::string& id, const Launcher::Exit& exit) {
  if (std::shared_ptr<Task> task = store_.find(id))  // else a task of another driver
    post({.kind = Event::Kind::exited, .task = std::move(task), .exit = exit});
}
void Supervisor::launcher_lost() { post({.kind = Event::Kind::lost}); }
void Supervisor::watch(std::shared_ptr<Task> task) { post({.kind = Event::Kind::watch, .task = std::move(task)}); }

void Supervisor::run(std::stop_token stop) {
  pthread_setname_np(pthread_self(), "raw_exec");
  while (!stop.stop_requested()) {
    std::vector<pollfd> polled = {{.fd = wake_, .events = POLLIN}};
    for (const Watched& watched : watched_) polled.push_back({.fd = watched.fd, .events = POLLIN});
    if (poll(polled.data(), polled.size(), closing_.empty() ? -1 : kRetryMs) < 0) continue;
    std::vector<std::shared_ptr<Task>> ended;
    for (size_t i = watched_.size(); i-- > 0;) {
      if (!polled[i + 1].revents) continue;
      close(watched_[i].fd);
      ended.push_back(std::move(watched_[i].task));
      watched_.erase(watched_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (std::shared_ptr<Task>& task : ended) close_task(std::move(task), std::nullopt);
    std::vector<Event> events;
    if (polled[0].revents) {
      uint64_t count = 0;
      [[maybe_unused]] ssize_t n = read(wake_, &count, sizeof count);
      std::lock_guard lock(mutex_);
      events.swap(events_);
    }
    for (Event& event : events) handle(std::move(event));
    std::erase_if(closing_, [&](const Closing& closing) { return settle(closing); });
  }
}

void Supervisor::handle(Event event) {
  switch (event.kind) {
    case Event::Kind::exited:
      if (event.task->may_settle(event.exit)) close_task(std::move(event.task), event.exit);
      break;
    case Event::Kind::lost:
      find_lost_tasks();
      break;
    case Event::Kind::watch:
      start_watching(std::move(event.task));
      break;
  }
}

void Supervisor::find_lost_tasks() {
  std::vector<std::shared_ptr<Task>> running = store_.all();
  std::erase_if(running, [](const auto& task) { return task->state() != Task::State::running; });
  if (running.empty()) return;
  log::warn("raw_exec", "launcher is gone, its tasks are watched from here", {{"tasks", running.size()}});
  // It may have been only the connection.
  Result<std::vector<Launcher::Task>> known = tasks_of_launcher_();
  for (std::shared_ptr<Task>& task : running) {
    if (known.ok()) {
      auto at = std::ranges::find(*known, task->id(), &Launcher::Task::id);
      if (at != known->end()) {
        if (at->exit) close_task(std::move(task), at->exit);
        continue;
      }
    }
    start_watching(std::move(task));
  }
}

void Supervisor::start_watching(std::shared_ptr<Task> task) {
  const bool is_known = std::ranges::find(watched_, task, &Watched::task) != watched_.end();
  if (is_known || task->state() != Task::State::running) return;
  const Process process = task->process();
  const int fd = open_process(process.pid, process.start_time);
  if (fd >= 0) {
    watched_.push_back({std::move(task), fd});
  } else {
    close_task(std::move(task), std::nullopt);
  }
}

void Supervisor::close_task(std::shared_ptr<Task> task, std::optional<Launcher::Exit> exit) {
  const bool is_known = std::ranges::find(closing_, task, &Closing::task) != closing_.end();
  if (is_known || task->state() != Task::State::running) return;
  closing_.push_back({std::move(task), exit, SystemClock().steady() + kKillLimit});
}

// True when nothing is left to be done.
bool Supervisor::settle(const Closing& closing) {
  Task& task = *closing.task;
  const Process process = task.process();
  const bool has_cgroup = task.cgroup() && !task.cgroup()->is_empty();
  bool is_empty = false;
  if (has_cgroup) {
    is_empty = task.cgroup()->kill(SystemClock().steady() + kKillAttempt).ok();
  } else {
    is_empty = kill_tree(process.pid, process.start_time, static_cast<int>(kKillAttempt.count()));
  }
  if (!is_empty && SystemClock().steady() < closing.gives_up_at) return false;
  if (!is_empty) log::error("raw_exec", "processes of a task could not be killed", {{"task", task.id()}});

  proto::ExitResult result;
  Status failure;
  if (closing.exit) {
    result.set_signal(closing.exit->signal);
    result.set_exit_code(closing.exit->signal ? kExitSignalBase + closing.exit->signal : closing.exit->exit_code);
  } else {
    result.set_exit_code(-1);
    failure = Status(Code::unknown, "the task ended while its launcher was gone; its exit code is not known");
  }
  if (has_cgroup) {
    result.set_oom_killed(result.signal() == SIGKILL && task.cgroup()->oom_kills().value_or(0) > 0);
    if (Status removed = task.cgroup()->remove(); !removed.ok())
      log::warn("raw_exec", "control group was not removed", {{"task", task.id()}, {"error", removed.message()}});
  }
  task.set_exited(result, std::move(failure), closing.exit ? closing.exit->at : SystemClock().wall_ns());
  return true;
}

}  // namespace drover::raw_exec
