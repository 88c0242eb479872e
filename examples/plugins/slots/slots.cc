// The device plugin "slots": a device file that several tasks may have open at the same time, /dev/fuse or /dev/kvm
// say, as so many devices. A job that wants one asks for device "slots/fuse"; when all are taken it waits.
#include <sys/stat.h>

#include <cstring>
#include <mutex>

#include "drover/clock.h"
#include "drover/hclspec.h"
#include "drover/serve.h"
#include "drover/task_options.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/device.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace {

namespace device = drover::device;

constexpr int64_t kMaxSlots = 1024;

// The shared file, and how many may share it.
struct Shared {
  std::string path;
  int64_t slots = 0;

  std::string type() const { return path.substr(path.rfind('/') + 1); }
  std::string id(int64_t slot) const { return type() + "-" + std::to_string(slot); }
  bool has(std::string_view wanted) const {
    for (int64_t slot = 0; slot < slots; ++slot)
      if (id(slot) == wanted) return true;
    return false;
  }
  // Why no task can use it; empty when one can.
  std::string problem() const {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return path + ": " + std::strerror(errno);
    return S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode) ? "" : path + " is no device";
  }
};

class Slots final : public drover::DevicePlugin {
 public:
  drover::hclspec::Spec config_schema() const override {
    return drover::hclspec::object_of({{"path", "string", true}, {"slots", "number", false, "4"}});
  }
  drover::Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) override {
    DROVER_TRY(auto options, drover::TaskOptions::from_msgpack(request.msgpack_config()));
    Shared shared{.path = options.text("path"), .slots = options.integer("slots")};
    DROVER_RETURN_IF_ERROR(options.finish());
    if (!shared.path.starts_with('/') || shared.type().empty())
      return drover::invalid_argument("path must be the absolute path of a file, not \"" + shared.path + "\"");
    if (shared.slots < 1 || shared.slots > kMaxSlots)
      return drover::invalid_argument("slots must be from 1 to " + std::to_string(kMaxSlots));
    const std::lock_guard lock(mutex_);
    shared_ = std::move(shared);
    return drover::ok_status();
  }

  // Looked at again and again; the host hears what differs.
  drover::Result<device::FingerprintResponse> fingerprint() override {
    const Shared shared = this->shared();
    const std::string problem = shared.problem();
    device::FingerprintResponse out;
    auto& group = *out.add_device_group();
    group.set_vendor("slots");
    group.set_device_type(shared.type());
    group.set_device_name("shared");
    (*group.mutable_attributes())["path"].set_string_val(shared.path);
    for (int64_t slot = 0; slot < shared.slots; ++slot) {
      auto& one = *group.add_devices();
      one.set_id(shared.id(slot));
      one.set_healthy(problem.empty());
      one.set_health_description(problem);
    }
    return out;
  }

  // A task that was given these devices gets the file, once, and a variable that names it.
  drover::Result<device::ContainerReservation> reserve(std::span<const std::string> ids) override {
    const Shared shared = this->shared();
    for (const std::string& id : ids)
      if (!shared.has(id)) return drover::not_found("there is no device " + id);
    device::ContainerReservation out;
    auto& file = *out.add_devices();
    file.set_task_path(shared.path);
    file.set_host_path(shared.path);
    file.set_permissions("rw");
    (*out.mutable_envs())["DEVICE_FILE"] = shared.path;
    return out;
  }

  drover::Result<device::StatsResponse> stats() override {
    const Shared shared = this->shared();
    const bool is_there = shared.problem().empty();
    device::StatsResponse out;
    auto& group = *out.add_groups();
    group.set_vendor("slots");
    group.set_type(shared.type());
    group.set_name("shared");
    for (int64_t slot = 0; slot < shared.slots; ++slot) {
      auto& one = (*group.mutable_instance_stats())[shared.id(slot)];
      one.mutable_summary()->mutable_bool_val()->set_value(is_there);
      one.mutable_summary()->set_desc("The file can be used");
      one.mutable_timestamp()->set_seconds(drover::SystemClock().wall_ns() / 1'000'000'000);
    }
    return out;
  }

 private:
  Shared shared() {
    const std::lock_guard lock(mutex_);
    return shared_;
  }
  std::mutex mutex_;
  Shared shared_;  // guarded by mutex_
};

}  // namespace

DROVER_DEVICE_PLUGIN(Slots, "slots", "slots", "1.0.0");
