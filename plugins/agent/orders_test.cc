// Orders that reach an allocation while it is busy with an earlier one.
#include <future>

#include "drover/pause.h"
#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

// Stays in its update until the servers have ordered the end of the allocation meanwhile.
class SlowHook final : public AllocHook {
 public:
  class SlowPart final : public Part {
   public:
    SlowPart(SlowHook& hook, HookedAlloc& alloc) : hook_(hook), alloc_(alloc) {}
    Status update() override {
      if (!std::exchange(hook_.was_told, true)) hook_.is_updating.set_value();
      while (alloc_.spec()->allocation->desired_status() != v1::DESIRED_STATUS_STOP) pause_for(1ms, {});
      return ok_status();
    }

   private:
    SlowHook& hook_;
    HookedAlloc& alloc_;
  };
  HookInfo info() const override { return {.name = "slow"}; }
  std::unique_ptr<Part> attach(HookedAlloc& alloc, HookState&) override {
    return std::make_unique<SlowPart>(*this, alloc);
  }

  std::promise<void> is_updating;
  bool was_told = false;
};

class Orders : public AgentTest {};

TEST_F(Orders, AStopThatComesDuringAnUpdateIsCarriedOut) {
  SlowHook slow;
  alloc_hooks_.push_back(&slow);
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  servers_.touch(id);
  ASSERT_EQ(slow.is_updating.get_future().wait_for(kPatience), std::future_status::ready);

  servers_.stop(id);

  until_status(id, v1::CLIENT_STATUS_COMPLETE);
}

TEST_F(Orders, AnAllocationEndsAsItsJobSaysAlsoWhenThatIsPurged) {
  start();
  v1::Task web = task("web");
  web.set_kill_signal("SIGTERM");
  web.set_kill_timeout(7'000'000'000);
  const std::string id = place({web});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  auto running = driver_.find("web");

  servers_.purge(id);

  until_status(id, v1::CLIENT_STATUS_COMPLETE);
  EXPECT_EQ("SIGTERM", running->stop_signal);
  EXPECT_EQ(7s, running->stop_timeout);

  stop();
  servers_.forget_report(id);
  servers_.expect_another_agent();
  start();
  until_status(id, v1::CLIENT_STATUS_COMPLETE);
}

}  // namespace
}  // namespace drover::agent
