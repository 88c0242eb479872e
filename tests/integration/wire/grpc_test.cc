// A server and an agent in one process, over 127.0.0.1.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "kernel/rpc/router.h"
#include "plugins/grpc/wire.h"
#include "tests/integration/wire/echo.pb.h"

namespace drover::wire {
namespace {

using namespace std::chrono_literals;
using testing::EchoMessage;

SteadyTime in(std::chrono::nanoseconds time) { return SystemClock().steady() + time; }

class World final : public rpc::Environment {
 public:
  std::string region() const override { return "global"; }
  std::string server_name() const override { return server ? name : ""; }
  bool is_server() const override { return server; }
  bool has_started(std::string_view) const override { return true; }
  bool is_leader() const override { return server; }
  bool is_ready() const override { return server; }
  void confirm_leadership(SteadyTime, std::function<void(Status)> done) override { done(ok_status()); }
  std::string leader_address() const override { return ""; }
  std::optional<std::string> server_address(std::string_view) const override { return std::nullopt; }
  std::string unvisited_server(const std::vector<std::string>&) const override { return {}; }
  std::string any_server_address() const override {
    std::lock_guard lock(mutex);
    return address;
  }
  std::optional<Uuid> local_node() const override { return node; }
  std::chrono::nanoseconds last_contact() const override { return 0ns; }
  Result<Uuid> locate(std::string_view) const override { return not_found("nothing is known here"); }
  uint64_t term() const override { return 1; }
  std::stop_token leadership() const override { return {}; }
  void propose(std::string_view, std::string_view, std::string, SteadyTime, uint64_t,
               std::function<void(Result<Applied>)> done) override {
    done(unavailable("nothing is written here"));
  }

  bool server = false;
  std::string name = "one";
  std::optional<Uuid> node;
  mutable std::mutex mutex;
  std::string address;  // guarded by mutex
};

// One process: router, handlers, and its ways in and out.
class Side {
 public:
  explicit Side(bool server, std::optional<Uuid> node = std::nullopt, const WireLimits& limits = {})
      : wire(make_grpc_wire(std::make_shared<WireLimits>(limits))) {
    world.server = server;
    world.node = node;
    const auto unary = [this](bool waits) {
      return [this, waits](std::string_view bytes, Call& call) { return answer(bytes, call, waits); };
    };
    const auto stream = [this](std::string_view bytes, Call& call, MessageStream& messages) {
      return talk(bytes, call, messages);
    };
    Status added = methods.add_service("test", "drover.testing.Echo",
                                       {{"Say", unary(false), {}},
                                        {"Wait", unary(true), {}},
                                        {"Talk", {}, stream},
                                        {"NodeSay", unary(false), {}},
                                        {"NodeObey", unary(false), {}},
                                        {"NodeWait", unary(true), {}},
                                        {"NodeTalk", {}, stream}});
    EXPECT_TRUE(added.ok()) << added.to_string();
    wire->start({.router = router,
                 .form_of = [this](std::string_view name) { return form_of(name); },
                 .executor = pool,
                 .clock = clock,
                 .verify_node =
                     [](const Uuid&, const std::string& secret) {
                       return secret == "right" ? ok_status() : permission_denied("wrong secret");
                     },
                 .unreachable = [this](const std::string&) { ++unreachable; }});
    router.set_peers(wire.get());
  }
  ~Side() {
    router.stop();
    wire->stop();
    pool.stop();
  }

  MethodForm form_of(std::string_view name) const {
    const rpc::Method* method = methods.find(name);
    if (!method) return MethodForm::unknown;
    return method->streaming ? MethodForm::streaming : MethodForm::unary;
  }
  Status listen(const std::string& address = "127.0.0.1:0") { return wire->listen(address, "ports.rpc"); }
  void use(const std::string& address) {
    std::lock_guard lock(world.mutex);
    world.address = address;
  }
  void attach(std::string secret) {
    wire->attach(
        {.node = *world.node, .secret = std::move(secret), .server = [this] { return world.any_server_address(); }});
  }

  Result<std::string> answer(std::string_view bytes, Call& call, bool waits) {
    DROVER_TRY(auto request, parse_message<EchoMessage>(bytes));
    if (waits) {
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      ++waiting;
      never.wait_until(lock, call.stop(), in(20s), [] { return false; });
      if (call.stop().stop_requested()) ++stopped;
      return cancelled("stopped");
    }
    if (request.text() == "fail") return not_found("no \"such\" thing\n").with_details("the details");
    if (request.count() > 0) request.set_text(std::string(static_cast<size_t>(request.count()), 'x'));
    call.set_index(42);
    call.set_next_token("more");
    return request.SerializeAsString();
  }

  Status talk(std::string_view bytes, Call&, MessageStream& messages) {
    DROVER_TRY(auto request, parse_message<EchoMessage>(bytes));
    for (int i = 0; i < request.count(); ++i) {
      EchoMessage message;
      message.set_count(i);
      message.set_text(std::string(1000, 'y'));
      if (!messages.send(message.SerializeAsString())) {
        ++stopped;
        return cancelled("the caller has gone");
      }
    }
    ++waiting;
    while (auto message = messages.receive(in(20s))) {
      if (!messages.send(*std::move(message))) break;
    }
    ++ended;
    if (request.text() == "fail") return failed_precondition("at the end").with_details("the details");
    return ok_status();
  }

  SystemClock clock;
  Metrics metrics;
  World world;
  rpc::MethodTable methods;
  ThreadPool pool{ThreadPool::Options{.workers = 4}, clock};
  std::atomic<int> waiting{0}, stopped{0}, ended{0}, unreachable{0};
  rpc::Router router{rpc::Router::Options{.hold_timeout = 1s}, methods, nullptr, world, pool, clock, metrics};
  const std::unique_ptr<Wire> wire;
};

CallContext to(const std::string& method) {
  CallContext context;
  context.method = "/drover.testing.Echo/" + method;
  context.query.region = "global";
  context.deadline = in(10s);
  return context;
}

std::string request(std::string text, int count = 0, const std::optional<Uuid>& node = std::nullopt) {
  EchoMessage message;
  message.set_text(std::move(text));
  message.set_count(count);
  if (node) message.set_node(node->bytes());
  return message.SerializeAsString();
}

// Looks until it is so; the pool's clock tells it to look again.
bool eventually(const std::function<bool()>& is_so) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  for (const SteadyTime until = in(15s); SystemClock().steady() < until;) {
    if (is_so()) return true;
    never.wait_for(lock, 2ms);
  }
  return false;
}

// The events that a streaming call's caller saw.
struct Seen {
  ~Seen() {  // the call is dropped by now, and says so
    release();
    if (opened) (void)wait_closed();
  }
  StreamReceiver receiver() {
    opened = true;
    return {.message =
                [this](std::string message) {
                  std::unique_lock lock(mutex);
                  changed.wait_for(lock, 10s, [this] { return !held; });
                  messages.push_back(std::move(message));
                  changed.notify_all();
                  return messages.size() < enough;
                },
            .closed =
                [this](Status status) {
                  std::lock_guard lock(mutex);
                  closed = std::move(status);
                  changed.notify_all();
                }};
  }
  bool wait_for(size_t count) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, 10s, [&] { return messages.size() >= count; });
  }
  Status wait_closed() {
    std::unique_lock lock(mutex);
    if (!changed.wait_for(lock, 10s, [&] { return closed.has_value(); })) return internal_error("never closed");
    return *closed;
  }
  void release() {
    std::lock_guard lock(mutex);
    held = false;
    changed.notify_all();
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> messages;
  std::optional<Status> closed;
  size_t enough = 1'000'000;
  bool opened = false;
  bool held = false;
};

class Grpc : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server->listen().ok());
    address = server->wire->address();
    agent.use(address);
  }
  void attach() {
    agent.attach("right");
    ASSERT_TRUE(eventually([&] { return server->wire->has_node(node); }));
  }

  const Uuid node = Uuid::random();
  std::unique_ptr<Side> server = std::make_unique<Side>(true);
  Side agent{false, node};
  std::string address;
};

TEST_F(Grpc, UnaryCallsCarryBodyAndMeta) {
  auto reply = agent.router.call_and_wait(to("Say"), request("hello"));
  ASSERT_TRUE(reply.ok()) << reply.status().to_string();
  EXPECT_EQ(reply->body, request("hello"));
  EXPECT_EQ(reply->meta.index, 42u);
  EXPECT_EQ(reply->meta.next_token, "more");
  EXPECT_TRUE(reply->meta.known_leader);
  auto empty = agent.router.call_and_wait(to("Say"), "");
  ASSERT_TRUE(empty.ok()) << empty.status().to_string();
  EXPECT_EQ(empty->body, "");
}

TEST_F(Grpc, ErrorsCarryCodeTextAndDetails) {
  auto reply = agent.router.call_and_wait(to("Say"), request("fail"));
  EXPECT_EQ(reply.status(), not_found("no \"such\" thing\n").with_details("the details"));
}

TEST_F(Grpc, ManyCallsAtOnce) {
  std::atomic<int> good{0};
  for (int i = 0; i < 200; ++i) {
    agent.router.call(to("Say"), request("n", i), [&](const Result<Reply>& reply) { good += reply.ok() ? 1 : 0; });
  }
  EXPECT_TRUE(eventually([&] { return good == 200; })) << good;
}

TEST_F(Grpc, StreamsGoBothWays) {
  Seen seen;
  auto call = agent.router.open(to("Talk"), request("", 3), seen.receiver());
  ASSERT_TRUE(call.ok()) << call.status().to_string();
  EXPECT_TRUE((*call)->send("one"));
  EXPECT_TRUE((*call)->send("two"));
  (*call)->close_sending();
  EXPECT_TRUE(seen.wait_closed().ok()) << seen.wait_closed().to_string();
  ASSERT_EQ(seen.messages.size(), 5u);
  EXPECT_EQ(seen.messages[3], "one");
  EXPECT_EQ(seen.messages[4], "two");
}

TEST_F(Grpc, StreamsEndWithTheirStatus) {
  Seen seen;
  auto call = agent.router.open(to("Talk"), request("fail"), seen.receiver());
  ASSERT_TRUE(call.ok());
  (*call)->close_sending();
  EXPECT_EQ(seen.wait_closed(), failed_precondition("at the end").with_details("the details"));
}

TEST_F(Grpc, CancellingReachesTheHandler) {
  std::stop_source stop;
  CallContext context = to("Wait");
  context.stop = stop.get_token();
  std::atomic<bool> done{false};
  agent.router.call(context, request(""), [&](const Result<Reply>& reply) {
    EXPECT_EQ(reply.status().code(), Code::cancelled);
    done = true;
  });
  ASSERT_TRUE(eventually([&] { return server->waiting == 1; }));
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return done && server->stopped == 1; }));

  Seen seen;
  auto call = agent.router.open(to("Talk"), request(""), seen.receiver());
  ASSERT_TRUE(call.ok());
  ASSERT_TRUE(eventually([&] { return server->waiting == 2; }));
  call->reset();  // dropping it cancels
  EXPECT_TRUE(eventually([&] { return server->ended == 1; }));
  EXPECT_EQ(seen.wait_closed().code(), Code::cancelled);
}

TEST_F(Grpc, DeadlineReachesTheHandler) {
  CallContext context = to("Wait");
  context.deadline = in(200ms);
  auto reply = agent.router.call_and_wait(context, request(""));
  EXPECT_EQ(reply.status().code(), Code::deadline_exceeded) << reply.status().to_string();
  EXPECT_TRUE(eventually([&] { return server->stopped == 1; }));
}

TEST_F(Grpc, ADeadlineThatGrpcDoesNotKnowEndsTheCallToo) {
  Side patient(false, std::nullopt, {.near_deadline = 0ns});
  patient.use(address);
  CallContext context = to("Wait");
  context.deadline = in(200ms);
  const auto reply = patient.router.call_and_wait(context, request(""));
  EXPECT_EQ(reply.status().code(), Code::deadline_exceeded) << reply.status().to_string();
  EXPECT_TRUE(eventually([&] { return server->stopped == 1; })) << "the handler waits for nobody";
  const auto quick = patient.router.call_and_wait(to("Say"), request("hello"));
  EXPECT_TRUE(quick.ok()) << quick.status().to_string();
}

TEST_F(Grpc, OversizedMessagesAreRefused) {
  auto sent = agent.router.call_and_wait(to("Say"), std::string(17 << 20, 'x'));
  EXPECT_EQ(sent.status().code(), Code::resource_exhausted) << sent.status().to_string();
  auto answered = agent.router.call_and_wait(to("Say"), request("", 17 << 20));
  EXPECT_EQ(answered.status().code(), Code::resource_exhausted) << answered.status().to_string();
  auto fits = agent.router.call_and_wait(to("Say"), request("", 15 << 20));
  EXPECT_TRUE(fits.ok()) << fits.status().to_string();
}

TEST_F(Grpc, NobodyThereIsUnavailable) {
  agent.use("127.0.0.1:1");
  auto reply = agent.router.call_and_wait(to("Say"), request("hello"));
  EXPECT_EQ(reply.status().code(), Code::unavailable) << reply.status().to_string();
  EXPECT_EQ(agent.unreachable, 1);
}

TEST_F(Grpc, APortInUseIsToldByItsOption) {
  Side second(true);
  Status status = second.listen(address);
  EXPECT_EQ(status.code(), Code::failed_precondition);
  EXPECT_NE(status.message().find(address), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("ports.rpc"), std::string::npos) << status.message();
}

TEST_F(Grpc, OneAddressHasSoManyConnections) {
  Side limited(true, std::nullopt, {.connections_per_address = 1});
  ASSERT_TRUE(limited.listen().ok());
  agent.use(limited.wire->address());
  Seen seen;
  auto talk = agent.router.open(to("Talk"), request("", 1), seen.receiver());
  ASSERT_TRUE(talk.ok());
  ASSERT_TRUE(seen.wait_for(1));
  std::mutex mutex;
  std::vector<Code> refusals;
  auto lane = agent.wire->open_lane(limited.wire->address(), "another connection", "hello",
                                    {.open = [] {},
                                     .broken =
                                         [&](const Status& why, bool) {
                                           std::lock_guard lock(mutex);
                                           refusals.push_back(why.code());
                                         }});
  const auto last = [&] {
    std::lock_guard lock(mutex);
    return refusals.empty() ? Code::ok : refusals.back();
  };

  EXPECT_TRUE(eventually([&] { return last() == Code::resource_exhausted; }));
  EXPECT_TRUE(agent.router.call_and_wait(to("Say"), request("hello")).ok()) << "a further call over a connection";

  (*talk)->cancel();
  EXPECT_TRUE(eventually([&] { return last() != Code::resource_exhausted; })) << "its place is free";
  lane.reset();
}

TEST_F(Grpc, ServersCallNodesBack) {
  EXPECT_EQ(server->router.call_and_wait(to("NodeSay"), request("hello", 0, node)).status().code(), Code::not_found);
  attach();
  auto reply = server->router.call_and_wait(to("NodeSay"), request("hello", 0, node));
  ASSERT_TRUE(reply.ok()) << reply.status().to_string();
  EXPECT_EQ(reply->body, request("hello", 0, node));
  auto failed = server->router.call_and_wait(to("NodeSay"), request("fail", 0, node));
  EXPECT_EQ(failed.status(), not_found("no \"such\" thing\n").with_details("the details"));
}

TEST_F(Grpc, ANodeObeysServersAndNobodyWhoAsksThem) {
  attach();
  ASSERT_TRUE(server->router.call_and_wait(to("NodeSay"), request("hello", 0, node)).ok());
  CallContext context = to("NodeObey");
  EXPECT_EQ(server->router.call_and_wait(context, request("hello", 0, node)).status().code(), Code::permission_denied);
  context.from_server = true;
  const auto obeyed = server->router.call_and_wait(context, request("hello", 0, node));
  EXPECT_TRUE(obeyed.ok()) << obeyed.status().to_string();
}

TEST_F(Grpc, ServersStreamFromNodes) {
  attach();
  Seen seen;
  auto call = server->router.open(to("NodeTalk"), request("fail", 500, node), seen.receiver());
  ASSERT_TRUE(call.ok()) << call.status().to_string();
  EXPECT_TRUE((*call)->send("one"));
  EXPECT_TRUE((*call)->send("two"));
  (*call)->close_sending();
  EXPECT_EQ(seen.wait_closed(), failed_precondition("at the end").with_details("the details"));
  ASSERT_EQ(seen.messages.size(), 502u);
  EXPECT_EQ(seen.messages.back(), "two");
}

TEST_F(Grpc, ASlowReaderDelaysNobodyElse) {
  attach();
  Seen slow;
  slow.held = true;
  auto call = server->router.open(to("NodeTalk"), request("", 5000, node), slow.receiver());
  ASSERT_TRUE(call.ok());
  for (int i = 0; i < 20; ++i) {
    auto reply = server->router.call_and_wait(to("NodeSay"), request("hello", 0, node));
    ASSERT_TRUE(reply.ok()) << reply.status().to_string();
  }
  Seen quick;
  auto other = server->router.open(to("NodeTalk"), request("", 10, node), quick.receiver());
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(quick.wait_for(10));
  EXPECT_TRUE(eventually([&] { return agent.waiting == 1; }));  // the slow one's handler still waits to send
  slow.release();
  EXPECT_TRUE(slow.wait_for(5000));
}

TEST_F(Grpc, EndingACallReachesTheNode) {
  attach();
  CallContext context = to("NodeWait");
  context.deadline = in(200ms);
  EXPECT_EQ(server->router.call_and_wait(context, request("", 0, node)).status().code(), Code::deadline_exceeded);
  EXPECT_TRUE(eventually([&] { return agent.stopped == 1; }));

  std::stop_source stop;
  context = to("NodeWait");
  context.stop = stop.get_token();
  std::atomic<bool> done{false};
  server->router.call(context, request("", 0, node), [&](const Result<Reply>& reply) {
    EXPECT_EQ(reply.status().code(), Code::cancelled);
    done = true;
  });
  ASSERT_TRUE(eventually([&] { return agent.waiting == 2; }));
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return done && agent.stopped == 2; }));

  Seen seen;
  seen.enough = 2;  // the receiver wants no more
  auto call = server->router.open(to("NodeTalk"), request("", 5000, node), seen.receiver());
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(seen.wait_closed().code(), Code::cancelled);
  EXPECT_TRUE(eventually([&] { return agent.stopped == 3; }));
}

TEST_F(Grpc, AWrongSecretDoesNotAttach) {
  agent.attach("wrong");
  EXPECT_FALSE(server->wire->has_node(node));
  Side honest(false, node);
  honest.use(address);
  honest.attach("right");
  EXPECT_TRUE(eventually([&] { return server->wire->has_node(node); }));
}

TEST_F(Grpc, ALostConnectionFailsWhatIsOpenAndComesBack) {
  attach();
  Seen seen;
  auto call = server->router.open(to("NodeTalk"), request("", 1, node), seen.receiver());
  ASSERT_TRUE(call.ok());
  ASSERT_TRUE(seen.wait_for(1));
  std::atomic<bool> failed{false};
  server->router.call(to("NodeWait"), request("", 0, node), [&](const Result<Reply>& reply) { failed = !reply.ok(); });
  ASSERT_TRUE(eventually([&] { return agent.waiting == 2; }));

  server->wire->stop();
  EXPECT_TRUE(eventually([&] { return failed.load(); }));
  EXPECT_EQ(seen.wait_closed().code(), Code::unavailable);
  EXPECT_TRUE(eventually([&] { return agent.stopped == 1 && agent.ended == 1; }));
  EXPECT_FALSE(server->wire->has_node(node));
  call->reset();

  server = std::make_unique<Side>(true);
  ASSERT_TRUE(server->listen(address).ok());
  EXPECT_TRUE(eventually([&] { return server->wire->has_node(node); }));
  auto reply = server->router.call_and_wait(to("NodeSay"), request("hello", 0, node));
  EXPECT_TRUE(reply.ok()) << reply.status().to_string();
  EXPECT_TRUE(eventually([&] { return agent.router.call_and_wait(to("Say"), request("again")).ok(); }));
}

TEST_F(Grpc, StoppingEndsWhatIsOpen) {
  attach();
  std::atomic<int> ended{0};
  agent.router.call(to("Wait"), request(""), [&](const Result<Reply>& reply) { ended += reply.ok() ? 0 : 1; });
  ASSERT_TRUE(eventually([&] { return server->waiting == 1; }));
  Seen seen;
  auto call = agent.router.open(to("Talk"), request("", 1), seen.receiver());
  ASSERT_TRUE(call.ok());
  ASSERT_TRUE(seen.wait_for(1));
  agent.wire->stop();
  EXPECT_EQ(ended, 1);
  EXPECT_FALSE(seen.wait_closed().ok());
  EXPECT_EQ(agent.router.call_and_wait(to("Say"), request("late")).status().code(), Code::unavailable);
}

}  // namespace
}  // namespace drover::wire
