#include "artifact_hook.h"

#include <fcntl.h>
#include <fts.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "drover/dynamic_user.h"
#include "drover/mutex.h"
#include "drover/sha256.h"
#include "drover/task_files.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "fetcher/request.h"
#include "fetcher_process.h"
#include "nomad/plugins/driver.pb.h"
#include "source.h"

namespace drover::artifacts {
namespace {

namespace fs = std::filesystem;

constexpr size_t kAtOnce = 3;
constexpr auto kSpareTime = std::chrono::minutes(1);
constexpr const char* kPath = "/usr/local/bin:/usr/bin:/bin";

// An artifact with every reference resolved.
struct Wanted {
  std::string source, destination, mode, key;
  Options options;
  std::map<std::string, std::string> headers;
  bool is_insecure = false, is_users = false;
};

std::string key_of(const Wanted& wanted) {
  Sha256 sum;
  const auto add = [&](std::string_view text) {
    sum.add(std::to_string(text.size()) + ":");
    sum.add(text);
  };
  for (const std::string* text : {&wanted.source, &wanted.destination, &wanted.mode}) add(*text);
  for (const auto* map : {&wanted.options, &wanted.headers}) {
    add(std::to_string(map->size()));
    for (const auto& [name, value] : *map) add(name), add(value);
  }
  return to_hex(sum.take());
}

// A folder of its own in the allocation's, gone with the object.
// A run of the machine. Empty: unknown.
std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

class Scratch {
 public:
  explicit Scratch(const std::string& root) : path_(root + "/.artifact-XXXXXX") {
    if (!::mkdtemp(path_.data())) path_.clear();
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }  // empty: it could not be made

 private:
  std::string path_;
};

Status give_to_ids(uid_t user, gid_t group, int folder) {
  std::string path = "/proc/self/fd/" + std::to_string(folder) + "/.";
  char* paths[] = {path.data(), nullptr};
  FTS* walk = ::fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, nullptr);
  if (!walk) return errno_status(errno, "chown");
  Status status;
  while (FTSENT* at = ::fts_read(walk)) {
    if (at->fts_info == FTS_DP) continue;
    if (::lchown(at->fts_accpath, user, group) != 0) status = errno_status(errno, "chown");
  }
  ::fts_close(walk);
  return status;
}

Status give_to(const std::string& user, int folder) {
  if (const auto id = dynamic_user_id(user)) return give_to_ids(*id, *id, folder);
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> room(16384);
  if (::getpwnam_r(user.c_str(), &entry, room.data(), room.size(), &found) != 0 || !found)
    return invalid_argument("chown: this node has no user \"" + user + "\"");
  return give_to_ids(entry.pw_uid, entry.pw_gid, folder);
}

class ArtifactsPart final : public TaskHook::Part {
 public:
  ArtifactsPart(Host& host, const Config& config, const std::string& fetcher, HookedTask& task, HookState& state)
      : host_(host), config_(config), fetcher_(fetcher), task_(task), state_(state) {}

  Status prestart(TaskPrestart& start) override {
    if (start.recovered) return ok_status();
    std::vector<Wanted> missing;
    bool is_any_secret = false;
    for (const v1::Artifact& artifact : task_.spec()->task(task_.name())->artifacts()) {
      Wanted wanted = resolved(artifact, start);
      // Secrets lie in memory: they are gone when the machine starts anew.
      if (is_secret(wanted, start)) {
        is_any_secret = true;
        wanted.key += "/" + boot_id();
      }
      if (!state_.get(wanted.key)) missing.push_back(std::move(wanted));
    }
    if (!missing.empty()) {
      task_.tell(task_event(now(), "Downloading Artifacts", "Client is downloading artifacts"));
      DROVER_RETURN_IF_ERROR(fetch_all(missing, start));
    }
    start.done = !is_any_secret;
    return ok_status();
  }

 private:
  bool is_secret(const Wanted& wanted, const TaskPrestart& start) const {
    const TaskFolders& folders = task_.folders();
    const std::string path =
        host_path(wanted.destination, task_file_folders(task_.alloc_folders(), folders, start.environment));
    return path == folders.secrets || path.starts_with(folders.secrets + "/");
  }

  int64_t now() const { return host_.clock().wall_ns(); }

  static Wanted resolved(const v1::Artifact& artifact, const TaskPrestart& start) {
    const auto text = [&](const std::string& from) { return interpolate(from, start.environment, start.node); };
    Wanted wanted{.source = text(artifact.getter_source()),
                  .destination = text(artifact.relative_dest()),
                  .mode = artifact.getter_mode().empty() ? "any" : artifact.getter_mode(),
                  .key = {},
                  .options = {},
                  .headers = {},
                  .is_insecure = artifact.getter_insecure(),
                  .is_users = artifact.chown()};
    if (wanted.destination.empty()) wanted.destination = "local/";
    for (const auto& [name, value] : artifact.getter_options()) wanted.options[name] = text(value);
    for (const auto& [name, value] : artifact.getter_headers()) wanted.headers[name] = text(value);
    wanted.key = key_of(wanted);
    return wanted;
  }

  // Tries all, also when one fails. Of several failures one for which trying again is no use counts most.
  Status fetch_all(const std::vector<Wanted>& missing, const TaskPrestart& start) {
    std::atomic<size_t> next = 0;
    Mutex mutex;
    Status worst;
    const auto work = [&] {
      for (size_t at = next++; at < missing.size() && !start.stop.stop_requested(); at = next++) {
        Status status = fetch_one(missing[at], start);
        if (status.ok()) status = state_.put(missing[at].key, "done");
        if (status.ok()) continue;
        status = status.with_context("failed to download artifact \"" + missing[at].source + "\"");
        task_.tell(task_event(now(), "Failed Artifact Download", status.message()));
        const MutexLock lock(mutex);
        if (worst.ok() || worst.code() == Code::unavailable) worst = status;
      }
    };
    {
      std::vector<std::jthread> workers;
      for (size_t i = 1; i < std::min(kAtOnce, missing.size()); ++i) workers.emplace_back(work);
      work();
    }
    if (start.stop.stop_requested()) return cancelled("the task is to end");
    return worst;
  }

  Status fetch_one(const Wanted& wanted, const TaskPrestart& start) {
    DROVER_TRY(const Source source, parse_source(wanted.source, wanted.options));
    const bool is_file = wanted.mode == "file";
    const fs::path said(wanted.destination);
    if (is_file && !said.has_filename()) return invalid_argument("mode \"file\" wants a destination that names a file");
    const std::string folder_path = is_file ? said.parent_path().string() : wanted.destination;
    const TaskFiles files(task_file_folders(task_.alloc_folders(), task_.folders(), start.environment),
                          config_.is_isolated);
    DROVER_TRY(const Fd folder,
               files.open_folder(folder_path.empty() ? "." : folder_path).with_context("artifact destination path"));
    const Scratch scratch(task_.alloc_folders().root);
    if (scratch.path().empty()) return errno_status(errno, "make a folder in " + task_.alloc_folders().root);
    const Request request{.getter = source.getter,
                          .url = source.url,
                          .part = source.part,
                          .options = source.options,
                          .headers = wanted.headers,
                          .mode = wanted.mode,
                          .file_name = is_file ? said.filename().string() : "",
                          .scratch = scratch.path(),
                          .timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout_of(source.getter)),
                          .most_bytes = config_.http_max_size,
                          .most_files = config_.most_files,
                          .most_unpacked_bytes = config_.most_unpacked_bytes,
                          .is_isolated = config_.is_isolated,
                          .is_insecure = wanted.is_insecure};
    DROVER_RETURN_IF_ERROR(run_fetcher({.program = fetcher_,
                                        .request = to_json(request),
                                        .folder = folder.get(),
                                        .environment = environment(scratch.path()),
                                        .time = timeout_of(source.getter) + kSpareTime},
                                       start.stop));
    return wanted.is_users && !start.user.empty() ? give_to(start.user, folder.get()) : ok_status();
  }

  std::chrono::nanoseconds timeout_of(const std::string& getter) const {
    return getter == "git"   ? config_.git_timeout
           : getter == "hg"  ? config_.hg_timeout
           : getter == "s3"  ? config_.s3_timeout
           : getter == "gcs" ? config_.gcs_timeout
                             : config_.http_read_timeout;
  }

  std::vector<std::string> environment(const std::string& scratch) const {
    const char* home = std::getenv("HOME");
    std::vector<std::string> all = {std::string("PATH=") + kPath, "TMPDIR=" + scratch,
                                    std::string("HOME=") + (home ? home : "/")};
    for (const std::string& name : config_.inherited) {
      const char* value = std::getenv(name.c_str());
      all.push_back(name + "=" + (value ? value : ""));
    }
    return all;
  }

  Host& host_;
  const Config& config_;
  const std::string& fetcher_;
  HookedTask& task_;
  HookState& state_;
};

}  // namespace

std::unique_ptr<TaskHook::Part> ArtifactHook::attach(HookedTask& task, HookState& state) {
  if (task.spec()->task(task.name())->artifacts_size() == 0) return nullptr;
  return std::make_unique<ArtifactsPart>(*host_, config_, fetcher_, task, state);
}

}  // namespace drover::artifacts
