#include "kernel/rpc/router.h"

#include <condition_variable>
#include <future>
#include <thread>

#include "gtest/gtest.h"
#include "kernel/rpc/router_test.pb.h"
#include "kernel/state/test_rows.h"

namespace drover::rpc {
namespace {

using namespace std::chrono_literals;
constexpr auto kPatience = 20s;

// What the world says; may change while calls are on their way.
class FakeSurroundings final : public Surroundings {
 public:
  struct Facts {
    std::string server_name = "s1";
    bool is_server = true;
    bool is_leader = true;
    bool has_started = true;
    std::string leader_address = "s1:4647";
    std::optional<Uuid> local_node, located;
    int doubts = 0;  // how often leadership cannot be confirmed, before it can
  };
  std::string region() const override { return "global"; }
  std::string server_name() const override { return facts().server_name; }
  bool is_server() const override { return facts().is_server; }
  bool has_started(std::string_view) const override { return facts().has_started; }
  bool is_leader() const override { return facts().is_leader; }
  bool is_ready() const override { return facts().is_leader; }
  void confirm_leadership(SteadyTime, std::function<void(Status)> done) override {
    bool is_sure = false;
    {
      std::lock_guard lock(mutex_);
      ++confirmations_;
      is_sure = facts_.doubts == 0 || facts_.doubts-- == 0;
    }
    done(is_sure ? ok_status() : unavailable("not the leader"));
  }
  int confirmations() const {
    std::lock_guard lock(mutex_);
    return confirmations_;
  }
  std::string leader_address() const override { return facts().leader_address; }
  std::string any_server_address() const override { return facts().leader_address; }
  std::optional<Uuid> local_node() const override { return facts().local_node; }
  std::chrono::nanoseconds last_contact() const override { return 7ms; }
  std::optional<Uuid> locate(std::string_view) const override { return facts().located; }

  Facts facts() const {
    std::lock_guard lock(mutex_);
    ++asked_;
    return facts_;
  }
  void set(Facts facts) {
    std::lock_guard lock(mutex_);
    facts_ = std::move(facts);
  }
  int asked() const {
    std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  mutable std::mutex mutex_;
  mutable int asked_ = 0;
  int confirmations_ = 0;
  Facts facts_;
};

class FakePeers final : public Peers {
 public:
  void call_server(const std::string& address, CallContext context, std::string request,
                   std::function<void(Result<Reply>)> done) override {
    last = std::move(context);
    done(Reply{"server " + address + ": " + request, {}});
  }
  Result<std::unique_ptr<StreamCall>> open_server(const std::string& address, CallContext context, std::string,
                                                  StreamReceiver) override {
    last = std::move(context);
    return unavailable("stream to " + address);
  }
  bool has_node(const Uuid& node) const override { return node == connected; }
  void call_node(const Uuid& node, CallContext context, std::string, std::function<void(Result<Reply>)> done) override {
    last = std::move(context);
    done(Reply{"node " + node.to_string(), {}});
  }
  Result<std::unique_ptr<StreamCall>> open_node(const Uuid&, CallContext, std::string, StreamReceiver) override {
    return unavailable("stream to a node");
  }

  Uuid connected;
  CallContext last;
};

// "bad" is a wrong token; "reader" may not write.
class FakeAccess final : public AccessControl {
 public:
  Result<Identity> authenticate(const CallContext& context) override {
    if (context.query.token == "bad") return permission_denied("token not found");
    return Identity{Identity::Kind::token, context.query.token};
  }
  Status authorize(const Identity& identity, const Access& rule, const CallContext&) override {
    if (rule.rule_case() == Access::kNamespace && identity.name != "writer")
      return permission_denied("Permission denied");
    return ok_status();
  }
};

class RouterTest : public ::testing::Test {
 protected:
  RouterTest() {
    table_ = state::must_add(store_, state::thing_table());
    std::vector<MethodBinding> bindings;
    bindings.push_back({"Read",
                        [this](std::string_view key, Call& call) -> Result<std::string> {
                          ++reads_;
                          auto row = call.view().get(table_, state::key_of(key));
                          if (!row) return not_found("no thing named " + std::string(key));
                          return std::string(*row);
                        },
                        {}});
    bindings.push_back({"Write",
                        [](std::string_view request, Call& call) -> Result<std::string> {
                          return "wrote " + std::string(request) + " for " + call.context().identity.name;
                        },
                        {}});
    bindings.push_back({"Local",
                        [](std::string_view request, Call&) -> Result<std::string> {
                          return failed_precondition("local " + std::string(request));
                        },
                        {}});
    bindings.push_back({"Nest",
                        [this](std::string_view request, Call& call) -> Result<std::string> {
                          if (request.empty()) return std::string("bottom");
                          DROVER_TRY(Reply reply,
                                     router_->call_and_wait(call.context(), std::string(request.substr(1))));
                          return "." + reply.body;
                        },
                        {}});
    bindings.push_back(
        {"OnNode", [](std::string_view, Call&) -> Result<std::string> { return std::string("here"); }, {}});
    // Says what it hears, in angle brackets, until the caller has said everything; "error" ends it with one.
    bindings.push_back({"Talk", {}, [](std::string_view request, Call& call, MessageStream& stream) -> Status {
                          if (!stream.send("<" + std::string(request) + ">")) return cancelled("nobody listens");
                          while (auto message = stream.receive(SteadyTime::max())) {
                            if (*message == "error") return aborted("as asked");
                            if (!stream.send("<" + *message + ">")) return cancelled("nobody listens");
                          }
                          return call.stop().stop_requested() ? cancelled("the caller has gone") : ok_status();
                        }});
    const Status added = methods_.add_service("things", "drover.test.Things", std::move(bindings));
    EXPECT_TRUE(added.ok()) << added.to_string();
    router_ = std::make_unique<Router>(options_, methods_, &store_, surroundings_, pool_, clock_, metrics_);
  }
  ~RouterTest() override {
    router_->stop();
    pool_.stop();
  }

  static CallContext to(const std::string& method) {
    CallContext context;
    context.method = "/drover.test.Things/" + method;
    return context;
  }
  std::future<Result<Reply>> start(CallContext context, std::string request) {
    auto promise = std::make_shared<std::promise<Result<Reply>>>();
    router_->call(std::move(context), std::move(request),
                  [promise](Result<Reply> reply) { promise->set_value(std::move(reply)); });
    return promise->get_future();
  }
  static Result<Reply> wait(std::future<Result<Reply>> answer) {
    if (answer.wait_for(kPatience) != std::future_status::ready) return deadline_exceeded("the router did not answer");
    return answer.get();
  }
  Result<Reply> call(CallContext context, std::string request = "") {
    return wait(start(std::move(context), std::move(request)));
  }
  template <typename Condition>
  bool eventually(Condition condition) {
    const SteadyTime give_up = clock_.steady() + kPatience;
    while (!condition()) {
      if (clock_.steady() > give_up) return false;
      std::this_thread::yield();
    }
    return true;
  }
  // A read of the thing "a" that waits for news of it.
  CallContext blocking_read() {
    CallContext context = to("Read");
    context.query.min_index = store_.index();
    context.query.max_wait = 60s;
    return context;
  }
  bool is_asleep() {
    return eventually([this] { return store_.waiters() > 0; });
  }

  SystemClock clock_;
  Metrics metrics_;
  state::Store store_;
  TableId table_;
  MethodTable methods_;
  FakeSurroundings surroundings_;
  Pool pool_{{.workers = 2, .max_streams = 1}, clock_};
  Router::Options options_{.hold_timeout = 100ms, .default_wait = 60s, .max_wait = 60s};
  std::unique_ptr<Router> router_;
  std::atomic<int> reads_ = 0;
};

// --- unary ---------------------------------------------------------------------------------------------------------

// Counts how often it is asked, and lets one method pass.
class OneMethod final : public CallGate {
 public:
  explicit OneMethod(std::string method) : method_(std::move(method)) {}
  Status admit(std::string_view method) override {
    ++asked;
    return method == method_ ? ok_status() : permission_denied("not granted");
  }
  int asked = 0;

 private:
  const std::string method_;
};

TEST_F(RouterTest, AsksTheGateOfACallOnceAndBeforeAllElse) {
  const auto gate = std::make_shared<OneMethod>("/drover.test.Things/Write");
  CallContext granted = to("Write"), refused = to("Read"), unknown = to("Nothing");
  granted.gate = refused.gate = unknown.gate = gate;

  EXPECT_TRUE(call(granted).ok());
  EXPECT_EQ(1, gate->asked);
  EXPECT_TRUE(router_->call_and_wait(granted, "").ok());
  EXPECT_EQ(2, gate->asked);
  EXPECT_EQ(Code::permission_denied, call(refused).status().code());
  EXPECT_EQ(Code::permission_denied, router_->call_and_wait(refused, "").status().code());
  EXPECT_EQ(Code::permission_denied, router_->open(refused, "", {}).status().code());
  EXPECT_EQ(Code::unimplemented, call(unknown).status().code());
}

TEST_F(RouterTest, AnswersACall) {
  auto reply = call(to("Write"), "x");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "wrote x for acls-disabled");
  EXPECT_TRUE(reply->meta.known_leader);
  EXPECT_EQ(reply->meta.last_contact, 7ms);
}

TEST_F(RouterTest, KeepsTheErrorOfTheHandler) {
  EXPECT_EQ(call(to("Local"), "x").status().to_string(), "failed_precondition: local x");
  EXPECT_EQ(call(to("Read"), "a").status().to_string(), "not_found: no thing named a");
}

TEST_F(RouterTest, RefusesAMethodThatNobodyAnswers) {
  EXPECT_EQ(call(to("Unknown")).status().to_string(), "unimplemented: unknown method /drover.test.Things/Unknown");
  EXPECT_EQ(router_->call_and_wait(to("Unknown"), "").status().code(), Code::unimplemented);
  EXPECT_EQ(router_->open(to("Unknown"), "", {}).status().code(), Code::unimplemented);
}

TEST_F(RouterTest, RefusesTheWrongKindOfCall) {
  EXPECT_EQ(call(to("Talk")).status().to_string(), "invalid_argument: /drover.test.Things/Talk is a streaming method");
  EXPECT_EQ(router_->open(to("Read"), "", {}).status().to_string(),
            "invalid_argument: /drover.test.Things/Read is not a streaming method");
}

TEST_F(RouterTest, AReadKnowsTheIndexOfWhatItLookedAt) {
  state::put_rows(store_, table_, {"a||one||"});
  state::put_rows(store_, table_, {"b||two||"});

  auto reply = call(to("Read"), "a");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "a||one||");
  EXPECT_EQ(reply->meta.index, 2u);
}

TEST_F(RouterTest, APluginThatHasNotStartedIsNotCalled) {
  surroundings_.set({.has_started = false});

  EXPECT_EQ(call(to("Write")).status().to_string(), "unavailable: this agent is starting");
  EXPECT_EQ(router_->call_and_wait(to("Write"), "").status().to_string(), "unavailable: this agent is starting");
  EXPECT_EQ(router_->open(to("Talk"), "", {}).status().to_string(), "unavailable: this agent is starting");
}

TEST_F(RouterTest, AReadIsAnsweredByALeaderBeyondDoubt) {
  state::put_rows(store_, table_, {"a||one||"});
  surroundings_.set({.doubts = 2});

  auto reply = call(to("Read"), "a");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "a||one||");
  EXPECT_EQ(surroundings_.confirmations(), 3);
}

TEST_F(RouterTest, ALeaderThatCannotConfirmItAnswersNoRead) {
  state::put_rows(store_, table_, {"a||one||"});
  surroundings_.set({.doubts = 1'000'000});

  EXPECT_EQ(call(to("Read"), "a").status().to_string(), "unavailable: No cluster leader");
  EXPECT_EQ(router_->call_and_wait(to("Read"), "a").status().to_string(), "unavailable: No cluster leader");
  EXPECT_EQ(reads_, 0);
}

TEST_F(RouterTest, AStaleReadAsksNobody) {
  state::put_rows(store_, table_, {"a||one||"});
  surroundings_.set({.doubts = 1'000'000});
  CallContext context = to("Read");
  context.query.stale = true;

  auto reply = call(std::move(context), "a");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(surroundings_.confirmations(), 0);
}

TEST_F(RouterTest, CountsCalls) {
  ASSERT_TRUE(call(to("Write"), "x"));

  bool has_counted = false;
  for (const Metrics::Value& value : metrics_.values()) {
    if (value.name == "nomad.rpc.Things.write") has_counted = value.value == 1;
  }
  EXPECT_TRUE(has_counted);
}

TEST_F(RouterTest, NestedCallsNeedNoFurtherThread) {
  // Deeper than the pool has workers, and from all of them at once.
  std::vector<std::future<Result<Reply>>> answers;
  for (int i = 0; i < 8; ++i) answers.push_back(start(to("Nest"), "12345"));

  for (auto& answer : answers) {
    auto reply = wait(std::move(answer));
    ASSERT_TRUE(reply) << reply.status().to_string();
    EXPECT_EQ(reply->body, ".....bottom");
  }
}

TEST_F(RouterTest, RefusesCallsOnceItStops) {
  router_->stop();

  EXPECT_EQ(call(to("Write")).status().to_string(), "unavailable: this agent is stopping");
  EXPECT_EQ(router_->call_and_wait(to("Write"), "").status().code(), Code::unavailable);
  EXPECT_EQ(router_->open(to("Talk"), "", {}).status().code(), Code::unavailable);
}

// --- forwarding ----------------------------------------------------------------------------------------------------

TEST_F(RouterTest, ForwardsToTheLeaderWithItsNameInThePath) {
  surroundings_.set({.server_name = "s2", .is_leader = false, .leader_address = "s1:4647"});
  FakePeers peers;
  router_->set_peers(&peers);
  CallContext context = to("Write");
  context.path = {"s3"};
  context.query.token = "secret";

  auto reply = call(context, "x");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "server s1:4647: x");
  EXPECT_EQ(peers.last.path, (std::vector<std::string>{"s3", "s2"}));
  EXPECT_EQ(peers.last.query.token, "secret");
  EXPECT_EQ(peers.last.identity.kind, Identity::Kind::anonymous) << "the proof travels, not the conclusion";
}

TEST_F(RouterTest, RefusesACallThatWentInACircle) {
  CallContext context = to("Write");
  context.path = {"s2", "s1"};

  EXPECT_EQ(call(context).status().to_string(),
            "internal: call /drover.test.Things/Write came back to server s1; it is not forwarded in a loop");
  EXPECT_EQ(router_->call_and_wait(context, "").status().code(), Code::internal);
  context.method = to("Talk").method;
  EXPECT_EQ(router_->open(context, "", {}).status().code(), Code::internal);
}

TEST_F(RouterTest, WaitsForALeaderAndThenGivesUp) {
  surroundings_.set({.is_leader = false, .leader_address = ""});

  EXPECT_EQ(call(to("Write")).status().to_string(), "unavailable: No cluster leader");
  EXPECT_EQ(router_->call_and_wait(to("Write"), "").status().to_string(), "unavailable: No cluster leader");
}

TEST_F(RouterTest, ACallHeldForALeaderGoesOnWhenThereIsOne) {
  router_.reset();
  options_.hold_timeout = kPatience;
  router_ = std::make_unique<Router>(options_, methods_, &store_, surroundings_, pool_, clock_, metrics_);
  surroundings_.set({.is_leader = false, .leader_address = ""});
  auto answer = start(to("Write"), "x");
  const int asked = surroundings_.asked();
  ASSERT_TRUE(eventually([&] { return surroundings_.asked() > asked + 20; })) << "it does not ask again";

  surroundings_.set({});

  auto reply = wait(std::move(answer));
  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "wrote x for acls-disabled");
}

TEST_F(RouterTest, FindsTheNodeThatTheRequestNames) {
  const Uuid node = Uuid::from_bytes("0123456789abcdef");
  FakePeers peers;
  peers.connected = node;
  router_->set_peers(&peers);
  test::ThingRequest request;
  request.set_node("0123456789abcdef");

  auto reply = call(to("OnNode"), request.SerializeAsString());

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "node " + node.to_string());
  EXPECT_EQ(peers.last.path, std::vector<std::string>{"s1"});
}

TEST_F(RouterTest, FindsTheNodeThatRunsWhatTheRequestNames) {
  const Uuid node = Uuid::from_bytes("0123456789abcdef");
  surroundings_.set({.local_node = node, .located = node});
  test::ThingRequest request;
  request.set_on_node("something");
  EXPECT_EQ(call(to("OnNode"), request.SerializeAsString())->body, "here");

  surroundings_.set({.local_node = node});
  EXPECT_EQ(call(to("OnNode"), request.SerializeAsString()).status().to_string(), "not_found: alloc not found");
}

TEST_F(RouterTest, ANodeMethodWithoutTargetIsAnsweredByTheNodeItself) {
  EXPECT_EQ(call(to("OnNode")).status().code(), Code::invalid_argument);

  surroundings_.set({.local_node = Uuid::from_bytes("0123456789abcdef")});
  EXPECT_EQ(call(to("OnNode"))->body, "here");
}

// --- access --------------------------------------------------------------------------------------------------------

TEST_F(RouterTest, AccessControlDecides) {
  FakeAccess access;
  router_->set_access_control(&access);
  CallContext context = to("Write");

  context.query.token = "reader";
  EXPECT_EQ(call(context).status().to_string(), "permission_denied: Permission denied");
  EXPECT_EQ(router_->call_and_wait(context, "").status().code(), Code::permission_denied);

  context.query.token = "writer";
  EXPECT_EQ(call(context, "x")->body, "wrote x for writer");
}

TEST_F(RouterTest, AWrongTokenIsRefusedWithoutItsReason) {
  FakeAccess access;
  router_->set_access_control(&access);
  CallContext context = to("Read");
  context.query.token = "bad";

  EXPECT_EQ(call(context, "a").status().to_string(), "permission_denied: Permission denied");
  EXPECT_EQ(reads_, 0);
  context.method = to("Talk").method;
  EXPECT_EQ(router_->open(context, "", {}).status().to_string(), "permission_denied: Permission denied");
}

TEST_F(RouterTest, ABlockingReadIsRefusedBeforeItWaits) {
  FakeAccess access;
  router_->set_access_control(&access);
  CallContext context = blocking_read();
  context.query.min_index = 1;
  context.query.token = "bad";

  EXPECT_EQ(call(context, "a").status().code(), Code::permission_denied);
}

// --- blocking reads --------------------------------------------------------------------------------------------------

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

  store_.wake_all();

  EXPECT_EQ(wait(std::move(answer)).status().code(), Code::unavailable);
}

TEST_F(RouterTest, ManyBlockingReadsNeedNoThread) {
  state::put_rows(store_, table_, {"a||one||"});
  std::vector<std::future<Result<Reply>>> answers;
  for (int i = 0; i < 50; ++i) answers.push_back(start(blocking_read(), "a"));
  ASSERT_TRUE(eventually([this] { return store_.waiters() == 50; }));
  EXPECT_EQ(call(to("Write"), "x")->body, "wrote x for acls-disabled") << "the pool has two workers";

  state::put_rows(store_, table_, {"a||two||"});

  for (auto& answer : answers) EXPECT_EQ(wait(std::move(answer))->body, "a||two||");
}

TEST_F(RouterTest, ABlockingReadOfSomethingMissingFailsAtOnce) {
  state::put_rows(store_, table_, {"b||one||"});

  EXPECT_EQ(call(blocking_read(), "a").status().to_string(), "not_found: no thing named a");
}

// --- streams ---------------------------------------------------------------------------------------------------------

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
  Listener listener;
  auto stream = router_->open(to("Talk"), "", listener.receiver());
  ASSERT_TRUE(stream) << stream.status().to_string();

  ASSERT_TRUE(listener.hears(1));
  EXPECT_EQ(router_->open(to("Talk"), "", Listener().receiver()).status().to_string(),
            "resource_exhausted: too many streams are open (limit 1)");
  stream->reset();
  EXPECT_EQ(listener.outcome(), "cancelled: the caller has gone");
}

// --- declarations ----------------------------------------------------------------------------------------------------

TEST(MethodTable, BindsEveryMethodOfAServiceOrNone) {
  const UnaryHandler unary = [](std::string_view, Call&) -> Result<std::string> { return std::string(); };
  const StreamHandler stream = [](std::string_view, Call&, MessageStream&) { return ok_status(); };
  const auto all = [&](std::vector<std::string> names, bool talks) {
    std::vector<MethodBinding> bindings;
    for (std::string& name : names) bindings.push_back({std::move(name), unary, {}});
    bindings.push_back({"Talk", talks ? UnaryHandler() : unary, talks ? stream : StreamHandler()});
    return bindings;
  };
  MethodTable methods;

  EXPECT_EQ(methods.add_service("a", "drover.test.Nothing", {}).to_string(),
            "invalid_argument: service drover.test.Nothing: no such service in the messages that this plugin carries");
  EXPECT_EQ(methods.add_service("a", "drover.test.Things", all({"Read", "Write", "Local", "OnNode"}, true)).to_string(),
            "invalid_argument: service drover.test.Things, method Nest: has no handler");
  EXPECT_EQ(methods.add_service("a", "drover.test.Things", all({"Read", "Write", "Local", "Nest", "OnNode"}, false))
                .to_string(),
            "invalid_argument: service drover.test.Things, method Talk: the handler is unary, the declaration is not");
  EXPECT_EQ(
      methods.add_service("a", "drover.test.Things", all({"Read", "Write", "Local", "Nest", "OnNode", "Sing"}, true))
          .to_string(),
      "invalid_argument: service drover.test.Things: has no method named Sing");
  EXPECT_TRUE(methods.all().empty());

  EXPECT_TRUE(
      methods.add_service("a", "drover.test.Things", all({"Read", "Write", "Local", "Nest", "OnNode"}, true)).ok());
  EXPECT_EQ(methods.all().size(), 6u);
  EXPECT_EQ(methods.add_service("b", "drover.test.Things", all({"Read", "Write", "Local", "Nest", "OnNode"}, true))
                .to_string(),
            "already_exists: service drover.test.Things, method Read: is already answered by plugin a");
}

TEST(MethodTable, RefusesAServiceThatDeclaresNoRoute) {
  MethodTable methods;

  EXPECT_EQ(methods.add_service("a", "drover.test.Undeclared", {{"Do", {}, {}}}).to_string(),
            "invalid_argument: service drover.test.Undeclared, method Do: declares no route; add option (drover.route) "
            "with target and kind");
}

}  // namespace
}  // namespace drover::rpc
