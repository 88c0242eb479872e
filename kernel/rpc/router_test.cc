#include "drover/reply_meta.h"
#include "kernel/rpc/test_support.h"

namespace drover::rpc {
namespace {

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
  EXPECT_EQ(reply->body, "applied x for acls-disabled");
  EXPECT_TRUE(reply->meta.known_leader);
  EXPECT_EQ(reply->meta.last_contact, 7ms);
}

TEST_F(RouterTest, KeepsTheErrorOfTheHandler) {
  EXPECT_EQ(call(to("Local"), "x").status().to_string(), "failed_precondition: local x");
  EXPECT_EQ(call(to("Read"), "a").status().to_string(), "not_found: no thing named a");
}

TEST_F(RouterTest, SaysWhatTheStateKnewWhereARowIsNotThere) {
  const auto meta = meta_of(call(to("Read"), "a").status());

  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->index, store_.index());
  EXPECT_EQ(meta->last_contact, 7ms);
  EXPECT_TRUE(meta->known_leader);
  EXPECT_FALSE(meta_of(call(to("Local"), "x").status())) << "it was there, and refused";
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

TEST_F(RouterTest, WhatAMethodWouldIgnoreIsRefused) {
  const std::string no_filter = "invalid_argument: this answer takes no filter; leave it out";
  const std::string no_pages =
      "invalid_argument: this answer is not divided into pages; leave out per_page and next_token";
  const auto refusal = [this](const std::string& method, QueryOptions query) {
    CallContext context = to(method);
    context.query = std::move(query);
    return call(std::move(context), "a").status().to_string();
  };
  EXPECT_EQ(refusal("Read", {.filter = "ID == 7"}), no_filter);
  EXPECT_EQ(refusal("Local", {.filter = "ID == 7"}), no_filter);
  EXPECT_EQ(refusal("Local", {.per_page = 2}), no_pages);
  EXPECT_EQ(refusal("Local", {.next_token = "a"}), no_pages);
  EXPECT_EQ(refusal("Local", {}), "failed_precondition: local a") << "the handler's own answer";
  state::put_rows(store_, table_, {"a||one||"});
  EXPECT_EQ(refusal("Read", {.per_page = 2, .next_token = "a"}), "ok");
}

TEST_F(RouterTest, AWriteIsProposedAndAnsweredFromWhatWasApplied) {
  auto reply = call(to("Write"), "x");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->meta.index, 42u);
  EXPECT_EQ(environment_.proposed(), std::vector<std::string>{"things drover.test.Written x in term 3"});
}

TEST_F(RouterTest, AWriteThatFindsNothingToWriteIsAnsweredAtOnce) {
  state::put_rows(store_, table_, {"a||one||"});

  auto reply = call(to("Write"), "nothing");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "nothing");
  EXPECT_EQ(reply->meta.index, 1u);
  EXPECT_TRUE(environment_.proposed().empty());
}

TEST_F(RouterTest, WhatTheLogRefusesIsTheAnswerOfAWrite) {
  environment_.answer_proposals_with({failed_precondition("no")});

  EXPECT_EQ(call(to("Write"), "x").status().to_string(), "failed_precondition: no");
  EXPECT_EQ(decisions_, 1);
}

TEST_F(RouterTest, AWriteDecidedInAnEarlierTermIsDecidedAgain) {
  environment_.answer_proposals_with({aborted("the term is over")});
  environment_.begin_term_at_next_proposal(4);

  auto reply = call(to("Write"), "x");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(decisions_, 2);
  EXPECT_EQ(environment_.proposed(), (std::vector<std::string>{"things drover.test.Written x in term 3",
                                                               "things drover.test.Written x in term 4"}));
}

TEST_F(RouterTest, AWriteThatNeverEnteredTheLogGoesToTheNewLeader) {
  FakePeers peers;
  router_->set_peers(&peers);
  environment_.answer_proposals_with({unavailable("not the leader")});
  environment_.lose_leadership_at_next_proposal("s2:4647");

  auto reply = call(to("Write"), "x");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "server s2:4647: x");
}

TEST_F(RouterTest, ManyWritesUnderWayNeedNoThread) {
  environment_.hold_proposals();
  std::vector<std::future<Result<Reply>>> answers;
  for (int i = 0; i < 50; ++i) answers.push_back(start(to("Write"), "x"));
  ASSERT_TRUE(eventually([this] { return environment_.proposed().size() == 50; })) << "the pool has two workers";

  environment_.apply_held_proposals();

  for (auto& answer : answers) EXPECT_EQ(wait(std::move(answer))->body, "applied x for acls-disabled");
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
  environment_.set({.has_started = false});

  EXPECT_EQ(call(to("Write")).status().to_string(), "unavailable: this agent is starting");
  EXPECT_EQ(router_->call_and_wait(to("Write"), "").status().to_string(), "unavailable: this agent is starting");
  EXPECT_EQ(router_->open(to("Talk"), "", {}).status().to_string(), "unavailable: this agent is starting");
}

TEST_F(RouterTest, AReadIsAnsweredByALeaderBeyondDoubt) {
  state::put_rows(store_, table_, {"a||one||"});
  environment_.set({.doubts = 2});

  auto reply = call(to("Read"), "a");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "a||one||");
  EXPECT_EQ(environment_.confirmations(), 3);
}

TEST_F(RouterTest, ALeaderThatCannotConfirmItAnswersNoRead) {
  state::put_rows(store_, table_, {"a||one||"});
  environment_.set({.doubts = 1'000'000});

  EXPECT_EQ(call(to("Read"), "a").status().to_string(), "unavailable: No cluster leader");
  EXPECT_EQ(router_->call_and_wait(to("Read"), "a").status().to_string(), "unavailable: No cluster leader");
  EXPECT_EQ(reads_, 0);
}

TEST_F(RouterTest, AStaleReadAsksNobody) {
  state::put_rows(store_, table_, {"a||one||"});
  environment_.set({.doubts = 1'000'000});
  CallContext context = to("Read");
  context.query.stale = true;

  auto reply = call(std::move(context), "a");

  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(environment_.confirmations(), 0);
}

TEST_F(RouterTest, CountsEachCallOnce) {
  ASSERT_TRUE(call(to("Write"), "x"));
  CallContext waits = blocking_read();  // is authorized again when it wakes
  waits.query.max_wait = 20ms;
  ASSERT_TRUE(call(waits, ""));

  std::map<std::string, double> counted;
  for (const Metrics::Value& value : metrics_.values()) counted[value.name] += value.value;
  EXPECT_EQ(counted["nomad.nomad.rpc.Things.write"], 1);
  EXPECT_EQ(counted["nomad.nomad.rpc.Things.list"], 1);
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
  environment_.set({.server_name = "s2", .is_leader = false, .leader_address = "s1:4647"});
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
  environment_.set({.is_leader = false, .leader_address = ""});

  EXPECT_EQ(call(to("Write")).status().to_string(), "unavailable: No cluster leader");
  EXPECT_EQ(router_->call_and_wait(to("Write"), "").status().to_string(), "unavailable: No cluster leader");
}

TEST_F(RouterTest, ACallHeldForALeaderGoesOnWhenThereIsOne) {
  router_.reset();
  options_.hold_timeout = kPatience;
  router_ = std::make_unique<Router>(options_, methods_, &store_, environment_, pool_, clock_, metrics_);
  environment_.set({.is_leader = false, .leader_address = ""});
  auto answer = start(to("Write"), "x");
  const int asked = environment_.asked();
  ASSERT_TRUE(eventually([&] { return environment_.asked() > asked + 20; })) << "it does not ask again";

  environment_.set({});

  auto reply = wait(std::move(answer));
  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "applied x for acls-disabled");
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
  environment_.set({.local_node = node, .located = node});
  test::ThingRequest request;
  request.set_on_node("fedcba9876543210");
  EXPECT_EQ(call(to("OnNode"), request.SerializeAsString())->body, "here");

  environment_.set({.local_node = node});
  EXPECT_EQ(call(to("OnNode"), request.SerializeAsString()).status().to_string(),
            "not_found: nothing is called fedcba9876543210");
}

TEST_F(RouterTest, ANodeMethodWithoutTargetIsAnsweredByTheNodeItself) {
  EXPECT_EQ(call(to("OnNode")).status().code(), Code::invalid_argument);

  environment_.set({.local_node = Uuid::from_bytes("0123456789abcdef")});
  EXPECT_EQ(call(to("OnNode"))->body, "here");
}

TEST_F(RouterTest, ALocalMethodIsAnsweredByTheAgentThatTheRequestNames) {
  const Uuid node = Uuid::from_bytes("0123456789abcdef");
  FakePeers peers;
  peers.connected = node;
  router_->set_peers(&peers);
  EXPECT_EQ(call(to("Local")).status().message(), "local ");
  test::ThingRequest on_server;
  on_server.set_server("s7");
  EXPECT_EQ(call(to("Local"), on_server.SerializeAsString())->body, "server s7:4647: " + on_server.SerializeAsString());
  on_server.set_server("s8");
  EXPECT_EQ(call(to("Local"), on_server.SerializeAsString()).status(), not_found("unknown server s8"));
  test::ThingRequest on_node;
  on_node.set_node(node.bytes());
  EXPECT_EQ(call(to("Local"), on_node.SerializeAsString())->body, "node " + node.to_string());
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
  EXPECT_EQ(call(context, "x")->body, "applied x for writer");
}

TEST_F(RouterTest, AuditorsHearWhatWasAnswered) {
  FakeAccess access;
  FakeAuditor auditor;
  router_->set_access_control(&access);
  router_->add_auditor(auditor);
  CallContext context = to("Write");
  context.query.token = "writer";
  EXPECT_TRUE(call(context, "x").ok());
  context.query.token = "reader";
  EXPECT_FALSE(call(context, "y").ok());
  EXPECT_FALSE(call(to("Local")).ok());
  const std::vector<std::string> heard = auditor.heard();
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_EQ(heard[0], "Write writer x: ok");
  EXPECT_EQ(heard[1], "Write reader y: permission_denied: Permission denied");
  EXPECT_EQ(heard[2], "Local  : failed_precondition: local ");
}

TEST_F(RouterTest, ACallThatAnotherServerAnswersInTheEndIsAuditedThere) {
  FakeAuditor auditor;
  router_->add_auditor(auditor);
  FakePeers peers;
  router_->set_peers(&peers);
  environment_.answer_proposals_with({unavailable("not the leader")});
  environment_.lose_leadership_at_next_proposal("s2:4647");
  const auto reply = call(to("Write"), "x");
  ASSERT_TRUE(reply) << reply.status().to_string();
  EXPECT_EQ(reply->body, "server s2:4647: x");
  EXPECT_TRUE(auditor.heard().empty());
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

TEST_F(RouterTest, WhatServersAskOfEachOtherIsNotPassedOnForOthers) {
  FakeAccess access;
  router_->set_access_control(&access);
  FakePeers peers;
  router_->set_peers(&peers);
  environment_.set({.is_leader = false, .leader_address = "leader:4647"});
  CallContext context = to("BetweenServers");
  context.query.token = "writer";
  EXPECT_EQ(call(context).status().to_string(), "permission_denied: Permission denied");
  context.from_server = true;
  EXPECT_EQ(call(context)->body, "server leader:4647: ");
}

TEST_F(RouterTest, ABlockingReadIsRefusedBeforeItWaits) {
  FakeAccess access;
  router_->set_access_control(&access);
  CallContext context = blocking_read();
  context.query.min_index = 1;
  context.query.token = "bad";

  EXPECT_EQ(call(context, "a").status().code(), Code::permission_denied);
}

// --- declarations ----------------------------------------------------------------------------------------------------

TEST(MethodTable, BindsEveryMethodOfAServiceOrNone) {
  const UnaryHandler unary = [](std::string_view, Call&) -> Result<std::string> { return std::string(); };
  const WriteHandler write = [](std::string_view, Call&) -> Result<Decision> { return Decision(); };
  const StreamHandler stream = [](std::string_view, Call&, MessageStream&) { return ok_status(); };
  const auto all = [&](std::vector<std::string> names, bool talks) {
    std::vector<MethodBinding> bindings;
    for (std::string& name : names) {
      const bool writes = name == "Write";
      bindings.push_back({std::move(name), writes ? UnaryHandler() : unary, {}, writes ? write : WriteHandler()});
    }
    bindings.push_back({"Talk", talks ? UnaryHandler() : unary, talks ? stream : StreamHandler(), {}});
    return bindings;
  };
  const std::vector<std::string> kUnary = {"Read", "Write", "BetweenServers", "Local", "Nest", "OnNode"};
  MethodTable methods;

  EXPECT_EQ(methods.add_service("a", "drover.test.Nothing", {}).to_string(),
            "invalid_argument: service drover.test.Nothing: no such service in the messages that this plugin carries");
  const std::vector<std::string> too_few = {"Read", "Write", "BetweenServers", "Local", "OnNode"};
  EXPECT_EQ(methods.add_service("a", "drover.test.Things", all(too_few, true)).to_string(),
            "invalid_argument: service drover.test.Things, method Nest: has no handler");
  EXPECT_EQ(methods.add_service("a", "drover.test.Things", all(kUnary, false))
                .to_string(),
            "invalid_argument: service drover.test.Things, method Talk: the handler is unary, the declaration is not");
  const std::vector<std::string> too_many = {"Read", "Write", "BetweenServers", "Local", "Nest", "OnNode", "Sing"};
  EXPECT_EQ(
      methods.add_service("a", "drover.test.Things", all(too_many, true)).to_string(),
      "invalid_argument: service drover.test.Things: has no method named Sing");
  EXPECT_TRUE(methods.all().empty());

  EXPECT_TRUE(
      methods.add_service("a", "drover.test.Things", all(kUnary, true)).ok());
  EXPECT_EQ(methods.all().size(), 7u);
  EXPECT_EQ(methods.add_service("b", "drover.test.Things", all(kUnary, true))
                .to_string(),
            "already_exists: service drover.test.Things, method Read: is already answered by plugin a");
}

TEST(MethodTable, AHandlersFormMustBeThatOfItsKind) {
  const UnaryHandler unary = [](std::string_view, Call&) -> Result<std::string> { return std::string(); };
  const StreamHandler stream = [](std::string_view, Call&, MessageStream&) { return ok_status(); };
  const WriteHandler write = [](std::string_view, Call&) -> Result<Decision> { return Decision(); };
  const auto with = [&](const std::string& name, MethodBinding binding) {
    std::vector<MethodBinding> bindings = {{"Read", unary, {}, {}},   {"Write", {}, {}, write},
                                           {"BetweenServers", unary, {}, {}},
                                           {"Local", unary, {}, {}},  {"Nest", unary, {}, {}},
                                           {"OnNode", unary, {}, {}}, {"Talk", {}, stream, {}}};
    *std::ranges::find(bindings, name, &MethodBinding::name) = std::move(binding);
    return MethodTable().add_service("a", "drover.test.Things", std::move(bindings)).to_string();
  };

  EXPECT_EQ(with("Write", {"Write", unary, {}, {}}),
            "invalid_argument: service drover.test.Things, method Write: kind WRITE needs a handler that returns "
            "Write<Response>; one that does something by itself is of kind ACT");
  EXPECT_EQ(
      with("Read", {"Read", {}, {}, write}),
      "invalid_argument: service drover.test.Things, method Read: its handler decides on a write, so declare kind "
      "WRITE");
}

TEST(MethodTable, RefusesAServiceThatDeclaresNoRoute) {
  MethodTable methods;

  EXPECT_EQ(methods.add_service("a", "drover.test.Undeclared", {{"Do", {}, {}, {}}}).to_string(),
            "invalid_argument: service drover.test.Undeclared, method Do: declares no route; add option (drover.route) "
            "with target and kind");
}

}  // namespace
}  // namespace drover::rpc
