#include "programs/programs.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "drover/api/plugins.pb.h"
#include "drover/log.h"
#include "drover/messages.h"
#include "drover/read_all.h"
#include "mounts_state.pb.h"
#include "paths.h"

namespace drover::mounts {
namespace {

constexpr std::string_view kRows = "program/";          // of rows
constexpr std::string_view kIdPrefix = "csi-program/";  // of the launcher's tasks
constexpr auto kListTime = std::chrono::seconds(10);

std::string launcher_folder(const Host& host) { return host.agent().data_dir + "/launcher"; }

}  // namespace

std::vector<MountPoint> machine_mounts() {
  std::ifstream file("/proc/self/mountinfo");
  return parse_mountinfo(read_all(file));
}

Status Programs::start(Setup setup, std::vector<ProgramSettings> wanted) {
  setup_.emplace(std::move(setup));
  DROVER_RETURN_IF_ERROR(check_places(wanted));
  DROVER_TRY(Found found, find(!wanted.empty()));
  const MutexLock lock(mutex_);
  for (ProgramSettings& settings : wanted) {
    programs_.push_back(make(settings, found));
    found.erase(settings.name);
  }
  for (const auto& [name, process] : found) {
    log::info("mounts", "a storage plugin is ended: the configuration does not name it any more", {{"plugin", name}});
    programs_.push_back(make({.name = name, .command = {}, .id = {}, .type = {}}, found));
    programs_.back()->stop(ProgramLife::Fate::ends);
  }
  for (const auto& program : programs_) program->start();
  return ok_status();
}

void Programs::stop() {
  std::vector<std::unique_ptr<Program>> programs;
  {
    const MutexLock lock(mutex_);
    programs = std::exchange(programs_, {});
  }
  for (const auto& program : programs) program->stop(fate_of(program->settings()));
  for (const auto& program : programs) program->wait();
}

std::vector<v1::NodePlugin> Programs::list() const {
  std::vector<v1::NodePlugin> out;
  const MutexLock lock(mutex_);
  for (const auto& program : programs_) {
    const ProgramSettings& settings = program->settings();
    if (!settings.is_configured()) continue;
    const ProgramView view = program->view();
    v1::NodePlugin& one = out.emplace_back();
    one.set_name(settings.name);
    one.set_called(view.provider);
    one.set_type(std::string(kProgramKind));
    one.set_form("program");
    one.set_path(settings.command);
    one.set_version(view.version);
    one.set_state(view.state);
    one.set_since(view.since);
    one.set_pid(view.pid);
    one.set_restarts(view.restarts);
    one.set_problem(view.problem);
    one.set_next_try(view.next_try);
    if (view.state == "backoff")
      one.set_advice("it is started again by itself; at once with: drover plugin restart " + settings.name);
  }
  return out;
}

Status Programs::restart(const std::string& name) {
  const MutexLock lock(mutex_);
  const auto at = std::ranges::find_if(
      programs_, [&](const auto& each) { return each->settings().name == name && each->settings().is_configured(); });
  if (at == programs_.end()) return not_found("this node runs no storage plugin \"" + name + "\" by its configuration");
  DROVER_RETURN_IF_ERROR(check_restart((*at)->settings()));
  log::info("mounts", "an operator restarts a storage plugin", {{"plugin", name}});
  (*at)->restart();
  return ok_status();
}

Status Programs::check_restart(const ProgramSettings& settings) const {
  DROVER_TRY(const std::string base, setup_->folders.base(settings.type, settings.id));
  for (const MountPoint& mount : setup_->mounts()) {
    if (!mount.path.starts_with(base + "/") || !mount.type.starts_with("fuse")) continue;
    return failed_precondition("plugin \"" + settings.name + "\" may serve " + mount.path + " itself (" + mount.type +
                               "), which would break under the tasks that use it: drain the node first, or stop their "
                               "jobs");
  }
  return ok_status();
}

// A node plugin may serve its mounts by itself, as file systems in user space do. A controller is asked by way of this
// agent alone.
ProgramLife::Fate Programs::fate_of(const ProgramSettings& settings) const {
  const bool is_needed =
      settings.is_configured() && settings.has_node() && !setup_->host.agent().dev_mode && setup_->is_used(settings.id);
  return is_needed ? ProgramLife::Fate::stays : ProgramLife::Fate::ends;
}

// A setting that would never work is an error of the configuration.
Status Programs::check_places(const std::vector<ProgramSettings>& wanted) const {
  for (const ProgramSettings& settings : wanted) {
    DROVER_TRY(const std::string folder, setup_->folders.program_folder(settings.name));
    DROVER_RETURN_IF_ERROR(Folders::socket(folder).status().with_context("plugin \"" + settings.name + "\""));
  }
  return ok_status();
}

Result<Programs::Found> Programs::find(bool are_wanted) const {
  Found found;
  DROVER_TRY(const auto rows, setup_->host.local_store().list(kRows));
  for (const auto& [key, bytes] : rows) {
    DROVER_TRY(const StoredProgram row, parse_message<StoredProgram>(bytes));
    found[row.name()] = {.pid = static_cast<int>(row.pid()), .start_time = row.start_time(), .digest = row.digest()};
  }
  if (are_wanted || !found.empty()) add_launched(found);
  return found;
}

// One that was started when the agent was killed, before it was remembered. Nobody knows by which settings.
void Programs::add_launched(Found& found) const {
  const SteadyTime deadline = setup_->host.clock().steady() + kListTime;
  const auto launcher = Launcher::connect({.folder = launcher_folder(setup_->host), .program = {}}, {}, deadline);
  const auto tasks = launcher ? (*launcher)->list(deadline) : launcher.status();
  if (!tasks) return;
  for (const Launcher::Task& task : *tasks) {
    if (!task.id.starts_with(kIdPrefix) || task.exit) continue;
    ProgramProcess& process = found[task.id.substr(kIdPrefix.size())];
    if (process.pid != task.pid || process.start_time != task.start_time)
      process = {.pid = task.pid, .start_time = task.start_time};
  }
}

void Programs::remember(const std::string& name, const std::optional<ProgramProcess>& process) const {
  LocalStore::Write row{.key = std::string(kRows) + name, .value = std::nullopt};
  if (process) {
    StoredProgram stored;
    stored.set_name(name);
    stored.set_pid(process->pid);
    stored.set_start_time(process->start_time);
    stored.set_digest(process->digest);
    row.value = serialize(stored);
  }
  if (const Status status = setup_->host.local_store().write({&row, 1}); !status.ok())
    log::warn("mounts", "the process of a storage plugin is not remembered",
              {{"plugin", name}, {"error", status.message()}});
}

std::unique_ptr<Program> Programs::make(ProgramSettings settings, const Found& found) const {
  const auto at = found.find(settings.name);
  return std::make_unique<Program>(
      Program::Setup{.clock = setup_->host.clock(),
                     .metrics = setup_->host.metrics(),
                     .instances = setup_->instances,
                     .folders = setup_->folders,
                     .launcher_folder = launcher_folder(setup_->host),
                     .connect = setup_->connect,
                     .remember = [this](const std::string& name,
                                        const std::optional<ProgramProcess>& process) { remember(name, process); },
                     .times = setup_->times,
                     .timing = setup_->timing},
      std::move(settings), at == found.end() ? std::nullopt : std::optional(at->second));
}

}  // namespace drover::mounts
