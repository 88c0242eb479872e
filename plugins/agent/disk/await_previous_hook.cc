#include <algorithm>

#include "disk/disk_plan.h"
#include "drover/v1/allocation.pb.h"
#include "hooks/client_hook.h"
#include "runner/alloc_runner.h"

namespace drover::agent {
namespace {

class Await final : public AllocHook::Part {
 public:
  Await(const Client& client, HookedAlloc& alloc, HookState&) : client_(client), alloc_(alloc) {}

  Status prerun(std::stop_token stop) override {
    const AllocSpecPtr spec = alloc_.spec();
    const v1::DesiredStatus wanted = spec->allocation->desired_status();
    if (wanted == v1::DESIRED_STATUS_STOP || wanted == v1::DESIRED_STATUS_EVICT) return ok_status();
    const DiskPlan plan = plan_disk(*spec, [&](const Uuid& id) { return client_.find_alloc(id) != nullptr; });
    for (const Uuid& id : plan.awaited) {
      const auto runner = client_.find_alloc(id);
      if (!runner || runner->is_terminal()) continue;
      alloc_.tell(task_event(client_.wall_ns(), "Ephemeral Disk",
                             "Waiting for the end of allocation " + id.to_string() + ", whose place this one takes"));
      runner->wait_terminal(SteadyTime::max(), stop);
      if (stop.stop_requested()) return ok_status();  // its tasks will not start
    }
    return ok_status();
  }

 private:
  const Client& client_;
  HookedAlloc& alloc_;
};

}  // namespace

std::unique_ptr<AllocHook> await_previous_hook(const ClientSlot& client) {
  return std::make_unique<ClientHook<Await>>(
      client, HookInfo{.name = "await_previous_allocations", .after = {"alloc_dir"}, .before = {"network"}});
}

}  // namespace drover::agent
