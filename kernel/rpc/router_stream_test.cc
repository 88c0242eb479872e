#include <deque>

#include "kernel/rpc/test_support.h"

namespace drover::rpc {
namespace {

// The caller's end of a stream, which keeps what it hears.
class Listener {
 public:
  StreamReceiver receiver() {
    return {.message =
                [this](std::string message) {
                  std::lock_guard lock(mutex_);
                  heard_.push_back(std::move(message));
                  changed_.notify_all();
                  return heard_.size() < limit_;
                },
            .closed =
                [this](Status status) {
                  std::lock_guard lock(mutex_);
                  closed_ = std::move(status);
                  changed_.notify_all();
                }};
  }
  bool hears(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return heard_.size() >= count; });
  }
  std::string outcome() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return closed_.has_value(); })) return "never closed";
    return closed_->to_string();
  }
  std::vector<std::string> heard() {
    std::lock_guard lock(mutex_);
    return heard_;
  }
  void limit(size_t messages) { limit_ = messages; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> heard_;
  std::optional<Status> closed_;
  size_t limit_ = SIZE_MAX;
};

TEST_F(RouterTest, AStreamCarriesMessagesBothWays) {
  Listener listener;
  auto stream = router_->open(to("Talk"), "hello", listener.receiver());
  ASSERT_TRUE(stream) << stream.status().to_string();

  EXPECT_TRUE((*stream)->send("one"));
  EXPECT_TRUE((*stream)->send("two"));
  (*stream)->close_sending();

  EXPECT_EQ(listener.outcome(), ok_status().to_string());
  EXPECT_EQ(listener.heard(), (std::vector<std::string>{"<hello>", "<one>", "<two>"}));
  EXPECT_FALSE((*stream)->send("three")) << "it is over";
}

TEST_F(RouterTest, AStreamEndsWithTheErrorOfItsHandler) {
  Listener listener;
  auto stream = router_->open(to("Talk"), "", listener.receiver());
  ASSERT_TRUE(stream) << stream.status().to_string();

  EXPECT_TRUE((*stream)->send("error"));

  EXPECT_EQ(listener.outcome(), "aborted: as asked");
}

TEST_F(RouterTest, ACancelledStreamEnds) {
  Listener listener;
  auto stream = router_->open(to("Talk"), "", listener.receiver());
  ASSERT_TRUE(stream) << stream.status().to_string();
  ASSERT_TRUE(listener.hears(1));

  (*stream)->cancel();

  EXPECT_EQ(listener.outcome(), "cancelled: the caller has gone");
  EXPECT_FALSE((*stream)->send("more"));
}

TEST_F(RouterTest, DroppingAStreamCancelsIt) {
  Listener listener;
  auto stream = router_->open(to("Talk"), "", listener.receiver());
  ASSERT_TRUE(stream) << stream.status().to_string();
  ASSERT_TRUE(listener.hears(1));

  stream->reset();

  EXPECT_EQ(listener.outcome(), "cancelled: the caller has gone");
}

TEST_F(RouterTest, AStreamEndsWithTheTokenOfItsCaller) {
  Listener listener;
  std::stop_source caller;
  CallContext context = to("Talk");
  context.stop = caller.get_token();
  auto stream = router_->open(context, "", listener.receiver());
  ASSERT_TRUE(stream) << stream.status().to_string();
  ASSERT_TRUE(listener.hears(1));

  caller.request_stop();

  EXPECT_EQ(listener.outcome(), "cancelled: the caller has gone");
}

TEST_F(RouterTest, AStreamEndsWhenItsCallerLosesTheRightToIt) {
  FakeAccess access;
  router_->set_access_control(&access);
  Listener listener;
  CallContext context = to("Talk");
  context.query.token = "reader";
  auto stream = router_->open(context, "", listener.receiver());
  ASSERT_TRUE(stream) << stream.status().to_string();
  access.is_away = true;  // nobody says anything about the caller: it goes on
  ASSERT_TRUE((*stream)->send("one"));
  ASSERT_TRUE(listener.hears(2));
  access.is_revoked = true;
  access.is_away = false;
  EXPECT_EQ(listener.outcome(), right_is_lost().to_string());
}

TEST_F(RouterTest, AuditorsHearOfStreams) {
  FakeAccess access;
  FakeAuditor auditor;
  router_->set_access_control(&access);
  router_->add_auditor(auditor);
  Listener listener;
  CallContext context = to("Talk");
  context.query.token = "reader";
  auto stream = router_->open(context, "hello", listener.receiver());
  ASSERT_TRUE(stream) << stream.status().to_string();
  (*stream)->close_sending();
  EXPECT_EQ(listener.outcome(), ok_status().to_string());
  context.query.token = "bad";
  EXPECT_FALSE(router_->open(context, "", listener.receiver()).ok());
  EXPECT_EQ(auditor.heard(),
            (std::vector<std::string>{"Talk reader hello: ok", "Talk  : permission_denied: Permission denied"}));
}

TEST_F(RouterTest, AStreamEndsWhenTheRouterStops) {
  Listener listener;
  auto stream = router_->open(to("Talk"), "", listener.receiver());
  ASSERT_TRUE(stream) << stream.status().to_string();
  ASSERT_TRUE(listener.hears(1));

  router_->stop();

  EXPECT_EQ(listener.outcome(), "cancelled: the caller has gone");
}

TEST_F(RouterTest, AReceiverThatHasEnoughEndsTheStream) {
  Listener listener;
  listener.limit(2);
  auto stream = router_->open(to("Talk"), "hello", listener.receiver());
  ASSERT_TRUE(stream) << stream.status().to_string();

  EXPECT_TRUE((*stream)->send("one"));

  EXPECT_EQ(listener.outcome(), "cancelled: nobody listens");
  EXPECT_EQ(listener.heard(), (std::vector<std::string>{"<hello>", "<one>"}));
}

TEST_F(RouterTest, OpensNoMoreStreamsThanThePoolHolds) {
  std::deque<Listener> listeners(16);
  std::vector<std::unique_ptr<StreamCall>> streams;
  for (Listener& listener : listeners) {
    auto stream = router_->open(to("Talk"), "", listener.receiver());
    ASSERT_TRUE(stream) << stream.status().to_string();
    streams.push_back(*std::move(stream));
  }

  for (Listener& listener : listeners) ASSERT_TRUE(listener.hears(1));
  EXPECT_EQ(router_->open(to("Talk"), "", Listener().receiver()).status().to_string(),
            "resource_exhausted: too many calls and streams are open (limit 16)");
  EXPECT_EQ(call(to("Local"), "x").status().code(), Code::resource_exhausted);
  streams.clear();
  for (Listener& listener : listeners) EXPECT_EQ(listener.outcome(), "cancelled: the caller has gone");
}

}  // namespace
}  // namespace drover::rpc
