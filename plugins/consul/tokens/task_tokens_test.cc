#include "tokens/task_tokens.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "config.h"
#include "drover/v1/job.pb.h"
#include "sdk/testing/fake_hooks.h"
#include "sdk/testing/fake_host.h"
#include "testing/fake_consul.h"
#include "tokens/implied_identity.h"

namespace drover::consul {
namespace {

namespace fs = std::filesystem;

class FakeStore final : public LocalStore {
 public:
  Result<std::optional<std::string>> get(std::string_view key) override {
    const auto at = rows.find(std::string(key));
    return at == rows.end() ? std::nullopt : std::optional(at->second);
  }
  Status write(std::span<const Write> writes) override {
    for (const Write& each : writes) {
      if (each.value) {
        rows[each.key] = *each.value;
      } else {
        rows.erase(each.key);
      }
    }
    return ok_status();
  }
  Result<std::vector<std::pair<std::string, std::string>>> list(std::string_view prefix) override {
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& row : rows) {
      if (row.first.starts_with(prefix)) out.push_back(row);
    }
    return out;
  }
  std::map<std::string, std::string> rows;
};

class StoringHost final : public drover::testing::FakeHost {
 public:
  LocalStore& local_store() override { return store; }
  FakeStore store;
};

class FakeIdentities final : public TaskTokens {
 public:
  Result<Token> sign(const Uuid&, const std::string& task, const std::string& identity,
                     std::stop_token) const override {
    DROVER_RETURN_IF_ERROR(refusal);
    ++signed_;
    return Token{.jwt = task + " as " + identity};
  }
  Status refusal;
  mutable int signed_ = 0;
};

AllocSpecPtr spec_of_task(bool has_identity = true) {
  auto job = std::make_shared<v1::Job>();
  v1::TaskGroup& group = *job->add_task_groups();
  group.set_name("g");
  v1::Task& task = *group.add_tasks();
  task.set_name("t");
  if (has_identity) task.add_identities()->set_name(kTaskIdentity);
  v1::Allocation alloc;
  alloc.set_id(std::string(16, 'a'));
  alloc.set_task_group("g");
  return std::make_shared<AllocSpec>(std::move(alloc), std::move(job));
}

class TaskTokensTest : public ::testing::Test {
 protected:
  TaskTokensTest() {
    host_.delay_tasks();
    logouts_.start(host_, setup_.client);
  }
  ~TaskTokensTest() override { fs::remove_all(folder_); }

  std::unique_ptr<TaskHook::Part> part() { return hook_.attach(task_, state_); }
  std::string file() {
    std::ifstream in(folder_ + "/t/secrets/consul_token");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string token() { return start_.adds.env().at("CONSUL_HTTP_TOKEN"); }
  bool is_known(const std::string& token) {
    return client_->call("GET", "/v1/acl/token/self", "", token, {}).ok();
  }

  static std::string made_folder() {
    std::string name = fs::temp_directory_path() / "drover-consul-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    return name;
  }

  testing::FakeConsul consul_;
  StoringHost host_;
  const std::shared_ptr<const ConsulClient> client_ =
      std::make_shared<const ConsulClient>(Endpoint{.origin = consul_.url()});
  FakeIdentities identities_;
  KnownTokens known_;
  Logouts logouts_;
  TokenSetup setup_{.host = &host_,
                    .client = client_,
                    .auth_method = "nomad-workloads",
                    .known = &known_,
                    .logouts = &logouts_,
                    .identities = [this] { return &identities_; }};
  ConsulTokenHook hook_{setup_};
  const std::string folder_ = made_folder();
  drover::testing::FakeTask task_{folder_, "t", spec_of_task()};
  drover::testing::FakeState state_;
  drover::testing::FakeStart start_;
};

TEST_F(TaskTokensTest, AreThereWhenTheTaskStarts) {
  consul_.control(R"({"tokens":true})");
  const auto hook = part();
  ASSERT_TRUE(start_.prestart(*hook).ok());
  EXPECT_EQ(file(), token());
  EXPECT_EQ(start_.adds.env().at("CONSUL_TOKEN"), token());
  EXPECT_EQ(known_.of(task_), token());
  EXPECT_TRUE(is_known(token()));
  struct stat found {};
  ASSERT_EQ(::stat((folder_ + "/t/secrets/consul_token").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777u, 0600u);
}

TEST_F(TaskTokensTest, OutliveTheAgentAndTheTasksRestarts) {
  consul_.control(R"({"tokens":true})");
  auto hook = part();
  ASSERT_TRUE(start_.prestart(*hook).ok());
  const std::string first = token();
  hook = part();  // the agent was killed
  ASSERT_TRUE(start_.prestart(*hook, /*recovered=*/true).ok());
  EXPECT_EQ(known_.of(task_), first);
  ASSERT_TRUE(start_.prestart(*hook).ok());
  EXPECT_EQ(token(), first);
  EXPECT_EQ(identities_.signed_, 1);
  consul_.control(R"({"forget_tokens":true})");
  ASSERT_TRUE(start_.prestart(*hook).ok());
  EXPECT_NE(token(), first) << "Consul no longer knows it";
  EXPECT_EQ(file(), token());
  consul_.control(R"({"trouble":{"GET /v1/acl/token/self":"500"}})");
  const std::string second = token();
  ASSERT_TRUE(start_.prestart(*hook).ok());
  EXPECT_EQ(token(), second) << "what Consul does not say counts for nothing";
}

TEST_F(TaskTokensTest, EndWithTheTask) {
  consul_.control(R"({"tokens":true,"trouble":{"POST /v1/acl/logout":"500"}})");
  const auto hook = part();
  ASSERT_TRUE(start_.prestart(*hook).ok());
  ASSERT_TRUE(hook->stop().ok());
  EXPECT_TRUE(state_.is_empty());
  EXPECT_EQ(known_.of(task_), "");
  EXPECT_TRUE(is_known(token()));
  EXPECT_EQ(host_.store.rows.size(), 1u) << "it is tried again, by the agent's next life, too";
  consul_.control(R"({"trouble":{}})");
  host_.run_delayed();
  EXPECT_FALSE(is_known(token()));
  EXPECT_TRUE(host_.store.rows.empty());
  ASSERT_TRUE(hook->stop().ok()) << "there is nothing left to do";
}

TEST_F(TaskTokensTest, LeftOverAreEndedByTheNextLife) {
  const auto hook = part();
  consul_.control(R"({"tokens":true})");
  ASSERT_TRUE(start_.prestart(*hook).ok());
  host_.store.rows["logout/x"] = token();
  Logouts next;
  next.start(host_, client_);
  EXPECT_FALSE(is_known(token()));
  EXPECT_TRUE(host_.store.rows.empty());
}

TEST_F(TaskTokensTest, ARefusalFailsTheStart) {
  setup_.auth_method = "unknown";
  const auto hook = part();
  const Status status = start_.prestart(*hook);
  EXPECT_EQ(status.code(), Code::permission_denied);
  EXPECT_EQ(status.message(), "Consul's auth method \"unknown\": Unexpected response code: 403 (ACL not found)");
  identities_.refusal = not_found("no such identity");
  EXPECT_EQ(start_.prestart(*hook).code(), Code::not_found);
}

TEST_F(TaskTokensTest, AStopEndsTheWait) {
  identities_.refusal = unavailable("no leader");
  const auto hook = part();
  start_.stop.request_stop();
  EXPECT_EQ(start_.prestart(*hook).code(), Code::cancelled);
}

TEST_F(TaskTokensTest, AreForTasksWithTheIdentity) {
  drover::testing::FakeTask other("", "t", spec_of_task(false));
  EXPECT_EQ(hook_.attach(other, state_), nullptr);
  setup_.client = nullptr;
  EXPECT_EQ(part(), nullptr) << "Consul is not configured";
}

TEST(ConsulIdentity, IsForTasksThatUseConsul) {
  const auto block = parse_config("consul", "task_identity {\n  aud = [\"consul.example\"]\n  ttl = \"30m\"\n}");
  ASSERT_TRUE(block.ok());
  const auto config = read_config(*apply_schema(*block, config_schema()), [](const std::string&) { return ""; });
  ASSERT_TRUE(config.ok()) << config.status().message();
  ConsulIdentity implied;
  implied.start(config->task_identity);
  const v1::TaskGroup group;
  v1::Task task;
  EXPECT_FALSE(implied.identity_for(group, task));
  task.add_templates();
  ASSERT_TRUE(implied.identity_for(group, task));
  EXPECT_EQ(implied.identity_for(group, task)->audience(0), "consul.example");
  EXPECT_EQ(implied.identity_for(group, task)->ttl(), int64_t{1800} * 1'000'000'000);
  v1::Task own;
  own.mutable_consul();
  EXPECT_EQ(implied.identity_for(group, own)->name(), "consul_default");
  EXPECT_FALSE(ConsulIdentity().identity_for(group, own)) << "the configuration says nothing of it";
}

}  // namespace
}  // namespace drover::consul
