// The life of an attachment: made, found again, made anew for another namespace, undone.
#include "network_hook.h"

#include <gtest/gtest.h>

#include <map>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "sdk/testing/fake_hooks.h"

namespace drover::networks {
namespace {

namespace driver = hashicorp::nomad::plugins::drivers::proto;

class FakeKind final : public NetworkKind {
 public:
  explicit FakeKind(std::string name) : name_(std::move(name)) {}
  Status begin(const Wanted&, StoredAttachment& out) override { return out.set_kind(name_), note("begin"), refusal; }
  Status attach(const Wanted& wanted, StoredAttachment& out) override {
    note("attach " + wanted.path.substr(wanted.path.rfind('/') + 1));
    if (failures > 0) return unavailable("failure " + std::to_string(failures--));
    out.mutable_status()->set_interface_name("eth0");
    out.mutable_status()->set_address("10.9.0.2");
    return ok_status();
  }
  Status found(const Wanted&, const StoredAttachment&) override { return note("found"), still_there; }
  Status detach(const Wanted& wanted, const StoredAttachment&) override {
    return note("detach " + wanted.path.substr(wanted.path.rfind('/') + 1)), ok_status();
  }

  std::vector<std::string> calls;
  int failures = 0;
  Status still_there;
  Status refusal;

 private:
  void note(std::string call) { calls.push_back(std::move(call)); }
  const std::string name_;
};

class FakeAlloc final : public HookedAlloc {
 public:
  explicit FakeAlloc(const std::string& mode) {
    v1::Allocation allocation;
    allocation.set_id(id_.bytes());
    allocation.set_task_group("g");
    auto job = std::make_shared<v1::Job>();
    v1::TaskGroup& group = *job->add_task_groups();
    group.set_name("g");
    group.add_networks()->set_mode(mode);
    spec_ = std::make_shared<AllocSpec>(std::move(allocation), std::move(job));
  }
  Uuid id() const override { return id_; }
  AllocSpecPtr spec() const override { return spec_; }
  const AllocFolders& folders() const override { return folders_; }
  bool is_restored() const override { return false; }
  void share_network(const driver::NetworkIsolationSpec& network) override { this->network = network; }
  std::optional<driver::NetworkIsolationSpec> shared_network() const override { return network; }
  void describe_network(const v1::NetworkStatus& status) override { this->status = status; }
  v1::NetworkStatus network_status() const override { return status; }
  void tell(const v1::TaskEvent&) override {}

  std::optional<driver::NetworkIsolationSpec> network;
  v1::NetworkStatus status;

 private:
  const Uuid id_ = Uuid::random();
  AllocSpecPtr spec_;
  AllocFolders folders_;
};

struct NetworkHookTest : ::testing::Test {
  NetworkHookTest() {
    hook.start(config, {.bridge = native, .cni = cni, .native = native});
    use("first");
  }

  void use(const std::string& name_space) {
    driver::NetworkIsolationSpec network;
    network.set_path("/run/netns/" + name_space);
    alloc.network = network;
  }
  // As after a start of the agent.
  Status prerun() { return hook.attach(alloc, state)->prerun({}); }
  Status postrun() { return hook.attach(alloc, state)->postrun(); }

  Config config;
  FakeKind native{"native"}, cni{"cni"};
  NetworkHook hook;
  FakeAlloc alloc{"bridge"};
  drover::testing::FakeState state;
};

TEST_F(NetworkHookTest, AttachesTellsAndDetaches) {
  ASSERT_TRUE(prerun().ok());
  EXPECT_EQ("10.9.0.2", alloc.status.address());
  EXPECT_EQ("10.9.0.2", alloc.network->hostsconfig().address());
  EXPECT_EQ(alloc.id().short_string(), alloc.network->hostsconfig().hostname());
  alloc.network.reset();  // a restarted agent does not make networks for what has ended
  ASSERT_TRUE(postrun().ok());
  ASSERT_TRUE(postrun().ok());
  EXPECT_EQ((std::vector<std::string>{"begin", "attach first", "detach first"}), native.calls);
  EXPECT_TRUE(state.is_empty());
}

TEST_F(NetworkHookTest, FindsItAgain) {
  ASSERT_TRUE(prerun().ok());
  alloc.status.Clear();
  use("first");
  ASSERT_TRUE(prerun().ok());
  EXPECT_EQ("10.9.0.2", alloc.status.address());
  EXPECT_EQ((std::vector<std::string>{"begin", "attach first", "found"}), native.calls);
}

TEST_F(NetworkHookTest, AttachesAnotherNamespaceAnew) {
  ASSERT_TRUE(prerun().ok());
  use("second");  // the machine, or the container that held it, was started again
  native.still_there = not_found("there is no link eth0");
  ASSERT_TRUE(prerun().ok());
  EXPECT_EQ((std::vector<std::string>{"begin", "attach first", "found", "detach first", "begin", "attach second"}),
            native.calls);
}

TEST_F(NetworkHookTest, TriesAgainAndTellsTheFirstError) {
  native.failures = 3;
  const Status status = prerun();
  EXPECT_EQ("failed to configure networking for alloc: failed to configure network: failure 3", status.message());
  EXPECT_EQ((std::vector<std::string>{"begin", "attach first", "attach first", "attach first"}), native.calls);
  // The next agent undoes what was begun, whatever came of it.
  native.calls.clear();
  ASSERT_TRUE(prerun().ok());
  EXPECT_EQ((std::vector<std::string>{"detach first", "begin", "attach first"}), native.calls);
}

TEST_F(NetworkHookTest, LeavesNothingOfWhatCannotBegin) {
  native.refusal = not_found("no such network");
  EXPECT_EQ("failed to configure networking for alloc: failed to configure network: no such network",
            prerun().message());
  EXPECT_TRUE(state.is_empty());
}

TEST_F(NetworkHookTest, IsNotForOtherModes) {
  FakeAlloc other("none");
  ASSERT_TRUE(hook.attach(other, state)->prerun({}).ok());
  ASSERT_TRUE(hook.attach(other, state)->postrun().ok());
  EXPECT_TRUE(native.calls.empty());
}

}  // namespace
}  // namespace drover::networks
