#include <sys/stat.h>

#include <filesystem>

#include "disk/disk_archive.h"
#include "disk/disk_plan.h"
#include "disk/move_data.h"
#include "disk/snapshot_stream.h"
#include "drover/log.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "hooks/alloc_dir.h"
#include "hooks/client_hook.h"
#include "runner/alloc_runner.h"

namespace drover::agent {
namespace {

// Set once the disk is what it shall be: what lies there from then on is the tasks'.
constexpr std::string_view kSettled = "settled";

std::vector<std::string> task_names(const AllocSpec& spec) {
  std::vector<std::string> names;
  for (const v1::Task& task : spec.group->tasks()) names.push_back(task.name());
  return names;
}

// Data from elsewhere is laid here first: all of it arrives, or nothing.
class Staging {
 public:
  explicit Staging(const AllocFolders& alloc) : root_(alloc.root + "/.snapshot") {
    folders_ = {.root = root_, .shared = root_ + "/alloc", .logs = {}};
  }
  ~Staging() { clear(); }

  Status make(const std::vector<std::string>& tasks) {
    clear();
    std::vector<std::string> paths = {root_, folders_.shared, folders_.shared + "/data"};
    for (const std::string& task : tasks) {
      if (!is_plain_name(task)) return invalid_argument("task name \"" + task + "\" cannot name a folder");
      paths.push_back(root_ + "/" + task);
      paths.push_back(root_ + "/" + task + "/local");
    }
    for (const std::string& path : paths) {
      if (::mkdir(path.c_str(), 0700) != 0) return errno_status(errno, "create " + path);
    }
    return ok_status();
  }
  const AllocFolders& folders() const { return folders_; }

 private:
  void clear() const {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  const std::string root_;
  AllocFolders folders_;
};

class MigrateDisk final : public AllocHook::Part {
 public:
  MigrateDisk(const Client& client, HookedAlloc& alloc, HookState& state)
      : client_(client), alloc_(alloc), state_(state) {}

  Status prerun(std::stop_token stop) override {
    const AllocSpecPtr spec = alloc_.spec();
    const DiskPlan plan = plan_disk(*spec, [&](const Uuid& id) { return client_.find_alloc(id) != nullptr; });
    if (plan.from == DiskPlan::From::nothing || state_.get(kSettled) || stop.stop_requested()) return ok_status();
    const Status status =
        plan.from == DiskPlan::From::neighbour ? take_over(*spec, plan.previous) : fetch(*spec, plan.previous, stop);
    if (stop.stop_requested()) return ok_status();  // its tasks will not start; the next agent begins anew
    if (!status.ok()) {
      log::warn(
          "agent", "the data of an allocation's predecessor is lost to it",
          {{"alloc", alloc_.id().to_string()}, {"previous", plan.previous.to_string()}, {"error", status.message()}});
      tell("The data of allocation " + plan.previous.to_string() +
           " could not be taken over, the disk is empty: " + status.message());
    }
    return state_.put(kSettled, "yes");
  }

 private:
  void tell(const std::string& text) { alloc_.tell(task_event(client_.wall_ns(), "Ephemeral Disk", text)); }

  Status take_over(const AllocSpec& spec, const Uuid& previous) {
    const auto runner = client_.find_alloc(previous);
    if (!runner) return not_found("it is not on this node any more");
    return move_data(runner->folders(), alloc_.folders(), task_names(spec));
  }

  Status fetch(const AllocSpec& spec, const Uuid& previous, const std::stop_token& stop) {
    const std::vector<std::string> tasks = task_names(spec);
    Staging staging(alloc_.folders());
    DROVER_RETURN_IF_ERROR(staging.make(tasks));
    tell("Fetching the data of allocation " + previous.to_string() + " from its node");
    DROVER_TRY(SnapshotStream stream, SnapshotStream::open(client_, previous, {}, stop));
    const auto next = [&stream] { return stream.next(); };
    DROVER_TRY(const Unpacked done, unpack_data(staging.folders(), tasks, next, most_migrated_bytes(spec)));
    DROVER_RETURN_IF_ERROR(move_data(staging.folders(), alloc_.folders(), tasks));
    std::string text = std::to_string(done.files) + " files came from allocation " + previous.to_string();
    if (done.dropped_links > 0)
      text += "; " + std::to_string(done.dropped_links) + " links that led out of the allocation were left out";
    tell(text);
    return ok_status();
  }

  const Client& client_;
  HookedAlloc& alloc_;
  HookState& state_;
};

}  // namespace

std::unique_ptr<AllocHook> migrate_disk_hook(const ClientSlot& client) {
  return std::make_unique<ClientHook<MigrateDisk>>(client, HookInfo{.name = "migrate_disk",
                                                                    .after = {"alloc_dir", "await_previous_allocations"},
                                                                    .before = {"network"}});
}

}  // namespace drover::agent
