#include "programs/program.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "csi/protocol/client.h"
#include "drover/log.h"
#include "drover/metrics.h"
#include "drover/process.h"
#include "paths.h"
#include "supervisor/closed_folder.h"

namespace drover::mounts {
namespace {

using namespace std::chrono_literals;
using Action = ProgramLife::Action;
using Fate = ProgramLife::Fate;

constexpr auto kLauncherTime = 10s;  // of one call
constexpr auto kExitTime = 2s;       // for the launcher to tell how a process ended
constexpr size_t kLeastSecret = 6;   // bytes of a variable's value that is kept out of the log
constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string id_of(const std::string& name) { return "csi-program/" + name; }

std::string to_text(const Launcher::Exit& exit) {
  if (exit.signal == 0) return "exit code " + std::to_string(exit.exit_code);
  const char* const name = ::sigdescr_np(exit.signal);
  return "signal " + std::to_string(exit.signal) + (name ? " (" + std::string(name) + ")" : "");
}

// A file that others may write would lend them the rights of the agent. Errors: those of the system, with the path;
// permission_denied.
Status check_program(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return errno_status(errno, path);
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) == 0) return ok_status();
  return permission_denied(path + " may be written by its group or by others; it is not started (chmod go-w)");
}

// Nothing of the agent's but the way to programs: what it needs its block says.
std::vector<std::string> environment_of(const ProgramSettings& settings, const std::string& socket) {
  std::map<std::string, std::string> all = settings.environment;
  const char* const path = std::getenv("PATH");
  all.try_emplace("PATH", path && *path ? path : kDefaultPath);
  all["CSI_ENDPOINT"] = "unix://" + socket;
  std::vector<std::string> out;
  for (const auto& [name, value] : all) out.push_back(name + "=" + value);
  return out;
}

}  // namespace

Program::Program(Setup setup, ProgramSettings settings, std::optional<ProgramProcess> found)
    : setup_(std::move(setup)),
      settings_(std::move(settings)),
      digest_(digest_of(settings_)),
      life_(setup_.times),
      process_(std::move(found)),
      output_(settings_.name, secrets_, setup_.clock),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  DROVER_CHECK(wake_);
  for (const auto& [name, value] : settings_.environment) {
    if (value.size() >= kLeastSecret) secrets_->add(value);
  }
}

Program::~Program() {
  if (!thread_.joinable()) return;
  stop(Fate::ends);
  wait();
}

void Program::start() {
  thread_ = std::thread([this] { run(); });
}

void Program::stop(Fate fate) {
  const MutexLock lock(mutex_);
  fate_ = fate;
  wake();
}

void Program::restart() {
  const MutexLock lock(mutex_);
  is_restarted_ = true;
  wake();
}

ProgramView Program::view() const {
  const MutexLock lock(mutex_);
  return view_;
}

void Program::wait() {
  if (thread_.joinable()) thread_.join();
}

void Program::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
}

// ---- [csi-program]

void Program::run() {
  ::pthread_setname_np(::pthread_self(), "csi-program");
  const std::optional<ProgramProcess> found = std::exchange(process_, std::nullopt);
  if (found) watch(*found);
  if (ended_) {
    adopt();
  } else if (settings_.is_configured()) {
    process_.reset();
    carry_out(life_.start(setup_.clock.steady()));
  } else {
    (void)launcher();  // it may know how that one ended
    forget();
    (void)life_.stop(Fate::ends, setup_.clock.steady());
  }
  while (!life_.is_over()) {
    show();
    const auto due = life_.due();
    const auto left = due ? std::chrono::ceil<std::chrono::milliseconds>(*due - setup_.clock.steady()) : -1ms;
    std::array<pollfd, 2> events{pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                                 pollfd{.fd = ended_.get(), .events = POLLIN, .revents = 0}};
    if (::poll(events.data(), events.size(), due ? static_cast<int>(std::max(left, 0ms).count()) : -1) < 0) continue;
    if (events[0].revents != 0) take_orders();  // first: what is ended for good is not started again
    if (events[1].revents != 0) on_exit();
    carry_out(life_.tick(setup_.clock.steady()));
  }
  show();
  supervision_.reset();
  setup_.instances.remove(registered_);
  output_.close();
  if (!process_) remove_places();
}

void Program::adopt() {
  ++starts_;
  const bool is_same = process_->digest == digest_;
  log::info("mounts", "a storage plugin of the agent's former life is found again",
            {{"plugin", settings_.name}, {"pid", process_->pid}, {"has_these_settings", is_same}});
  if (settings_.is_configured()) {
    if (const Status status = make_places(); !status.ok())
      log::warn("mounts", "what a storage plugin prints is not logged",
                {{"plugin", settings_.name}, {"error", status.message()}});
  }
  const Action action = life_.adopt(is_same, setup_.clock.steady());
  if (action == Action::none) supervise();
  carry_out(action);
}

void Program::take_orders() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(wake_.get(), &count, sizeof count);
  std::optional<Fate> fate;
  bool is_unhealthy = false, is_restarted = false;
  {
    const MutexLock lock(mutex_);
    fate = std::exchange(fate_, std::nullopt);
    is_unhealthy = std::exchange(is_unhealthy_, false);
    is_restarted = std::exchange(is_restarted_, false);
  }
  if (is_unhealthy) carry_out(life_.unhealthy(setup_.clock.steady()));
  if (is_restarted && !fate) carry_out(life_.restart(setup_.clock.steady()));
  if (!fate) return;
  if (*fate == Fate::stays && process_)
    log::info("mounts", "a storage plugin goes on without the agent: its volumes are in use",
              {{"plugin", settings_.name}, {"pid", process_->pid}});
  carry_out(life_.stop(*fate, setup_.clock.steady()));
}

void Program::show() {
  using State = ProgramLife::State;
  const int64_t now = setup_.clock.wall_ns();
  const auto due = life_.due();
  const MutexLock lock(mutex_);
  const auto state = [this]() DROVER_REQUIRES(mutex_) -> std::string {
    switch (life_.state()) {
      case State::waiting:
        return "backoff";
      case State::running:
        return !is_well_ ? "starting" : *is_well_ ? "running" : "unhealthy";
      case State::ending:
        return "stopping";
      case State::over:
        return "stopped";
    }
    return {};
  }();
  if (state != view_.state || view_.since == 0) view_.since = now;
  if (state == "running") view_.problem.clear();
  view_.state = state;
  view_.pid = process_ ? process_->pid : 0;
  view_.restarts = starts_ > 0 ? starts_ - 1 : 0;
  view_.next_try = state == "backoff" && due ? now + (*due - setup_.clock.steady()).count() : 0;
}

void Program::set_problem(const std::string& problem) {
  const MutexLock lock(mutex_);
  view_.problem = secrets_->without(problem);
}

void Program::carry_out(Action action) {
  switch (action) {
    case Action::none:
      return;
    case Action::launch:
      return launch();
    case Action::end:
      end_supervision("it is being ended");  // no call begins that would not be answered
      return signal(SIGTERM);
    case Action::kill:
      log::warn("mounts", "a storage plugin does not end and is killed", {{"plugin", settings_.name}});
      return signal(SIGKILL);
  }
}

void Program::signal(int number) {
  if (process_) (void)signal_process(process_->pid, process_->start_time, number);
}

void Program::launch() {
  ++starts_;
  const Status status = try_launch();
  if (status.ok()) return supervise();
  (void)life_.exited(setup_.clock.steady());
  const std::string why = "it cannot be started: " + status.message();
  set_problem(why);
  setup_.instances.fade(registered_, why, setup_.clock.wall_ns());
  log::warn("mounts", "a storage plugin cannot be started", {{"plugin", settings_.name}, {"error", status.message()}});
}

Status Program::try_launch() {
  DROVER_RETURN_IF_ERROR(check_program(settings_.command));
  DROVER_RETURN_IF_ERROR(make_places());
  (void)::unlink(socket_.c_str());  // a former start's
  DROVER_TRY(const Launcher::Task started, start_process());
  const ProgramProcess process{.pid = started.pid, .start_time = started.start_time, .digest = digest_};
  setup_.remember(settings_.name, process);
  watch(process);
  if (!ended_) {
    const std::string why = how_it_ended();
    forget();
    return unavailable("it ended at once: " + why);
  }
  log::info("mounts", "a storage plugin is started", {{"plugin", settings_.name}, {"pid", process.pid}});
  return ok_status();
}

// Its folders, and where it prints, unless they are there.
Status Program::make_places() {
  DROVER_TRY(const std::string folder, setup_.folders.program_folder(settings_.name));
  DROVER_TRY(socket_, Folders::socket(folder));
  DROVER_TRY(base_, setup_.folders.base(settings_.type, settings_.id));
  DROVER_TRY(const std::string output, setup_.folders.output(settings_.name));
  for (const std::string& each : {setup_.folders.root(), folder, base_, setup_.folders.root() + "/output"})
    DROVER_RETURN_IF_ERROR(make_closed_folder(each));
  return output_.is_open() ? ok_status() : output_.open(output);
}

Result<Launcher::Task> Program::start_process() {
  DROVER_TRY(Launcher * launcher, this->launcher());
  const std::string id = id_of(settings_.name);
  DROVER_TRY(const std::string output, setup_.folders.output(settings_.name));
  const SteadyTime deadline = setup_.clock.steady() + kLauncherTime;
  (void)launcher->forget(id, deadline);
  return launcher->start({.id = id,
                          .program = settings_.command,
                          .arguments =
                              [this] {
                                std::vector<std::string> all{settings_.command};
                                all.insert(all.end(), settings_.arguments.begin(), settings_.arguments.end());
                                return all;
                              }(),
                          .environment = environment_of(settings_, socket_),
                          .directory = "/",
                          .stdout_path = output,
                          .stderr_path = output,
                          .user = {},
                          .cgroup_files = {}},
                         deadline);
}

Result<Launcher*> Program::launcher() {
  if (launcher_ && launcher_->is_connected()) return launcher_.get();
  launcher_.reset();
  Launcher::Callbacks callbacks{.exited =
                                    [this](const Launcher::Task& task) {
                                      if (task.id != id_of(settings_.name) || !task.exit) return;
                                      const MutexLock lock(mutex_);
                                      exits_[task.pid] = *task.exit;
                                      heard_.notify_all();
                                    },
                                .lost = {}};
  DROVER_TRY(launcher_, Launcher::connect({.folder = setup_.launcher_folder, .program = {}}, std::move(callbacks),
                                          setup_.clock.steady() + kLauncherTime));
  return launcher_.get();
}

void Program::watch(const ProgramProcess& process) {
  process_ = process;
  ended_ = Fd(open_process(process.pid, process.start_time));
}

void Program::supervise() {
  auto instance = std::make_shared<const Instance>(Instance{.plugin_id = settings_.id,
                                                            .type = settings_.type,
                                                            .base = base_,
                                                            .base_seen = base_,
                                                            .client = setup_.connect(socket_, secrets_)});
  supervision_ = std::make_unique<Supervision>(
      Supervision::Setup{.clock = setup_.clock,
                         .instances = setup_.instances,
                         .timing = setup_.timing,
                         .socket = socket_,
                         .health_timeout = settings_.health_timeout,
                         .tell =
                             [this](const std::string& what, const std::string& text) {
                               log::info(
                                   "mounts", "the health of a storage plugin has changed",
                                   {{"plugin", settings_.name}, {"event", what}, {"text", secrets_->without(text)}});
                             },
                         .health =
                             [this](bool is_healthy, const std::string& why) {
                               if (!is_healthy) set_problem(why);
                               const MutexLock lock(mutex_);
                               is_well_ = is_healthy;
                               wake();
                             },
                         .learnt =
                             [this](const std::string& name, const std::string& version) {
                               const MutexLock lock(mutex_);
                               view_.provider = name;
                               view_.version = version;
                             },
                         .restart_failed =
                             [this](const std::string&) {
                               const MutexLock lock(mutex_);
                               is_unhealthy_ = true;
                               wake();
                             },
                         .gone = [this](uint64_t number) { registered_ = number; }},
      std::move(instance));
}

// The servers know it yet, and why it is not asked.
void Program::end_supervision(const std::string& why) {
  supervision_.reset();
  setup_.instances.fade(registered_, why, setup_.clock.wall_ns());
}

void Program::on_exit() {
  end_supervision("it has ended");
  {
    const MutexLock lock(mutex_);
    is_unhealthy_ = false;  // said of this process
    is_well_.reset();
  }
  const bool is_wanted = life_.state() == ProgramLife::State::ending;
  const std::string why = how_it_ended();
  setup_.instances.fade(registered_, "it has ended: " + why, setup_.clock.wall_ns());
  if (!is_wanted) set_problem("it has ended: " + why);
  forget();
  const Action next = life_.exited(setup_.clock.steady());
  if (is_wanted) {
    log::info("mounts", "a storage plugin has ended", {{"plugin", settings_.name}, {"reason", why}});
  } else {
    setup_.metrics.add("nomad.client.plugin.crashes", 1, {{"plugin", settings_.name}});
    log::warn("mounts", "a storage plugin ended by itself; it is started again",
              {{"plugin", settings_.name}, {"reason", why}});
  }
  carry_out(next);
}

// The launcher is told by the system as we are, and may be later.
std::string Program::how_it_ended() {
  if (!launcher() || !process_) return "nobody knows how";
  if (const auto tasks = launcher_->list(setup_.clock.steady() + kLauncherTime)) {
    const auto at = std::ranges::find(*tasks, process_->pid, &Launcher::Task::pid);
    if (at == tasks->end()) return "nobody knows how";  // the launcher was another one
    if (at->exit) return to_text(*at->exit);
  }
  MutexLock lock(mutex_);
  heard_.wait_for(lock, kExitTime, [this]() DROVER_REQUIRES(mutex_) { return exits_.contains(process_->pid); });
  const auto at = exits_.find(process_->pid);
  return at == exits_.end() ? "nobody knows how" : to_text(at->second);
}

void Program::forget() {
  if (launcher_) (void)launcher_->forget(id_of(settings_.name), setup_.clock.steady() + kLauncherTime);
  setup_.remember(settings_.name, std::nullopt);
  process_.reset();
  ended_.close();
  const MutexLock lock(mutex_);
  exits_.clear();
}

void Program::remove_places() const {
  std::error_code ignored;
  if (const auto folder = setup_.folders.program_folder(settings_.name)) std::filesystem::remove_all(*folder, ignored);
  if (const auto output = setup_.folders.output(settings_.name)) std::filesystem::remove(*output, ignored);
}

}  // namespace drover::mounts
