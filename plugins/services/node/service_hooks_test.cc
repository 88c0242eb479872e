#include "node/service_hooks.h"

#include <gtest/gtest.h>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/service.pb.h"
#include "drover/v1/service_provider.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "sdk/testing/fake_hooks.h"
#include "sdk/testing/fake_host.h"

namespace drover::services {
namespace {

using namespace std::chrono_literals;

class FakeProvider final : public ServiceProvider {
 public:
  Result<v1::SyncServicesResponse> sync(const v1::SyncServicesRequest& request, std::stop_token) override {
    MutexLock lock(mutex_);
    said_.clear();
    for (const auto& each : request.instances())
      said_ += each.service() + "/" + each.task() + (each.tags_size() > 0 ? "#" + each.tags(0) : "") +
               (each.registry_namespace().empty() ? "" : "@" + each.registry_namespace()) + " ";
    if (history_.empty() || history_.back() != said_) history_.push_back(said_);
    return v1::SyncServicesResponse();
  }
  std::string said() {
    MutexLock lock(mutex_);
    return said_;
  }

  std::vector<std::string> history() {
    MutexLock lock(mutex_);
    return history_;
  }

 private:
  Mutex mutex_;
  std::vector<std::string> history_ DROVER_GUARDED_BY(mutex_);
  std::string said_ DROVER_GUARDED_BY(mutex_);
};

AllocSpecPtr spec_with(const std::string& tag, const std::string& port = "8080") {
  v1::Allocation allocation;
  allocation.set_id(std::string(16, 'a'));
  allocation.set_task_group("g");
  auto job = std::make_shared<v1::Job>();
  v1::TaskGroup& group = *job->add_task_groups();
  group.set_name("g");
  v1::Service& of_group = *group.add_services();
  v1::Task& task = *group.add_tasks();
  task.set_name("t");
  v1::Service& of_task = *task.add_services();
  for (v1::Service* service : {&of_group, &of_task}) {
    service->set_provider("nomad");
    service->set_port_label(port);
    service->add_tags(tag);
  }
  of_group.set_name("front");
  of_task.set_name("back-${COLOR}");
  return std::make_shared<AllocSpec>(std::move(allocation), std::move(job));
}

class FakeAlloc final : public HookedAlloc {
 public:
  Uuid id() const override { return Uuid::from_bytes(std::string(16, 'a')); }
  AllocSpecPtr spec() const override { return now; }
  const AllocFolders& folders() const override { return folders_; }
  bool is_restored() const override { return false; }
  void share_network(const driver::NetworkIsolationSpec&) override {}
  std::optional<driver::NetworkIsolationSpec> shared_network() const override { return std::nullopt; }
  void describe_network(const v1::NetworkStatus&) override {}
  v1::NetworkStatus network_status() const override { return {}; }
  void tell(const v1::TaskEvent&) override {}
  AllocSpecPtr now = spec_with("one");

 private:
  AllocFolders folders_;
};

class ServiceHooksTest : public ::testing::Test {
 protected:
  ServiceHooksTest() {
    publisher_.start([] { return std::optional(NodeProofOf{.id = Uuid(), .secret = "", .name = "n1"}); });
    publisher_.offer("nomad", provider_);
  }
  std::string said() {
    EXPECT_TRUE(publisher_.settle(20s));
    return provider_.said();
  }
  static Status prestart(TaskHook::Part& part) {
    return testing::FakeStart{.environment = {{"COLOR", "blue"}}}.prestart(part);
  }

  testing::FakeHost host_;
  FakeProvider provider_;
  Publisher publisher_;
  HookSetup setup_{.host = &host_, .publisher = &publisher_, .discover = [] {}};
  testing::FakeState state_;
};

TEST_F(ServiceHooksTest, AGroupIsFoundFromBeforeItsTasksUntilTheyAreKilled) {
  GroupServicesHook hook(setup_);
  FakeAlloc alloc;
  auto part = hook.attach(alloc, state_);
  ASSERT_TRUE(part->prerun({}).ok());
  EXPECT_EQ(said(), "front/#one ");
  alloc.now = spec_with("two");
  ASSERT_TRUE(part->update().ok());
  EXPECT_EQ(said(), "front/#two ");
  ASSERT_TRUE(part->prekill().ok());
  EXPECT_EQ(provider_.said(), "");  // when it returns
  ASSERT_TRUE(part->update().ok());
  EXPECT_EQ(said(), "");
  ASSERT_TRUE(part->postrun().ok() && part->destroy().ok());
}

TEST_F(ServiceHooksTest, AGroupGoesAndComesBackWhenAllItsTasksAreRestarted) {
  GroupServicesHook hook(setup_);
  FakeAlloc alloc;
  auto part = hook.attach(alloc, state_);
  ASSERT_TRUE(part->prerestart({}).ok());
  EXPECT_EQ(said(), "") << "nothing was published before";
  ASSERT_TRUE(part->prerun({}).ok());
  EXPECT_EQ(said(), "front/#one ");
  ASSERT_TRUE(part->prerestart({}).ok());
  EXPECT_EQ(said(), "front/#one ");
  EXPECT_EQ(provider_.history(), (std::vector<std::string>{"", "front/#one ", "", "front/#one "}));
  ASSERT_TRUE(part->prekill().ok());
  ASSERT_TRUE(part->prerestart({}).ok());
  EXPECT_EQ(said(), "") << "it is over";
}

TEST_F(ServiceHooksTest, SaysConsulsNamespaceOfTheGroupAndOfItsTask) {
  const auto spec_in = [](const char* of_group, const char* of_task) {
    v1::Job job = *spec_with("one")->job;
    v1::TaskGroup& group = *job.mutable_task_groups(0);
    group.mutable_services(0)->set_provider("consul");
    group.mutable_consul()->set_namespace_(of_group);
    group.mutable_tasks(0)->mutable_services(0)->set_provider("consul");
    group.mutable_tasks(0)->mutable_consul()->set_namespace_(of_task);
    return std::make_shared<AllocSpec>(*spec_with("one")->allocation, std::make_shared<const v1::Job>(std::move(job)));
  };
  FakeProvider consul;
  Publisher publisher;
  publisher.start([] { return std::optional(NodeProofOf{.id = Uuid(), .secret = "", .name = "n1"}); });
  publisher.offer("consul", consul);
  const HookSetup setup{.host = &host_, .publisher = &publisher, .discover = [] {}};
  GroupServicesHook group_hook(setup);
  TaskServicesHook task_hook(setup);
  FakeAlloc alloc;
  alloc.now = spec_in("team", "");
  testing::FakeState other;
  testing::FakeTask task("", "t", alloc.now);
  auto of_group = group_hook.attach(alloc, state_);
  auto of_task = task_hook.attach(task, other);
  ASSERT_TRUE(of_group->prerun({}).ok() && prestart(*of_task).ok() && of_task->poststart().ok());
  ASSERT_TRUE(publisher.settle(20s));
  EXPECT_EQ(consul.said(), "front/#one@team back-blue/t#one@team ");
  task.describe(spec_in("team", "other"));
  ASSERT_TRUE(of_task->update().ok());
  ASSERT_TRUE(publisher.settle(20s));
  EXPECT_EQ(consul.said(), "front/#one@team back-blue/t#one@other ");
  publisher.stop();
}

TEST_F(ServiceHooksTest, AGroupWhoseServiceCannotBeResolvedFails) {
  GroupServicesHook hook(setup_);
  FakeAlloc alloc;
  alloc.now = spec_with("one", "nowhere");
  const Status status = hook.attach(alloc, state_)->prerun({});
  EXPECT_EQ(status.message(),
            "unable to get address for service \"front\": invalid port \"nowhere\": port label not found");
  EXPECT_EQ(said(), "");
}

TEST_F(ServiceHooksTest, AProviderThatTheNodeDoesNotHaveFails) {
  GroupServicesHook hook(setup_);
  FakeAlloc alloc;
  v1::Job job = *alloc.now->job;
  job.mutable_task_groups(0)->mutable_services(0)->set_provider("files");
  alloc.now = std::make_shared<AllocSpec>(*alloc.now->allocation, std::make_shared<const v1::Job>(std::move(job)));
  EXPECT_EQ(hook.attach(alloc, state_)->prerun({}).message(),
            "service \"front\": this client has no service provider \"files\"");
}

TEST_F(ServiceHooksTest, ATaskIsFoundWhileItRuns) {
  TaskServicesHook hook(setup_);
  testing::FakeTask task("", "t", spec_with("one"));
  auto part = hook.attach(task, state_);
  ASSERT_TRUE(prestart(*part).ok());
  EXPECT_EQ(said(), "");
  ASSERT_TRUE(part->poststart().ok());
  EXPECT_EQ(said(), "back-blue/t#one ");
  task.describe(spec_with("two"));
  ASSERT_TRUE(part->update().ok());
  EXPECT_EQ(said(), "back-blue/t#two ");
  ASSERT_TRUE(part->exited().ok());
  EXPECT_EQ(said(), "");
  ASSERT_TRUE(part->update().ok());
  EXPECT_EQ(said(), "");
  ASSERT_TRUE(part->poststart().ok());
  EXPECT_EQ(said(), "back-blue/t#two ");
  ASSERT_TRUE(part->prekill().ok());
  EXPECT_EQ(provider_.said(), "");
}

TEST_F(ServiceHooksTest, ATaskWhoseServiceCannotBeResolvedGoesOn) {
  TaskServicesHook hook(setup_);
  testing::FakeTask task("", "t", spec_with("one", "nowhere"));
  auto part = hook.attach(task, state_);
  ASSERT_TRUE(prestart(*part).ok());
  EXPECT_FALSE(part->poststart().ok());
  EXPECT_NE(task.next().find("The services of the task are not published"), std::string::npos);
}

TEST_F(ServiceHooksTest, AnAgentsNextLifeBeginsWithWhatWasPublished) {
  {
    TaskServicesHook hook(setup_);
    testing::FakeTask task("", "t", spec_with("one"));
    auto part = hook.attach(task, state_);
    ASSERT_TRUE(prestart(*part).ok() && part->poststart().ok());
    part->shutdown();
  }
  publisher_.remove({Uuid::from_bytes(std::string(16, 'a')), "t"});  // as a new process has nothing
  EXPECT_EQ(said(), "");
  TaskServicesHook hook(setup_);
  testing::FakeTask task("", "t", spec_with("one"));
  auto part = hook.attach(task, state_);
  EXPECT_EQ(said(), "back-blue/t#one ");
  ASSERT_TRUE(part->exited().ok());  // it is not there any more
  EXPECT_EQ(said(), "");
  EXPECT_FALSE(state_.get("published"));
}

}  // namespace
}  // namespace drover::services
