#include "collecting/collector.h"
#include "drover/v1/job.pb.h"
#include "hooks/client_hook.h"

namespace drover::agent {
namespace {

class MakeRoom final : public AllocHook::Part {
 public:
  MakeRoom(const Client& client, HookedAlloc& alloc, HookState&) : client_(client), alloc_(alloc) {}

  Status prerun(std::stop_token stop) override {
    if (alloc_.is_restored() || !client_.make_room) return ok_status();  // it has its room
    const AllocSpecPtr spec = alloc_.spec();
    client_.make_room(spec->group ? spec->group->ephemeral_disk().size_mb() : 0, std::move(stop));
    return ok_status();
  }

 private:
  const Client& client_;
  HookedAlloc& alloc_;
};

}  // namespace

std::unique_ptr<AllocHook> make_room_hook(const ClientSlot& client) {
  return std::make_unique<ClientHook<MakeRoom>>(client, HookInfo{.name = "make_room", .before = {"alloc_dir"}});
}

}  // namespace drover::agent
