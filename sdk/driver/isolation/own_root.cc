#include "../task_start.h"
#include "isolation_set.h"
#include "nomad/plugins/driver.pb.h"
#include "root_plan.h"

namespace drover {
namespace {

class InOwnRoot final : public TaskIsolation {
 public:
  explicit InOwnRoot(std::optional<Confinement::Root> root) : root_(std::move(root)) {}
  void apply(Launcher::Start& start) const override {
    Confinement& confinement = confinement_of(start);
    confinement.own |= Confinement::mounts;
    confinement.root = root_;
  }

 private:
  const std::optional<Confinement::Root> root_;
};

class OwnRoot final : public IsolationPart {
 public:
  explicit OwnRoot(RootOptions options) : options_(options) {}
  std::string_view name() const override { return "root"; }
  void describe(driver::DriverCapabilities& capabilities) const override {
    capabilities.set_fs_isolation(driver::DriverCapabilities::CHROOT);
    capabilities.set_mount_configs(driver::DriverCapabilities::ANY_MOUNTS);
  }
  bool makes_root() const override { return true; }
  Result<std::unique_ptr<TaskIsolation>> set_up(const driver::TaskConfig& task, const IsolationNeeds&) override {
    if (task.alloc_dir().empty()) return invalid_argument("the task has no folder that could be its root");
    DROVER_TRY(Confinement::Root root, plan_root(task, task_folder(task), options_, device_at));
    return std::unique_ptr<TaskIsolation>(std::make_unique<InOwnRoot>(std::move(root)));
  }
  // Commands join the root that is there, whatever it was made of.
  Result<std::unique_ptr<TaskIsolation>> recover(const driver::TaskConfig&, std::string_view) override {
    return std::unique_ptr<TaskIsolation>(std::make_unique<InOwnRoot>(std::nullopt));
  }

 private:
  const RootOptions options_;
};

}  // namespace

std::unique_ptr<IsolationPart> own_root(RootOptions options) { return std::make_unique<OwnRoot>(options); }

}  // namespace drover
