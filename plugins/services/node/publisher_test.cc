#include "node/publisher.h"

#include <gtest/gtest.h>

#include <atomic>

#include "drover/mutex.h"
#include "drover/v1/check_provider.pb.h"
#include "drover/v1/service_provider.pb.h"
#include "services.pb.h"

namespace drover::services {
namespace {

using namespace std::chrono_literals;

// Remembers what it was told, and fails when it is to.
class FakeProvider final : public ServiceProvider {
 public:
  std::chrono::nanoseconds sync_every() const override { return 1h; }
  Result<v1::SyncServicesResponse> sync(const v1::SyncServicesRequest& request, std::stop_token) override {
    MutexLock lock(mutex_);
    ++calls_;
    changed_.notify_all();
    if (failures_ > 0) return --failures_, Result<v1::SyncServicesResponse>(unavailable("away"));
    said_.clear();
    for (const auto& each : request.instances())
      said_ += each.id() + (each.status() == v1::CheckResult::CRITICAL ? "!" + each.status_output() : "") + " ";
    return v1::SyncServicesResponse();
  }
  void fail(int times) {
    MutexLock lock(mutex_);
    failures_ = times;
  }
  bool eventually(const std::string& said) {
    MutexLock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&]() DROVER_REQUIRES(mutex_) { return said_ == said && calls_ > 0; });
  }
  int calls() {
    MutexLock lock(mutex_);
    return calls_;
  }
  bool eventually_called(int times) {
    MutexLock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&]() DROVER_REQUIRES(mutex_) { return calls_ >= times; });
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::string said_ DROVER_GUARDED_BY(mutex_);
  int calls_ DROVER_GUARDED_BY(mutex_) = 0;
  int failures_ DROVER_GUARDED_BY(mutex_) = 0;
};

v1::StoredInstances instances(const std::string& id, const std::string& provider = "nomad") {
  v1::StoredInstances out;
  auto& each = *out.add_instances();
  each.set_provider(provider);
  each.mutable_instance()->set_id(id);
  return out;
}

class PublisherTest : public ::testing::Test {
 protected:
  void start() {
    publisher_.start([this]() -> std::optional<NodeProofOf> {
      if (!is_known_) return std::nullopt;
      return NodeProofOf{.id = Uuid(), .secret = "", .name = "n1"};
    }, &health_);
    publisher_.offer("nomad", native_);
    publisher_.offer("file", file_);
  }
  class FakeHealth final : public ServiceHealth {
   public:
    ServiceHealthNow health(const Uuid& allocation, std::string_view task, std::string_view service) const override {
      if (!is_critical || allocation != of || task != "web" || service != "shop") return {};
      return {.status = ServiceStatus::critical, .output = "down"};
    }
    void watch(std::function<void()>) override {}
    Uuid of;
    std::atomic<bool> is_critical = true;
  };
  FakeHealth health_;
  FakeProvider native_, file_;
  std::atomic<bool> is_known_{true};
  const Uuid alloc_ = Uuid::random();
  Publisher publisher_;  // last: its threads use the others
};

TEST_F(PublisherTest, TellsEachProviderItsOwn) {
  start();
  publisher_.put({alloc_, ""}, instances("group"));
  publisher_.put({alloc_, "web"}, instances("task", "file"));
  EXPECT_TRUE(publisher_.settle(20s));
  EXPECT_TRUE(native_.eventually("group "));
  EXPECT_TRUE(file_.eventually("task "));
  publisher_.put({alloc_, ""}, instances("other"));
  publisher_.remove({alloc_, "web"});
  EXPECT_TRUE(publisher_.settle(20s));
  EXPECT_TRUE(native_.eventually("other "));
  EXPECT_TRUE(file_.eventually(""));
}

TEST_F(PublisherTest, AProviderThatComesLaterIsToldAll) {
  start();
  FakeProvider late;
  publisher_.put({alloc_, ""}, instances("group", "late"));
  EXPECT_FALSE(publisher_.has("late"));
  publisher_.offer("late", late);
  EXPECT_TRUE(publisher_.has("late"));
  EXPECT_TRUE(late.eventually("group "));
  publisher_.stop();
}

TEST_F(PublisherTest, SaysNothingBeforeTheNodeIsKnown) {
  is_known_ = false;
  start();
  publisher_.put({alloc_, ""}, instances("group"));
  EXPECT_FALSE(publisher_.settle(100ms));
  EXPECT_EQ(native_.calls(), 0);
  is_known_ = true;
  publisher_.registered();
  EXPECT_TRUE(publisher_.settle(20s));
  EXPECT_TRUE(native_.eventually("group "));
}

TEST_F(PublisherTest, WaitsForTheProvidersThatAreNamedAndNotBehindTheStop) {
  file_.fail(1'000'000);
  start();
  publisher_.put({alloc_, ""}, instances("group"));
  EXPECT_TRUE(publisher_.settle(20s, {"nomad"}));
  EXPECT_FALSE(publisher_.settle(0s));
  publisher_.stop();
  publisher_.remove({alloc_, ""});
  EXPECT_TRUE(publisher_.settle(1h));
}

TEST_F(PublisherTest, TriesAgainUntilItIsHeard) {
  native_.fail(3);
  start();
  publisher_.put({alloc_, ""}, instances("group"));
  EXPECT_TRUE(publisher_.settle(20s));
  EXPECT_TRUE(native_.eventually("group "));
  EXPECT_GE(native_.calls(), 4);
}

TEST_F(PublisherTest, SaysHowInstancesDoByTheirChecks) {
  start();
  health_.of = alloc_;
  v1::StoredInstances both = instances("web");
  both.MergeFrom(instances("other"));
  for (auto& each : *both.mutable_instances()) each.mutable_instance()->set_alloc_id(alloc_.to_string());
  both.mutable_instances(0)->mutable_instance()->set_task("web");
  both.mutable_instances(0)->mutable_instance()->set_service("shop");
  publisher_.put({alloc_, "web"}, both);
  EXPECT_TRUE(native_.eventually("web!down other "));
  health_.is_critical = false;
  publisher_.health_changed();
  EXPECT_TRUE(native_.eventually("web other "));
}

TEST_F(PublisherTest, SaysAllAgainAfterARegistration) {
  start();
  publisher_.put({alloc_, ""}, instances("group"));
  ASSERT_TRUE(publisher_.settle(20s));
  const int before = native_.calls();
  publisher_.registered();
  EXPECT_TRUE(native_.eventually_called(before + 1));
  EXPECT_TRUE(native_.eventually("group "));
}

}  // namespace
}  // namespace drover::services
