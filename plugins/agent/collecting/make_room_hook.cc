#include "collecting/collector.h"
#include "drover/v1/job.pb.h"
#include "hooks/standard_hooks.h"

namespace drover::agent {
namespace {

// Set once the allocation has its room: one that is restored has it.
constexpr std::string_view kHasRoom = "has_room";

class MakeRoom final : public AllocHook::Part {
 public:
  MakeRoom(const Client& client, HookedAlloc& alloc, HookState& state)
      : client_(client), alloc_(alloc), state_(state) {}

  Status prerun(std::stop_token stop) override {
    const AllocSpecPtr spec = alloc_.spec();
    if (state_.get(kHasRoom) || !client_.make_room) return ok_status();
    client_.make_room(spec->group ? spec->group->ephemeral_disk().size_mb() : 0, stop);
    return stop.stop_requested() ? ok_status() : state_.put(kHasRoom, "yes");
  }

 private:
  const Client& client_;
  HookedAlloc& alloc_;
  HookState& state_;
};

class MakeRoomHook final : public AllocHook {
 public:
  explicit MakeRoomHook(const ClientSlot& client) : client_(client) {}
  HookInfo info() const override { return {.name = "make_room", .before = {"alloc_dir"}}; }
  std::unique_ptr<Part> attach(HookedAlloc& alloc, HookState& state) override {
    return std::make_unique<MakeRoom>(*client_, alloc, state);
  }

 private:
  const ClientSlot& client_;
};

}  // namespace

std::unique_ptr<AllocHook> make_room_hook(const ClientSlot& client) { return std::make_unique<MakeRoomHook>(client); }

}  // namespace drover::agent
