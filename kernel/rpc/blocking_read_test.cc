#include "kernel/rpc/test_support.h"

namespace drover::rpc {
namespace {

TEST_F(RouterTest, ABlockingReadReturnsWhenWhatItReadChanges) {
  state::put_rows(store_, table_, {"a||one||", "b||one||"});
  auto answer = start(blocking_read(), "a");
  ASSERT_TRUE(is_asleep());

  state::put_rows(store_, table_, {"b||two||"});  // another row: nobody is woken
  EXPECT_EQ(store_.waiters(), 1u);
  EXPECT_EQ(reads_, 1);
  EXPECT_NE(answer.wait_for(0s), std::future_status::ready);
  state::put_rows(store_, table_, {"a||two||"});

  auto reply = wait(std::move(answer));
  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "a||two||");
  EXPECT_EQ(reply->meta.index, 3u);
  EXPECT_EQ(reads_, 2);
  EXPECT_TRUE(reply->meta.known_leader);
}

TEST_F(RouterTest, AReadOfATableThatWasNeverWrittenHasTheIndexZero) {
  auto reply = call(to("Read"), "");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "0");
  EXPECT_EQ(reply->meta.index, 0u);
}

TEST_F(RouterTest, ABlockingReadThatIsBehindReturnsAtOnce) {
  state::put_rows(store_, table_, {"a||one||"});
  state::put_rows(store_, table_, {"a||two||"});
  CallContext context = blocking_read();
  context.query.min_index = 1;

  auto reply = call(context, "a");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "a||two||");
  EXPECT_EQ(reads_, 1);
}

TEST_F(RouterTest, ABlockingReadReturnsTheSameIndexWhenTheWaitIsOver) {
  state::put_rows(store_, table_, {"a||one||"});
  CallContext context = blocking_read();
  context.query.max_wait = 20ms;

  auto reply = call(context, "a");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "a||one||");
  EXPECT_EQ(reply->meta.index, 1u);
  EXPECT_EQ(store_.waiters(), 0u);
}

TEST_F(RouterTest, ABlockingReadEndsByTheDeadlineOfTheCall) {
  state::put_rows(store_, table_, {"a||one||"});
  CallContext context = blocking_read();
  context.deadline = clock_.steady() + 20ms;

  auto reply = router_->call_and_wait(context, "a");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->meta.index, 1u);
}

TEST_F(RouterTest, ABlockingReadEndsWhenTheCallerHasGone) {
  state::put_rows(store_, table_, {"a||one||"});
  std::stop_source caller;
  CallContext context = blocking_read();
  context.stop = caller.get_token();
  auto answer = start(context, "a");
  ASSERT_TRUE(is_asleep());

  caller.request_stop();

  EXPECT_EQ(wait(std::move(answer)).status().to_string(), "cancelled: the caller has gone");
  EXPECT_EQ(store_.waiters(), 0u);
}

TEST_F(RouterTest, ABlockingReadEndsWhenTheRouterStops) {
  state::put_rows(store_, table_, {"a||one||"});
  auto answer = start(blocking_read(), "a");
  ASSERT_TRUE(is_asleep());

  router_->stop();

  EXPECT_EQ(wait(std::move(answer)).status().to_string(), "unavailable: this agent is stopping");
}

TEST_F(RouterTest, ABlockingReadEndsWhenTheStateIsReplaced) {
  state::put_rows(store_, table_, {"a||one||"});
  auto answer = start(blocking_read(), "a");
  ASSERT_TRUE(is_asleep());

  StringSink saved;
  ASSERT_TRUE(state::write_snapshot(*store_.snapshot("test"), saved).ok());
  StringSource source(saved.bytes);
  ASSERT_TRUE(store_.restore(source).ok());

  EXPECT_EQ(wait(std::move(answer)).status().code(), Code::unavailable);
}

TEST_F(RouterTest, ABlockingReadIsConfirmedEachTimeBeforeItLooks) {
  state::put_rows(store_, table_, {"a||one||"});
  auto answer = start(blocking_read(), "a");
  ASSERT_TRUE(is_asleep());
  EXPECT_EQ(environment_.confirmations(), 1);

  environment_.set({.doubts = 2});  // cut off, and it does not know yet
  state::put_rows(store_, table_, {"a||two||"});

  auto reply = wait(std::move(answer));
  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "a||two||");
  EXPECT_EQ(environment_.confirmations(), 4) << "two of them in vain";
  EXPECT_EQ(reads_, 2) << "nothing was read while leadership was in doubt";
}

TEST_F(RouterTest, ABlockingReadMovesToTheNewLeaderWhenLeadershipIsLost) {
  FakePeers peers;
  router_->set_peers(&peers);
  state::put_rows(store_, table_, {"a||one||"});
  auto answer = start(blocking_read(), "a");
  ASSERT_TRUE(is_asleep());

  environment_.lose_leadership({.is_leader = false, .leader_address = "s2:4647"});

  auto reply = wait(std::move(answer));
  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "server s2:4647: a");
  EXPECT_EQ(peers.last.query.min_index, 1u);
  EXPECT_GT(peers.last.query.max_wait, 0s);
  EXPECT_LE(peers.last.query.max_wait, 64s) << "what is left of the wait";
  EXPECT_EQ(reads_, 1) << "the deposed server does not answer from its own state";
  EXPECT_EQ(store_.waiters(), 0u);
}

TEST_F(RouterTest, ABlockingReadOfADeposedServerEndsWhenNobodyLeads) {
  state::put_rows(store_, table_, {"a||one||"});
  auto answer = start(blocking_read(), "a");
  ASSERT_TRUE(is_asleep());

  environment_.lose_leadership({.is_leader = false, .leader_address = ""});

  EXPECT_EQ(wait(std::move(answer)).status().to_string(), "unavailable: No cluster leader");
}

TEST_F(RouterTest, AStaleBlockingReadOutlivesALossOfLeadership) {
  state::put_rows(store_, table_, {"a||one||"});
  CallContext context = blocking_read();
  context.query.stale = true;
  auto answer = start(context, "a");
  ASSERT_TRUE(is_asleep());

  environment_.lose_leadership({.is_leader = false, .leader_address = ""});
  EXPECT_NE(answer.wait_for(0s), std::future_status::ready);
  state::put_rows(store_, table_, {"a||two||"});

  EXPECT_EQ(wait(std::move(answer))->body, "a||two||");
}

TEST_F(RouterTest, ManyBlockingReadsNeedNoThread) {
  state::put_rows(store_, table_, {"a||one||"});
  std::vector<std::future<Result<Reply>>> answers;
  for (int i = 0; i < 50; ++i) answers.push_back(start(blocking_read(), "a"));
  ASSERT_TRUE(eventually([this] { return store_.waiters() == 50; }));
  EXPECT_EQ(call(to("Write"), "x")->body, "applied x for acls-disabled") << "the pool has two workers";

  state::put_rows(store_, table_, {"a||two||"});

  for (auto& answer : answers) EXPECT_EQ(wait(std::move(answer))->body, "a||two||");
}

TEST_F(RouterTest, ABlockingReadOfSomethingMissingFailsAtOnce) {
  state::put_rows(store_, table_, {"b||one||"});

  EXPECT_EQ(call(blocking_read(), "a").status().to_string(), "not_found: no thing named a");
}

}  // namespace
}  // namespace drover::rpc
