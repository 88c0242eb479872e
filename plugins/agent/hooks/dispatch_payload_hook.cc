#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "drover/v1/job.pb.h"
#include "standard_hooks.h"

namespace drover::agent {
namespace {

namespace fs = std::filesystem;

class Payload final : public TaskHook::Part {
 public:
  explicit Payload(HookedTask& task) : task_(task) {}

  // Before the task has ever run: no link of its making is followed.
  Status prestart(TaskPrestart& start) override {
    const AllocSpecPtr spec = task_.spec();
    const std::string& name = spec->task(task_.name())->dispatch_payload().file();
    const fs::path below = fs::path(name).lexically_normal();
    if (name.empty() || below.is_absolute() || !below.has_filename() || *below.begin() == "..")
      return invalid_argument("dispatch_payload.file \"" + name + "\" does not name a file in the task's folder");
    const fs::path path = task_.folders().local / below;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) return errno_status(error.value(), "create " + path.parent_path().string());
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << spec->job->payload() << std::flush;
    if (!file) return unavailable("cannot write " + path.string());
    if (::chmod(path.c_str(), 0777) != 0) return errno_status(errno, "set the mode of " + path.string());
    start.done = true;
    return ok_status();
  }

 private:
  HookedTask& task_;
};

class DispatchPayloadHook final : public TaskHook {
 public:
  HookInfo info() const override {
    return {.name = "dispatch_payload", .after = {"logs"}, .supports = {"dispatch_payload"}};
  }
  std::unique_ptr<Part> attach(HookedTask& task, HookState&) override {
    const AllocSpecPtr spec = task.spec();
    return spec->task(task.name())->has_dispatch_payload() ? std::make_unique<Payload>(task) : nullptr;
  }
};

}  // namespace

std::unique_ptr<TaskHook> dispatch_payload_hook() { return std::make_unique<DispatchPayloadHook>(); }

}  // namespace drover::agent
