#include "templates/consul_source.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "drover/pause.h"
#include "drover/v1/job.pb.h"
#include "sdk/testing/fake_hooks.h"
#include "testing/fake_consul.h"

namespace drover::consul {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

// One template, over all of its runs.
class Looks final : public TemplateLooks {
 public:
  explicit Looks(const HookedTask& task) : task_(task) {}
  const HookedTask& task() const override { return task_; }
  const Variables& environment() const override { return environment_; }
  TemplateAnswer at(const std::string& name, const std::function<std::shared_ptr<TemplateWatch>()>& begin) override {
    auto& watch = watches[name];
    if (!watch) watch = begin();
    return watch->wait(20s);
  }
  void miss(std::string name) override { missing.insert(std::move(name)); }

  std::map<std::string, std::shared_ptr<TemplateWatch>> watches;
  std::set<std::string> missing;

 private:
  const HookedTask& task_;
  const Variables environment_;
};

AllocSpecPtr plain_spec(const std::string& consul_namespace = "") {
  auto job = std::make_shared<v1::Job>();
  v1::TaskGroup& group = *job->add_task_groups();
  group.set_name("g");
  group.mutable_consul()->set_namespace_(consul_namespace);
  group.add_tasks()->set_name("t");
  v1::Allocation alloc;
  alloc.set_id(std::string(16, 'a'));
  alloc.set_task_group("g");
  return std::make_shared<AllocSpec>(std::move(alloc), std::move(job));
}

class ConsulSourceTest : public ::testing::Test {
 protected:
  ConsulSourceTest() {
    source_.start(std::make_shared<const ConsulClient>(Endpoint{.origin = consul_.url()}),
                  [this](const HookedTask&) { return token_; });
  }
  Json call(const char* function, const std::string& arguments, Looks& looks) {
    std::vector<text_template::Value> values;
    for (const Json& each : Json::parse(arguments)) values.push_back(text_template::value_of(each));
    looks.missing.clear();
    const auto value = source_.call(function, values, looks);
    EXPECT_TRUE(value.ok()) << value.status().message();
    return value.ok() ? **value : Json();
  }
  void put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(consul_.call("PUT", "/v1/kv/" + key, value).ok());
  }
  bool eventually(const std::function<bool()>& holds) {
    const SteadyTime end = SystemClock().steady() + 30s;
    while (!holds()) {
      if (SystemClock().steady() > end) return false;
      pause_for(20ms, {});
    }
    return true;
  }
  int asked(const std::string& call) {
    const auto calls = consul_.calls();
    return static_cast<int>(std::ranges::count(calls, call));
  }

  testing::FakeConsul consul_;
  std::string token_;
  drover::testing::FakeTask task_{"", "t", plain_spec()};
  ConsulSource source_;
};

TEST_F(ConsulSourceTest, GivesKeysAndSaysWhatIsMissing) {
  Looks looks(task_);
  put("a/x", "one");
  EXPECT_EQ(call("key", R"(["a/x"])", looks), "one");
  EXPECT_TRUE(looks.missing.empty());
  EXPECT_EQ(call("key", R"(["b"])", looks), "");
  EXPECT_EQ(looks.missing, std::set<std::string>{"kv.block(b)"});
  EXPECT_EQ(call("keyExists", R"(["b"])", looks), false);
  EXPECT_TRUE(looks.missing.empty()) << "that it is not there is an answer";
  EXPECT_EQ(call("keyExists", R"(["a/x"])", looks), true);
  EXPECT_EQ(call("keyOrDefault", R"(["b","two"])", looks), "two");
  EXPECT_EQ(call("ls", R"(["a"])", looks)[0]["Key"], "x");
  EXPECT_EQ(call("safeLs", R"(["none"])", looks), Json::array());
  EXPECT_EQ(looks.missing, std::set<std::string>{"kv.list(none)"});
}

TEST_F(ConsulSourceTest, FollowsChanges) {
  Looks looks(task_);
  put("a", "one");
  EXPECT_EQ(call("key", R"(["a"])", looks), "one");
  const uint64_t before = looks.watches.begin()->second->now().change;
  put("a", "two");
  EXPECT_TRUE(eventually([&] { return looks.watches.begin()->second->now().change > before; }));
  EXPECT_EQ(call("key", R"(["a"])", looks), "two");
}

TEST_F(ConsulSourceTest, AsksOncePerNodeAndEndsWhenNobodyLooks) {
  put("a", "one");
  {
    Looks one(task_), other(task_);
    EXPECT_EQ(call("key", R"(["a"])", one), "one");
    EXPECT_EQ(call("keyOrDefault", R"(["a","x"])", other), "one");
    EXPECT_EQ(one.watches.begin()->second, other.watches.begin()->second);
  }
  Looks anew(task_);
  const int before = asked("GET /v1/kv/a");
  put("a", "two");
  EXPECT_EQ(call("key", R"(["a"])", anew), "two");
  EXPECT_LE(asked("GET /v1/kv/a"), before + 2) << "the first watch has ended";
}

TEST_F(ConsulSourceTest, KnowsServicesAndNodes) {
  Looks looks(task_);
  ASSERT_TRUE(consul_.call("PUT", "/v1/agent/service/register", R"({"Name":"web","Port":80,"Tags":["a"]})").ok());
  EXPECT_EQ(call("service", R"(["web"])", looks)[0]["Address"], "127.0.0.1");
  EXPECT_EQ(call("service", R"(["b.web"])", looks), Json::array());
  EXPECT_EQ(call("services", "[]", looks)[0]["Name"], "web");
  EXPECT_EQ(call("nodes", "[]", looks)[0]["Node"], "machine");
  EXPECT_EQ(call("node", "[]", looks)["Services"][0]["Port"], 80) << "its own";
  EXPECT_EQ(call("datacenters", "[]", looks), Json({"dc1", "dc2"}));
}

TEST_F(ConsulSourceTest, AsksInTheNamespaceOfTheGroup) {
  consul_.control(R"({"namespaces":["team"]})");
  drover::testing::FakeTask team{"", "t", plain_spec("team")};
  Looks here(task_), there(team);
  put("a", "one");
  put("a?ns=team", "two");
  EXPECT_EQ(call("key", R"(["a"])", here), "one");
  EXPECT_EQ(call("key", R"(["a"])", there), "two");
}

TEST_F(ConsulSourceTest, TriesAgainUntilConsulAnswers) {
  Looks looks(task_);
  put("a", "one");
  consul_.control(R"({"trouble":{"GET /v1/kv/a":"500"}})");
  const auto watch = std::make_shared<Watch>(std::make_shared<const ConsulClient>(Endpoint{.origin = consul_.url()}),
                                             Question{.path = "/v1/kv/a", .name = "kv.block(a)"}, "");
  EXPECT_TRUE(eventually([&] { return asked("GET /v1/kv/a") >= 2; }));
  EXPECT_EQ(watch->now().change, 0u);
  consul_.control(R"({"trouble":{}})");
  EXPECT_EQ(*watch->wait(30s).value, "one");
}

TEST_F(ConsulSourceTest, AsksWithTheTasksToken) {
  consul_.control(R"({"tokens":true})");
  const auto login = consul_.call("POST", "/v1/acl/login", R"({"AuthMethod":"nomad-workloads","BearerToken":"x"})");
  ASSERT_TRUE(login.ok());
  token_ = Json::parse(*login)["SecretID"].get<std::string>();
  Looks looks(task_);
  EXPECT_EQ(call("keyExists", R"(["a"])", looks), false);
  EXPECT_TRUE(looks.missing.empty());
}

TEST(ConsulSource, WithoutConsulRefuses) {
  ConsulSource source;
  drover::testing::FakeTask task("", "t", plain_spec());
  Looks looks(task);
  const text_template::Value key = text_template::value_of("a");
  const auto value = source.call("key", {&key, 1}, looks);
  EXPECT_EQ(value.status().message(), "needs Consul: the agent's configuration has no block \"consul\"");
}

}  // namespace
}  // namespace drover::consul
