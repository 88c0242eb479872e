#include "registry/registry.h"

#include <fstream>

#include <gtest/gtest.h>

#include "drover/api/services.pb.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/fake_node.h"
#include "testing/manual_loop.h"

namespace drover::dns {
namespace {

using namespace std::chrono_literals;

// Servers whose answers wait until the test gives them.
class FakeReads final : public Reads {
 public:
  explicit FakeReads(Loop& loop) : loop_(loop) {}

  void names(std::function<void(Result<Names>)> done) override {
    ++names_calls;
    if (is_silent) return;
    loop_.post([this, done] { done(failure.ok() ? Result<Names>(known_names) : failure); });
  }
  void instances(const ServiceName& name, uint64_t index, std::stop_token stop,
                 std::function<void(Result<Instances>)> done) override {
    ++instances_calls;
    asked = name.name_space + "/" + name.name + " " + std::to_string(index);
    stops[name] = stop;
    if (is_silent) return;
    if (!failure.ok()) return loop_.post([this, done] { done(failure); });
    if (index > 0 && index == this->index) return blocked.push_back(done);
    answer(name, done);
  }
  // The servers answer the reads that wait.
  void change() {
    ++index;
    for (const auto& done : std::exchange(blocked, {})) answer({.name_space = "default", .name = "web"}, done);
  }
  void fail(const Status& status) {
    failure = status;
    for (const auto& done : std::exchange(blocked, {})) loop_.post([done, status] { done(status); });
  }

  Names known_names{{"default", "web"}};
  std::map<ServiceName, int> counts{{{"default", "web"}, 1}};
  uint64_t index = 5;
  std::chrono::nanoseconds last_contact{};
  Status failure;
  bool is_silent = false;
  int names_calls = 0, instances_calls = 0;
  std::string asked;
  std::map<ServiceName, std::stop_token> stops;
  std::vector<std::function<void(Result<Instances>)>> blocked;

 private:
  void answer(const ServiceName& name, const std::function<void(Result<Instances>)>& done) {
    Instances found{.all = {}, .index = index, .last_contact = last_contact};
    found.all.resize(static_cast<size_t>(counts[name]));
    loop_.post([done, found] { done(found); });
  }

  Loop& loop_;
};

class RegistryTest : public ::testing::Test {
 protected:
  // The number of instances, "away", "refused", or "…" while nothing is answered.
  std::shared_ptr<std::string> find(const std::string& name, const std::string& name_space = "default") {
    auto out = std::make_shared<std::string>("…");
    registry_.find({.name_space = name_space, .name = name}, [out](const Found& found) {
      ASSERT_EQ(*out, "…");
      *out = found.state == Found::State::known  ? std::to_string(found.instances.size())
             : found.state == Found::State::away ? "away"
                                                 : "refused";
    });
    return out;
  }
  std::string found(const std::string& name) {
    const auto out = find(name);
    loop_.run();
    return *out;
  }

  ManualLoop loop_;
  FakeReads reads_{loop_};
  Registry registry_{reads_, loop_, 1min};
};

TEST_F(RegistryTest, FollowsWhatIsAskedForByOneRead) {
  const auto first = find("web"), second = find("web");
  EXPECT_EQ(*first, "…");
  loop_.run();
  EXPECT_EQ(*first, "1");
  EXPECT_EQ(*second, "1");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*find("web"), "1");
  loop_.pass(30s);
  EXPECT_EQ(reads_.names_calls, 1);
  EXPECT_EQ(reads_.instances_calls, 2);  // the second one waits for news
  EXPECT_EQ(reads_.asked, "default/web 5");
  reads_.counts[{"default", "web"}] = 3;
  reads_.change();
  loop_.run();
  EXPECT_EQ(*find("web"), "3");
  loop_.pass(Registry::kPace);
  EXPECT_EQ(reads_.asked, "default/web 6");
}

TEST_F(RegistryTest, NamesThatNobodyHasCostOneListASecond) {
  for (int i = 0; i < 50; ++i) EXPECT_EQ(found("x" + std::to_string(i)), "0");
  EXPECT_EQ(reads_.names_calls, 1);
  EXPECT_EQ(reads_.instances_calls, 0);
  EXPECT_EQ(registry_.followed(), 0U);
  reads_.known_names.push_back({"default", "x1"});
  reads_.counts[{"default", "x1"}] = 1;
  EXPECT_EQ(found("x1"), "0");
  loop_.pass(Registry::kNamesAge);
  EXPECT_EQ(found("x1"), "1");
}

TEST_F(RegistryTest, AServiceThatGoesAndComesIsKnownAtOnce) {
  EXPECT_EQ(found("web"), "1");
  loop_.pass(1s);
  reads_.counts.clear();
  reads_.known_names.clear();
  reads_.change();
  loop_.run();
  EXPECT_EQ(*find("web"), "0");
  loop_.pass(Registry::kPace);
  reads_.counts[{"default", "web"}] = 2;
  reads_.change();
  loop_.run();
  EXPECT_EQ(*find("web"), "2");
}

TEST_F(RegistryTest, FindsNamesAndNamespacesInEveryCase) {
  reads_.known_names = {{"Prod", "Web"}, {"Prod", "weB"}, {"default", "WEB"}};
  reads_.counts = {{{"Prod", "Web"}, 2}, {{"Prod", "weB"}, 3}, {{"default", "WEB"}, 4}};
  const auto both = find("web", "prod"), other = find("web");
  loop_.run();
  EXPECT_EQ(*both, "5");
  EXPECT_EQ(*other, "4");
  // Another spelling comes while the first ones have gone.
  reads_.known_names = {{"default", "wEB"}};
  reads_.counts = {{{"default", "wEB"}, 1}};
  loop_.pass(1s);
  reads_.blocked.clear();
  reads_.known_names.push_back({"x", "y"});
  EXPECT_EQ(found("other"), "0");
  EXPECT_EQ(found("web"), "5");
}

TEST_F(RegistryTest, KeepsWhatItKnowsWhileServersAreAwayAndNoLonger) {
  EXPECT_EQ(found("web"), "1");
  loop_.pass(1s);
  reads_.fail(unavailable("No cluster leader"));
  loop_.run();
  loop_.pass(59s);
  EXPECT_EQ(*find("web"), "1");
  EXPECT_EQ(found("new"), "away");  // what was never known is not denied
  loop_.pass(2s);
  EXPECT_EQ(*find("web"), "away");
  reads_.failure = ok_status();
  loop_.pass(Registry::kLongestPause);
  EXPECT_EQ(*find("web"), "1");
}

TEST_F(RegistryTest, AServerWithoutALeaderIsAway) {
  EXPECT_EQ(found("web"), "1");
  loop_.pass(1s);
  reads_.last_contact = 2min;
  reads_.change();
  loop_.pass(50s);
  EXPECT_EQ(*find("web"), "1");
  loop_.pass(1min);
  EXPECT_EQ(*find("web"), "away");
}

TEST_F(RegistryTest, ARightThatIsTakenAwayCountsAtOnce) {
  reads_.failure = permission_denied("Permission denied");
  EXPECT_EQ(found("web"), "refused");
  reads_.failure = ok_status();
  loop_.pass(1s);
  EXPECT_EQ(found("web"), "1");
  loop_.pass(1s);
  reads_.fail(permission_denied("Permission denied"));
  loop_.run();
  EXPECT_EQ(*find("web"), "refused");
}

TEST_F(RegistryTest, NobodyWaitsForEver) {
  reads_.is_silent = true;
  const auto one = find("web");
  loop_.pass(Registry::kPatience - 1ms);
  EXPECT_EQ(*one, "…");
  loop_.pass(1ms);
  EXPECT_EQ(*one, "away");
  // The names come, the instances do not.
  reads_.is_silent = false;
  Registry other(reads_, loop_, 1min);
  std::string answer;
  other.find({"default", "web"},
             [&](const Found& found) { answer = found.state == Found::State::away ? "away" : "?"; });
  reads_.is_silent = true;
  loop_.pass(Registry::kPatience);
  EXPECT_EQ(answer, "away");
}

TEST_F(RegistryTest, OnlySoManyWait) {
  reads_.is_silent = true;
  std::vector<std::shared_ptr<std::string>> all;
  for (size_t i = 0; i < Registry::kMaxWaiting; ++i) all.push_back(find("web"));
  EXPECT_EQ(*all.back(), "…");
  EXPECT_EQ(*find("web"), "away");
}

TEST_F(RegistryTest, ForgetsWhatNobodyAsksFor) {
  EXPECT_EQ(found("web"), "1");
  const std::stop_token stop = reads_.stops[{"default", "web"}];
  loop_.pass(Registry::kIdle / 2);
  EXPECT_EQ(*find("web"), "1");
  loop_.pass(Registry::kIdle / 2 + 1min);
  EXPECT_EQ(registry_.followed(), 1U);
  EXPECT_FALSE(stop.stop_requested());
  loop_.pass(Registry::kIdle);
  EXPECT_EQ(registry_.followed(), 0U);
  EXPECT_TRUE(stop.stop_requested());
}

TEST_F(RegistryTest, FollowsOnlySoMany) {
  for (size_t i = 0; i <= Registry::kMaxFollowed; ++i) {
    reads_.known_names.push_back({"default", "s" + std::to_string(i)});
    reads_.counts[reads_.known_names.back()] = 1;
  }
  for (size_t i = 0; i <= Registry::kMaxFollowed; ++i) {
    EXPECT_EQ(found("s" + std::to_string(i)), "1");
    loop_.pass(1ms);
  }
  EXPECT_EQ(registry_.followed(), Registry::kMaxFollowed);
  EXPECT_TRUE((reads_.stops[{"default", "s0"}].stop_requested()));
  EXPECT_FALSE((reads_.stops[{"default", "s1"}].stop_requested()));
}

// --- The servers' answers

class ServerReadsTest : public ::testing::Test {
 protected:
  ServerReadsTest() {
    host_.answer_calls_with([this](const CallContext& context, const std::string& request) -> Result<std::string> {
      contexts_.push_back(context);
      if (context.method == "/drover.v1.Services/List") return serialize(list_);
      DROVER_TRY(const auto asked, parse_message<v1::GetServiceRequest>(request));
      EXPECT_EQ(asked.service_name(), "Web");
      return serialize(answer_);
    });
  }
  Result<Reads::Instances> instances(ServerReads& reads) {
    std::optional<Result<Reads::Instances>> out;
    reads.instances({.name_space = "Prod", .name = "Web"}, 7, {}, [&](auto read) { out = std::move(read); });
    EXPECT_FALSE(out);  // not before the call has returned
    loop_->run();
    return *out;
  }

  testing::FakeHost host_;
  std::shared_ptr<ManualLoop> loop_ = std::make_shared<ManualLoop>();
  v1::ListServicesResponse list_;
  v1::ServiceRegistrationsResponse answer_;
  std::vector<CallContext> contexts_;
};

TEST_F(ServerReadsTest, BecomeInstances) {
  const struct {
    const char* address;
    int port;
    bool is_kept;
  } rows[] = {{"10.0.0.1", 80, true},     {"2001:db8::1", 0, true}, {"db.example.org", 81, true}, {"", 82, false},
              {"a..b", 83, false}, {"10.0.0.2", 70000, true}};
  for (const auto& row : rows) {
    v1::ServiceRegistration& registration = *answer_.add_services();
    registration.set_address(row.address);
    registration.set_port(row.port);
    registration.set_alloc_id(std::string(16, 'a'));
    registration.set_datacenter("DC1");
    registration.add_tags("V1");
  }
  ServerReads reads(host_, loop_, "");
  const auto read = instances(reads);
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->all.size(), 4U);
  EXPECT_EQ(to_string(std::get<Address>(read->all[0].address)), "10.0.0.1");
  EXPECT_EQ(read->all[0].port, 80);
  EXPECT_EQ(read->all[0].datacenter, "dc1");
  EXPECT_EQ(read->all[0].tags, std::vector<std::string>{"v1"});
  EXPECT_EQ(read->all[0].alloc_id, "61616161-6161-6161-6161-616161616161");
  EXPECT_EQ(to_string(std::get<Name>(read->all[2].address)), "db.example.org.");
  EXPECT_EQ(read->all[3].port, 65535);
  EXPECT_EQ(contexts_[0].query.name_space, "Prod");
  EXPECT_EQ(contexts_[0].query.min_index, 7U);
  EXPECT_TRUE(contexts_[0].query.stale);
}

TEST_F(ServerReadsTest, NamesAreThoseOfAllNamespaces) {
  for (const char* name_space : {"default", "Prod"}) {
    v1::NamespaceServices& each = *list_.add_namespaces();
    each.set_namespace_(name_space);
    each.add_services()->set_service_name("Web");
  }
  ServerReads reads(host_, loop_, "");
  std::optional<Result<Reads::Names>> names;
  reads.names([&](auto read) { names = std::move(read); });
  loop_->run();
  ASSERT_TRUE(names && names->ok());
  EXPECT_EQ(**names, (Reads::Names{{"default", "Web"}, {"Prod", "Web"}}));
  EXPECT_EQ(contexts_[0].query.name_space, "*");
}

TEST_F(ServerReadsTest, UseTheTokenOfTheFileAsItIsNow) {
  const std::string path = ::testing::TempDir() + "dns_token";
  std::ofstream(path) << "secret-1\n";
  ServerReads reads(host_, loop_, path);
  EXPECT_TRUE(instances(reads).ok());
  EXPECT_EQ(contexts_[0].query.token, "secret-1");
  std::ofstream(path) << "secret-2";
  EXPECT_TRUE(instances(reads).ok());
  EXPECT_EQ(contexts_[1].query.token, "secret-2");
  std::ofstream(path) << " \n";
  EXPECT_EQ(instances(reads).status().code(), Code::failed_precondition);
  std::remove(path.c_str());
  EXPECT_FALSE(instances(reads).ok());
  EXPECT_EQ(contexts_.size(), 2U);
}

}  // namespace
}  // namespace drover::dns
