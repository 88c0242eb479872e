#include "event_streams.h"

#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <thread>

#include "drover/api/events.pb.h"
#include "drover/options.pb.h"
#include "drover/permissions.h"
#include "drover/schema.h"
#include "drover/v1/acl.pb.h"
#include "drover/v1/node_pool.pb.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/waiting.h"

namespace drover::events {
namespace {

using namespace std::chrono_literals;

class NodeReader final : public Permissions {
 public:
  Grant granted(Area area) const override { return area == Area::node ? Grant::read : Grant::none; }
};

// A caller on a thread of its own, and the lines that it was sent.
class Reader {
 public:
  Reader(EventStreams& streams, v1::EventStreamRequest request, CallContext context)
      : thread_([this, &streams, request = std::move(request), context = std::move(context)]() mutable {
          context.stop = stop_.get_token();
          testing::FakeCall call(std::move(context), nullptr);
          Replies<v1::EventStreamLines> replies(sent_);
          const Status status = streams.follow(request, call, replies);
          const std::lock_guard lock(sent_.mutex);
          status_ = status;
        }) {}
  ~Reader() { stop_.request_stop(); }

  // The next line that is no sign of life.
  std::string next() {
    std::string line;
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(sent_.mutex);
      while (!sent_.lines.empty() && sent_.lines.front() == "{}\n") sent_.lines.pop_front();
      if (sent_.lines.empty()) return false;
      line = sent_.lines.front();
      sent_.lines.pop_front();
      return true;
    }));
    return line;
  }
  std::string next_keys() {
    std::string keys;
    const auto line = nlohmann::json::parse(next(), nullptr, false);
    if (!line.is_object()) return "nothing";
    for (const auto& event : line["Events"]) keys += event["Key"].get<std::string>() + " ";
    return keys;
  }
  size_t signs_of_life() {
    const std::lock_guard lock(sent_.mutex);
    return static_cast<size_t>(std::ranges::count(sent_.lines, "{}\n"));
  }
  Status ended() {
    Status status;
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(sent_.mutex);
      if (status_) status = *status_;
      return status_.has_value();
    }));
    return status;
  }

 private:
  struct Sent final : MessageStream {
    bool send(std::string message) override {
      const std::lock_guard lock(mutex);
      v1::EventStreamLines sent;
      sent.ParseFromString(message);
      lines.push_back(sent.data());
      return true;
    }
    std::optional<std::string> receive(SteadyTime) override { return std::nullopt; }
    std::mutex mutex;
    std::deque<std::string> lines;
  };

  std::stop_source stop_;
  Sent sent_;
  std::optional<Status> status_;  // guarded by the mutex of sent_
  std::jthread thread_;
};

void policy_keys(const v1::AclPolicy& policy, RowKeys& keys) { keys.primary(policy.name()); }

class EventStreamsTest : public ::testing::Test {
 protected:
  EventStreamsTest()
      : pools_(host_.rows().add_table(node_pools_table().spec()), 0, node_pools_table().keys),
        policies_(host_.rows().add_table(Table<v1::AclPolicy>::spec("acl_policies", {}, policy_keys)), 0, policy_keys),
        streams_(std::make_unique<EventStreams>(host_, 4, 20ms)) {}

  uint64_t write_pool(const std::string& name) {
    v1::NodePool pool;
    pool.set_name(name);
    pool.set_description(std::to_string(++written_));
    return host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(pools_.put(rows, pool).ok()); });
  }
  void write_policy(const std::string& name) {
    v1::AclPolicy policy;
    policy.set_name(name);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(policies_.put(rows, policy).ok()); });
  }
  static v1::EventStreamRequest pools(const std::string& after = "") {
    v1::EventStreamRequest request;
    request.add_topic("NodePool");
    request.set_after(after);
    return request;
  }
  static CallContext from(uint64_t index) {
    CallContext context;
    context.query.min_index = index;
    return context;
  }
  static CallContext reader() {
    CallContext context;
    context.identity = {.kind = Identity::Kind::token, .name = "r", .permissions = std::make_shared<NodeReader>()};
    return context;
  }

  testing::FakeHost host_;
  Table<v1::NodePool> pools_;
  Table<v1::AclPolicy> policies_;
  std::unique_ptr<EventStreams> streams_;
  int written_ = 0;
};

TEST_F(EventStreamsTest, ReplaysWhatIsHeldAndGoesOn) {
  write_pool("a");
  const uint64_t second = write_pool("b");
  Reader whole(*streams_, pools(), from(0));
  EXPECT_EQ(whole.next_keys(), "a ");
  EXPECT_EQ(whole.next_keys(), "b ");
  Reader later(*streams_, pools(), from(second));
  EXPECT_EQ(later.next_keys(), "b ");
  Reader exact(*streams_, pools(std::to_string(second)), from(0));
  Reader end(*streams_, pools("latest"), from(0));
  EXPECT_TRUE(eventually([&] { return end.signs_of_life() > 0 && exact.signs_of_life() > 0; }));
  write_pool("c");
  for (Reader* each : {&whole, &later, &exact, &end}) EXPECT_EQ(each->next_keys(), "c ");
}

TEST_F(EventStreamsTest, SaysThatItLives) {
  Reader quiet(*streams_, pools(), from(0));
  EXPECT_TRUE(eventually([&] { return quiet.signs_of_life() >= 3; }));
}

TEST_F(EventStreamsTest, RefusesABeginningThatIsNotHeld) {
  const uint64_t first = write_pool("a");
  Reader along(*streams_, pools(), from(0));
  EXPECT_EQ(along.next_keys(), "a ");
  for (const char* name : {"b", "c", "d", "e", "f"}) {
    write_pool(name);
    EXPECT_EQ(along.next_keys(), std::string(name) + " ");
  }
  Reader whole(*streams_, pools(), from(0));
  EXPECT_EQ(whole.next_keys(), "c ");
  Reader late(*streams_, pools(std::to_string(first)), from(0));
  EXPECT_EQ(http_status_of(late.ended()), 410);
}

TEST_F(EventStreamsTest, ChangedPoliciesEndStreamsButThoseOfManagement) {
  write_policy("early");
  Reader first(*streams_, pools(), reader());
  Reader manager(*streams_, pools(), from(0));
  write_pool("a");
  EXPECT_EQ(first.next_keys(), "a ") << "the early policy is what its rights are made of";
  EXPECT_EQ(manager.next_keys(), "a ");
  write_policy("readers");
  EXPECT_EQ(first.ended().message(), "subscription closed by server, client should resubscribe");
  write_pool("b");
  EXPECT_EQ(manager.next_keys(), "b ");
  Reader again(*streams_, pools("latest"), reader());
  EXPECT_TRUE(eventually([&] { return again.signs_of_life() > 0; }));
  write_pool("c");
  EXPECT_EQ(again.next_keys(), "c ");
}

TEST_F(EventStreamsTest, RefusesWhoMayNot) {
  CallContext nobody;
  nobody.identity = {.kind = Identity::Kind::anonymous, .name = "", .permissions = std::make_shared<Permissions>()};
  Reader refused(*streams_, pools(), nobody);
  EXPECT_EQ(refused.ended().code(), Code::permission_denied);
}

TEST_F(EventStreamsTest, EndsWithTheAgent) {
  Reader reader(*streams_, pools(), from(0));
  EXPECT_TRUE(eventually([&] { return reader.signs_of_life() > 0; }));
  streams_->stop();
  EXPECT_EQ(reader.ended().code(), Code::unavailable);
}

TEST_F(EventStreamsTest, AnotherStateEndsStreams) {
  Reader reader(*streams_, pools(), from(0));
  EXPECT_TRUE(eventually([&] { return reader.signs_of_life() > 0; }));
  host_.resync();
  EXPECT_EQ(reader.ended().code(), Code::unavailable);
}

}  // namespace
}  // namespace drover::events
