// The driver "mock_driver": tasks without a process, for trying out and for tests of the agent.
#include "drover/plugin.h"
#include "mock_driver.h"

namespace drover::mock {
namespace {

class MockPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override { return declare.extend<TaskDriver>("mock_driver", driver_); }
  Status start(Host&) override { return ok_status(); }
  void stop(SteadyTime) override { driver_.stop(); }

 private:
  MockDriver driver_;
};

}  // namespace
}  // namespace drover::mock

DROVER_MODULE(drover::mock::MockPlugin, "task_driver", "mock", "0.1.0");
