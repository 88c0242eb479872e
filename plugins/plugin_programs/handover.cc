// How a plugin is handed over to another version of its program: what upgrade.h decides, done.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "drover/duration.h"
#include "drover/log.h"
#include "drover/mutex.h"
#include "program_host.h"

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;

constexpr auto kDrainTime = 10s;  // for calls that cannot be repeated
constexpr auto kSlice = 100ms;    // after which a wait sees that the agent stops

std::string beside(const std::string& file, const std::string& end) {
  const std::filesystem::path path(file);
  return (path.parent_path() / ("." + path.filename().string() + end)).string();
}

}  // namespace

UpgradeReport ProgramHost::upgrade() const {
  const MutexLock lock(mutex_);
  return report_;
}

bool ProgramHost::is_handing_over() const {
  const MutexLock lock(mutex_);
  return is_handing_over_;
}

bool ProgramHost::has_new_file() const {
  if (options_.resident) return false;
  std::string digest;
  {
    const MutexLock lock(mutex_);
    if (current_->file) digest = current_->file->digest();
  }
  const auto file = PluginFile::open(options_.file, {});
  return file.ok() && (*file)->digest() != digest;
}

Status ProgramHost::begin_upgrade(const std::string& file) {
  if (options_.resident) {
    return failed_precondition("plugin " + file_name_ +
                               " is inside the agent, and code is never unloaded: replace its file and restart the "
                               "agent; tasks go on meanwhile");
  }
  if (!file.empty()) DROVER_RETURN_IF_ERROR(may_run(file));
  const MutexLock upgrading(upgrading_);
  {
    const MutexLock lock(mutex_);
    if (is_stopping_) return unavailable("the agent is stopping");
    const bool is_going_on = report_.state != Upgrade::State::idle && report_.state < Upgrade::State::upgraded;
    if (is_going_on) return failed_precondition("plugin " + file_name_ + " is being upgraded already");
    report_ = {.state = Upgrade::State::proving,
               .file = file.empty() ? options_.file : file,
               .from_version = current_->info.plugin_version(),
               .at = clock_.wall_ns()};
  }
  if (upgrade_.joinable()) upgrade_.join();
  upgrade_ = std::thread([this, file] {
    ::pthread_setname_np(::pthread_self(), "plugin-upgrade");
    run_upgrade(file);
  });
  return ok_status();
}

// Callers must not be able to run any program of the machine: only one that was put here to be a plugin, or one that is
// known to its last byte.
Status ProgramHost::may_run(const std::string& file) const {
  const std::filesystem::path path(file), folder = std::filesystem::path(options_.file).parent_path();
  if (!path.is_absolute()) return invalid_argument("\"" + file + "\" is not an absolute path on the node");
  std::error_code error;
  const bool is_here = std::filesystem::equivalent(path.parent_path(), folder, error) && !error;
  if (is_here || !options_.settings.digests.empty()) return ok_status();
  return permission_denied(file + ": a version that is not pinned must lie in the plugin's own folder, " +
                           folder.string() + "; with a name that begins with a dot it is no plugin of its own there");
}

// ---- [plugin-upgrade] ----

void ProgramHost::run_upgrade(const std::string& file) {
  wanted_ = file;
  const VersionPtr former = current();  // until nothing is said of it any more
  Upgrade upgrade;
  Upgrade::Action action = upgrade.begin();
  log::info("plugin", "plugin is being upgraded", {{"plugin", file_name_}, {"file", this->upgrade().file}});
  while (action != Upgrade::Action::none) {
    const Status status = carry_out(action);
    action = upgrade.done(status.ok());
    const MutexLock lock(mutex_);
    if (!upgrade.is_over()) report_.state = upgrade.state();
    if (!status.ok()) report_.reason += (report_.reason.empty() ? "" : "; then: ") + status.message();
  }
  candidate_.reset();
  UpgradeReport report = this->upgrade();
  report.state = upgrade.state();
  if (report.state == Upgrade::State::upgraded) {
    metrics_.add("nomad.client.plugin.upgrades", 1, {{"plugin", file_name_}});
    log::info("plugin", "plugin was upgraded",
              {{"plugin", file_name_},
               {"from", report.from_version},
               {"to", report.to_version},
               {"tasks", report.tasks},
               {"pause", format_duration(report.pause)}});
  } else {
    metrics_.add("nomad.client.plugin.upgrades_failed", 1, {{"plugin", file_name_}});
    log::warn("plugin", "plugin was not upgraded",
              {{"plugin", file_name_}, {"outcome", to_string(report.state)}, {"reason", report.reason}});
  }
  const MutexLock lock(mutex_);
  report_.state = report.state;
  changed_.notify_all();
}

Status ProgramHost::carry_out(Upgrade::Action action) {
  switch (action) {
    case Upgrade::Action::prove:
      return prove();
    case Upgrade::Action::drain:
      return drain();
    case Upgrade::Action::release:
      current()->life->stop();
      return ok_status();
    case Upgrade::Action::recover:
      return recover();
    case Upgrade::Action::refuse:
      end_candidate();
      let_calls_go();
      return ok_status();
    case Upgrade::Action::go_back:
      return go_back();
    case Upgrade::Action::none:
      break;
  }
  return ok_status();
}

Status ProgramHost::prove() {
  std::string path = options_.file;
  if (!wanted_.empty() && wanted_ != options_.file) {
    // Beside the plugin's own file, so that it can take its place in one step.
    DROVER_TRY(const auto given, PluginFile::open(wanted_, options_.settings.digests));
    path = beside(options_.file, ".next");
    DROVER_RETURN_IF_ERROR(given->copy_to(path));
    staged_ = path;
  }
  DROVER_TRY(auto opened, PluginFile::open(path, options_.settings.digests));
  {
    const MutexLock lock(mutex_);
    if (current_->file && current_->file->digest() == opened->digest())
      return failed_precondition((wanted_.empty() ? options_.file : wanted_) + " is the version that runs already");
  }
  candidate_ = make_version(path);
  {
    const MutexLock lock(mutex_);
    candidate_->file = std::move(opened);
  }
  candidate_->life->start();
  const Status status = wait_running(*candidate_, options_.times.start + kCallTime);
  const MutexLock lock(mutex_);
  report_.to_version = candidate_->info.plugin_version();
  return status.with_context("the new version");
}

// Until it runs or has failed for the first time.
Status ProgramHost::wait_running(const Version& version, std::chrono::nanoseconds limit) const {
  const SteadyTime deadline = clock_.steady() + limit;
  while (!version.life->wait_first(std::min(deadline, clock_.steady() + kSlice))) {
    const MutexLock lock(mutex_);
    if (is_stopping_) return cancelled("the agent stops");
    if (clock_.steady() >= deadline) return deadline_exceeded("not ready within " + format_duration(limit));
  }
  const PluginLife::View view = version.life->view();
  if (view.state == Supervision::State::running) return ok_status();
  return unavailable(view.problem.empty() ? "it is " + std::string(to_string(view.state)) : view.problem);
}

Status ProgramHost::drain() {
  const auto must_end = [](const Flight& flight) { return flight.is_sent && flight.must_end; };
  {
    MutexLock lock(mutex_);
    is_handing_over_ = true;
    pause_began_ = clock_.steady();
    const bool is_quiet = changed_.wait_until(lock, pause_began_ + kDrainTime, [&]() DROVER_REQUIRES(mutex_) {
      return is_stopping_ || std::ranges::none_of(flights_, must_end);
    });
    if (is_stopping_) return cancelled("the agent stops");
    if (is_quiet) return ok_status();
  }
  std::string open;
  for (const std::string& call : calls()) open += (open.empty() ? "" : ", ") + call;
  return deadline_exceeded("calls did not end within " + format_duration(kDrainTime) + ": " + open);
}

Status ProgramHost::recover() {
  {
    const MutexLock role_lock(role_mutex_);
    DROVER_TRY(const ChannelPtr channel, candidate_->life->channel(nullptr, clock_.steady()));
    if (!role_) role_ = options_.role(*kind_of_type(candidate_->info.type()));
    DROVER_TRY(const size_t tasks, role_->take_over(channel).with_context("the new version"));
    const MutexLock lock(mutex_);
    current_ = candidate_;
    report_.tasks = tasks;
  }
  let_calls_go();
  put_in_place();
  return ok_status();
}

void ProgramHost::let_calls_go() {
  const MutexLock lock(mutex_);
  if (std::exchange(is_handing_over_, false)) report_.pause = clock_.steady() - pause_began_;
  changed_.notify_all();
}

void ProgramHost::end_candidate() {
  if (candidate_) candidate_->life->stop();
  if (!staged_.empty()) (void)::unlink(std::exchange(staged_, {}).c_str());
}

Status ProgramHost::go_back() {
  {
    // Takes back what the new version was given.
    const MutexLock role_lock(role_mutex_);
    if (role_) role_->lost(true);
  }
  end_candidate();
  const VersionPtr former = current();
  former->life->start();
  Status status = wait_running(*former, options_.times.start);
  if (!status.ok()) {
    const MutexLock role_lock(role_mutex_);
    if (role_ && former->life->view().state != Supervision::State::running) role_->lost(false);
  }
  let_calls_go();
  return status.with_context("the old version");
}

// The next start of the agent finds it, and the former one lies beside it.
void ProgramHost::put_in_place() {
  if (staged_.empty()) return;
  const std::string former = beside(options_.file, ".previous");
  (void)::unlink(former.c_str());
  if (::link(options_.file.c_str(), former.c_str()) != 0)
    log::warn("plugin", "the former version is not kept",
              {{"plugin", file_name_}, {"error", errno_status(errno, former).message()}});
  if (::rename(staged_.c_str(), options_.file.c_str()) != 0) {
    log::warn("plugin", "the next start of the agent would run the former version",
              {{"plugin", file_name_}, {"error", errno_status(errno, options_.file).message()}});
  } else if (auto file = PluginFile::open(options_.file, {}); file) {  // by its new path
    const MutexLock lock(mutex_);
    current_->path = options_.file;
    current_->file = *std::move(file);
  }
  staged_.clear();
}

}  // namespace drover::plugin_programs
