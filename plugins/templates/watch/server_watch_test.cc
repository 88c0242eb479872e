#include "watch/server_watch.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sdk/testing/fake_host.h"
#include "sdk/testing/fake_node.h"

namespace drover::templates {
namespace {

using nlohmann::json;

class ServerWatchTest : public ::testing::Test {
 protected:
  ServerWatchTest() {
    EXPECT_TRUE(host_.rows().extend<NodeCalls>("agent", node_).ok());
    host_.delay_tasks();
    host_.answer_calls_with([this](const CallContext& context, const std::string& request) -> Result<std::string> {
      ++calls_;
      asked_ = context.method + " " + request;
      stop_ = context.stop;
      if (!failure_.ok()) return failure_;
      return answer_;
    });
    watches_.start(host_);
  }
  ServerQuestion question(const std::string& key) const {
    return {.method = "Read",
            .key = key,
            .request = [key](const NodeProofOf& node, const Uuid&, QueryOptions&) { return node.name + ":" + key; },
            .read = [](std::string_view body) -> Result<Seen> {
              Seen seen;
              seen.is_found = !body.empty();
              seen.value = std::make_shared<const json>(body);
              return seen;
            },
            .may_be_refused = may_be_refused_};
  }
  std::shared_ptr<ServerUse> use(const std::string& key) { return watches_.use(Uuid::random(), question(key)); }

  testing::FakeHost host_;
  drover::testing::FakeNode node_;
  ServerWatches watches_;
  bool may_be_refused_ = false;
  Status failure_;
  std::string answer_ = "one", asked_;
  std::stop_token stop_;
  int calls_ = 0;
};

TEST_F(ServerWatchTest, AsksOnceForAllWhoAskTheSameAndTellsChanges) {
  const auto first = use("a"), second = use("a");
  EXPECT_EQ(asked_, "Read n:a");
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(first->now().change, 1U);
  host_.run_delayed();  // the same again
  EXPECT_EQ(calls_, 2);
  EXPECT_EQ(second->now().change, 1U);
  answer_ = "two";
  host_.run_delayed();
  EXPECT_EQ(first->now().change, 2U);
  EXPECT_EQ(*second->now().value, "two");
  const auto other = use("b");
  EXPECT_EQ(asked_, "Read n:b");
}

TEST_F(ServerWatchTest, KeepsWhatIsKnownWhileServersFail) {
  may_be_refused_ = true;
  const auto held = use("a");
  for (const Status& failure : {unavailable("No cluster leader"), permission_denied("Permission denied")}) {
    failure_ = failure;
    host_.run_delayed();
    EXPECT_EQ(held->now().change, 1U);
    EXPECT_TRUE(held->now().error.ok());
  }
  EXPECT_EQ(calls_, 3);
}

TEST_F(ServerWatchTest, ARefusalIsAnAnswerOnlyWhereItMayBe) {
  failure_ = permission_denied("Permission denied");
  EXPECT_EQ(use("a")->now().change, 0U);
  may_be_refused_ = true;
  const auto held = use("b");
  EXPECT_EQ(held->wait(std::chrono::hours(1)).error.code(), Code::permission_denied);
  failure_ = ok_status();
  host_.run_delayed();
  EXPECT_TRUE(held->now().error.ok());
  EXPECT_EQ(held->now().change, 2U);
}

TEST_F(ServerWatchTest, IsForgottenWithItsLastUser) {
  auto first = use("a"), second = use("a");
  first.reset();
  host_.run_delayed();
  EXPECT_EQ(calls_, 2);
  EXPECT_FALSE(stop_.stop_requested());
  second.reset();
  EXPECT_TRUE(stop_.stop_requested());  // the read that waits on the servers, too
  host_.run_delayed();
  EXPECT_EQ(calls_, 2);
}

TEST_F(ServerWatchTest, AsksNothingOnceItIsStopped) {
  failure_ = unavailable("No cluster leader");
  const auto held = use("a");
  watches_.stop();
  EXPECT_TRUE(stop_.stop_requested());
  host_.run_delayed();
  const auto late = use("b");
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(held->wait(std::chrono::hours(1)).change, 0U);  // nobody waits any more
  EXPECT_EQ(late->wait(std::chrono::hours(1)).change, 0U);
}

}  // namespace
}  // namespace drover::templates
