// The router in a world of its own, for its tests.
#pragma once

#include <condition_variable>
#include <future>
#include <thread>

#include "gtest/gtest.h"
#include "kernel/rpc/router.h"
#include "kernel/rpc/router_test.pb.h"
#include "tests/support/state_rows.h"

namespace drover::rpc {

using namespace std::chrono_literals;
constexpr auto kPatience = 20s;

// The facts that the router asks for; they may change while calls are on their way.
class FakeEnvironment final : public Environment {
 public:
  struct Facts {
    std::string server_name = "s1";
    bool is_server = true;
    bool is_leader = true;
    bool has_started = true;
    std::string leader_address = "s1:4647";
    std::optional<Uuid> local_node, located;
    uint64_t term = 3;
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
  uint64_t term() const override { return facts().term; }
  std::stop_token leadership() const override {
    std::lock_guard lock(mutex_);
    return leadership_.get_token();
  }
  // Ends the leadership that calls know of.
  void lose_leadership(Facts then) {
    std::stop_source lost;
    {
      std::lock_guard lock(mutex_);
      lost = std::exchange(leadership_, {});
      facts_ = std::move(then);
    }
    lost.request_stop();
  }
  void propose(std::string_view plugin, std::string_view command, std::string payload, SteadyTime,
               uint64_t only_in_term, std::function<void(Result<Applied>)> done) override {
    Status refusal;
    {
      std::lock_guard lock(mutex_);
      proposed_.push_back(std::string(plugin) + " " + std::string(command) + " " + payload + " in term " +
                          std::to_string(only_in_term));
      if (next_facts_) facts_ = *std::exchange(next_facts_, std::nullopt);
      if (!answers_.empty()) {
        refusal = std::move(answers_.front());
        answers_.erase(answers_.begin());
      }
      if (is_holding_) {
        held_.push_back([done, payload] { done(Applied{.index = 42, .answer = "applied " + payload}); });
        return;
      }
    }
    if (!refusal.ok()) return done(refusal);
    done(Applied{.index = 42, .answer = "applied " + payload});
  }
  // While the next proposal is under way another term begins, or another server leads.
  void begin_term_at_next_proposal(uint64_t term) {
    std::lock_guard lock(mutex_);
    next_facts_ = facts_;
    next_facts_->term = term;
  }
  void lose_leadership_at_next_proposal(std::string leader) {
    std::lock_guard lock(mutex_);
    next_facts_ = facts_;
    next_facts_->is_leader = false;
    next_facts_->leader_address = std::move(leader);
  }
  void hold_proposals() {
    std::lock_guard lock(mutex_);
    is_holding_ = true;
  }
  void apply_held_proposals() {
    std::vector<std::function<void()>> held;
    {
      std::lock_guard lock(mutex_);
      held.swap(held_);
    }
    for (auto& apply : held) apply();
  }
  // The next proposals get these answers; ok: they are applied.
  void answer_proposals_with(std::vector<Status> answers) {
    std::lock_guard lock(mutex_);
    answers_ = std::move(answers);
  }
  std::vector<std::string> proposed() const {
    std::lock_guard lock(mutex_);
    return proposed_;
  }
  std::string leader_address() const override {
    Facts now = facts();
    return now.is_leader ? "" : std::move(now.leader_address);
  }
  std::string any_server_address() const override { return facts().leader_address; }
  std::optional<std::string> server_address(std::string_view server) const override {
    if (server == facts().server_name) return "";
    return server == "s7" ? std::optional<std::string>("s7:4647") : std::nullopt;
  }
  std::string unvisited_server(const std::vector<std::string>& path) const override {
    return path.empty() ? leader_address() : std::string();
  }
  std::optional<Uuid> local_node() const override { return facts().local_node; }
  std::chrono::nanoseconds last_contact() const override { return 7ms; }
  Result<Uuid> locate(std::string_view id) const override {
    if (const auto node = facts().located) return *node;
    return not_found("nothing is called " + std::string(id));
  }

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
  std::stop_source leadership_;
  std::vector<Status> answers_;
  std::vector<std::string> proposed_;
  std::optional<Facts> next_facts_;
  bool is_holding_ = false;
  std::vector<std::function<void()>> held_;
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

// Keeps "METHOD WHO REQUEST: OUTCOME".
class FakeAuditor final : public Auditor {
 public:
  bool wants(const CallContext& context) override { return !context.method.ends_with("/Quiet"); }
  void answered(const CallContext& context, std::string_view request, const Status& outcome) override {
    std::lock_guard lock(mutex_);
    heard_.push_back(context.method.substr(context.method.rfind('/') + 1) + " " + context.identity.name + " " +
                     std::string(request) + ": " + outcome.to_string());
  }
  std::vector<std::string> heard() {
    std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> heard_;
};

// "bad" is a wrong token, and so is everything that was revoked; "writer" may do everything, others what anybody may.
class FakeAccess final : public AccessControl {
 public:
  void authenticate(const CallContext& context, std::function<void(Result<Identity>)> done) override {
    if (is_away) return done(unavailable("no server"));
    if (context.query.token == "bad" || is_revoked) return done(permission_denied("token not found"));
    const bool may_write = context.query.token == "writer";
    done(Identity{Identity::Kind::token, context.query.token, may_write ? all_permissions() : nullptr});
  }
  std::atomic<bool> is_revoked{false}, is_away{false};
};

class RouterTest : public ::testing::Test {
 protected:
  RouterTest() {
    table_ = state::must_add(store_, state::thing_table());
    std::vector<MethodBinding> bindings;
    bindings.push_back({"Read",
                        [this](std::string_view key, Call& call) -> Result<std::string> {
                          ++reads_;
                          if (key.empty()) return std::to_string(call.view().row_count(table_));
                          auto row = call.view().get(table_, state::key_of(key));
                          if (!row) return not_found("no thing named " + std::string(key));
                          return std::string(*row);
                        },
                        {}});
    // "nothing" finds that there is nothing to write.
    bindings.push_back(
        {"Write", {}, {}, [this](std::string_view request, Call& call) -> Result<Decision> {
           ++decisions_;
           const std::string who = call.context().identity.name;
           if (request == "nothing")
             return Decision{{}, {}, [](const Applied&) -> Result<std::string> { return std::string("nothing"); }};
           return Decision{
               "drover.test.Written", std::string(request),
               [who](const Applied& applied) -> Result<std::string> { return applied.answer + " for " + who; }};
         }});
    bindings.push_back(
        {"BetweenServers", [](std::string_view, Call&) -> Result<std::string> { return std::string("here"); }, {}});
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
    router_ = std::make_unique<Router>(options_, methods_, &store_, environment_, pool_, clock_, metrics_);
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
  FakeEnvironment environment_;
  ThreadPool pool_{{.workers = 2, .max_borrowed = 16}, clock_};
  Router::Options options_{.hold_timeout = 100ms, .default_wait = 60s, .max_wait = 60s, .look_again = 1ms};
  std::unique_ptr<Router> router_;
  std::atomic<int> reads_ = 0;
  std::atomic<int> decisions_ = 0;
};

}  // namespace drover::rpc
