#include "task_reaper.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "drover/log.h"
#include "drover/mutex.h"
#include "drover/process.h"

namespace drover {
namespace {

using namespace std::chrono_literals;

constexpr auto kKillAttempt = 20ms;  // of one task, before the others are looked at
constexpr int kRetryMs = 50;
constexpr auto kKillLimit = 10s;

}  // namespace

TaskReaper::TaskReaper(std::string name, TaskStore& store,
                       std::function<Result<std::vector<Launcher::Task>>()> tasks_of_launcher)
    : name_(std::move(name)),
      store_(store),
      tasks_of_launcher_(std::move(tasks_of_launcher)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  DROVER_CHECK(wake_ >= 0);
  thread_ = std::jthread([this](std::stop_token token) { run(token); });
}

TaskReaper::~TaskReaper() {
  stop();
  for (const Watched& watched : watched_) close(watched.fd);
  close(wake_);
}

void TaskReaper::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t n = write(wake_, &one, sizeof one);
  thread_.join();
}

void TaskReaper::post(Event event) {
  {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
  }
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t n = write(wake_, &one, sizeof one);
}

void TaskReaper::exited(const std::string& id, const Launcher::Exit& exit) {
  if (std::shared_ptr<ProcessTask> task = store_.find(id))  // else a task of another driver
    post({.kind = Event::Kind::exited, .task = std::move(task), .exit = exit});
}
void TaskReaper::launcher_lost() { post({.kind = Event::Kind::lost}); }
void TaskReaper::watch(std::shared_ptr<ProcessTask> task) {
  post({.kind = Event::Kind::watch, .task = std::move(task)});
}

void TaskReaper::run(std::stop_token stop) {
  pthread_setname_np(pthread_self(), "task-reaper");
  while (!stop.stop_requested()) {
    std::vector<pollfd> polled = {{.fd = wake_, .events = POLLIN}};
    for (const Watched& watched : watched_) polled.push_back({.fd = watched.fd, .events = POLLIN});
    if (poll(polled.data(), polled.size(), closing_.empty() ? -1 : kRetryMs) < 0) continue;
    std::vector<std::shared_ptr<ProcessTask>> ended;
    for (size_t i = watched_.size(); i-- > 0;) {
      if (!polled[i + 1].revents) continue;
      close(watched_[i].fd);
      ended.push_back(std::move(watched_[i].task));
      watched_.erase(watched_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (std::shared_ptr<ProcessTask>& task : ended) close_task(std::move(task), std::nullopt);
    std::vector<Event> events;
    if (polled[0].revents) {
      uint64_t count = 0;
      [[maybe_unused]] ssize_t n = read(wake_, &count, sizeof count);
      MutexLock lock(mutex_);
      events.swap(events_);
    }
    for (Event& event : events) handle(std::move(event));
    std::erase_if(closing_, [&](const Closing& closing) { return finish_closing(closing); });
  }
}

void TaskReaper::handle(Event event) {
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

void TaskReaper::find_lost_tasks() {
  std::vector<std::shared_ptr<ProcessTask>> running = store_.all();
  std::erase_if(running, [](const auto& task) { return task->state() != ProcessTask::State::running; });
  if (running.empty()) return;
  log::warn(name_, "launcher is gone, its tasks are watched from here", {{"tasks", running.size()}});
  // It may have been only the connection.
  Result<std::vector<Launcher::Task>> known = tasks_of_launcher_();
  for (std::shared_ptr<ProcessTask>& task : running) {
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

void TaskReaper::start_watching(std::shared_ptr<ProcessTask> task) {
  const bool is_known = std::ranges::find(watched_, task, &Watched::task) != watched_.end();
  if (is_known || task->state() != ProcessTask::State::running) return;
  const TaskProcess process = task->process();
  const int fd = open_process(process.pid, process.start_time);
  if (fd >= 0) {
    watched_.push_back({std::move(task), fd});
  } else {
    close_task(std::move(task), std::nullopt);
  }
}

void TaskReaper::close_task(std::shared_ptr<ProcessTask> task, std::optional<Launcher::Exit> exit) {
  const bool is_known = std::ranges::find(closing_, task, &Closing::task) != closing_.end();
  if (is_known || task->state() != ProcessTask::State::running) return;
  closing_.push_back({std::move(task), exit, SystemClock().steady() + kKillLimit});
}

// True when nothing is left to be done.
bool TaskReaper::finish_closing(const Closing& closing) {
  ProcessTask& task = *closing.task;
  const bool is_empty = task.kill(kKillAttempt).ok();
  if (!is_empty && SystemClock().steady() < closing.gives_up_at) return false;
  if (!is_empty) log::error(name_, "processes of a task could not be killed", {{"task", task.id()}});

  TaskEnd end{.exit = closing.exit, .at = closing.exit ? closing.exit->at : SystemClock().wall_ns()};
  // The first process itself, or one without which it could not go on.
  const bool may_be_oom = end.exit && (end.exit->signal == SIGKILL || end.exit->exit_code != 0);
  if (const Cgroup* group = task.isolation().cgroup(); group && may_be_oom)
    end.is_oom_killed = group->oom_kills().value_or(0) > 0;
  if (const Status gone = task.isolation().tear_down(); !gone.ok())
    log::warn(name_, "isolation of a task was not torn down", {{"task", task.id()}, {"error", gone.message()}});
  task.set_exited(end);
  return true;
}

}  // namespace drover
