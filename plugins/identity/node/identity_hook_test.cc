#include "node/identity_hook.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "drover/api_listener.h"
#include "drover/v1/job.pb.h"
#include "identity.pb.h"
#include "node/api_hook.h"
#include "sdk/testing/fake_hooks.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/fake_node.h"

namespace drover::identity {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class FakeListener final : public ApiListener {
 public:
  Result<std::unique_ptr<Served>> serve(Fd listening) override {
    DROVER_RETURN_IF_ERROR(answer);
    return std::unique_ptr<Served>(std::make_unique<Held>(std::move(listening)));
  }
  Status answer;

 private:
  struct Held final : Served {
    explicit Held(Fd socket) : socket_(std::move(socket)) {}
    Fd socket_;
  };
};

class HooksTest : public ::testing::Test {
 protected:
  HooksTest() {
    EXPECT_TRUE(host_.rows().extend<NodeCalls>("agent", node_).ok());
    EXPECT_TRUE(host_.rows().extend<ApiListener>("http", listener_).ok());
    host_.answer_calls_with([this](const CallContext& context, const std::string& bytes) -> Result<std::string> {
      EXPECT_EQ(context.method, "/drover.v1.NodeIdentities/Sign");
      DROVER_RETURN_IF_ERROR(servers_);
      const auto request = parse_message<v1::SignIdentitiesRequest>(bytes);
      ++signed_;
      v1::SignIdentitiesResponse response;
      for (const std::string& name : request->identities()) {
        v1::SignedIdentity& one = *response.add_identities();
        one.set_name(name);
        one.set_token(name + "-" + std::to_string(signed_));
        one.set_expires_at(name == "vault" ? host_.clock().wall_ns() + lives_ : 0);
      }
      return serialize(response);
    });
    host_.delay_tasks();
    task_block_.set_name("web");
    task_block_.mutable_identity()->set_env(true);
    task_block_.mutable_identity()->set_file(true);
    signing_.start(host_);
    identity_hook_.start(host_);
    api_hook_.start(host_);
  }
  ~HooksTest() override {
    part_.reset();
    fs::remove_all(folder_);
  }

  v1::Identity& add_vault(const std::string& mode) {
    v1::Identity& vault = *task_block_.add_identities();
    vault.set_name("vault");
    vault.set_file(true);
    vault.set_env(true);
    vault.set_change_mode(mode);
    vault.set_change_signal("SIGHUP");
    vault.set_ttl(lives_);
    return vault;
  }
  AllocSpecPtr spec() const {
    auto job = std::make_shared<v1::Job>();
    v1::TaskGroup& group = *job->add_task_groups();
    group.set_name("front");
    *group.add_tasks() = task_block_;
    v1::Allocation allocation;
    allocation.set_id(std::string(16, 'a'));
    allocation.set_task_group("front");
    return std::make_shared<AllocSpec>(allocation, std::move(job));
  }
  void attach(TaskHook& hook) {
    if (!task_) task_.emplace(folder_, "web", spec());
    part_ = hook.attach(*task_, state_);
  }
  Status prestart(bool recovered = false) { return start_.prestart(*part_, recovered); }
  std::string variable(const std::string& name) const {
    const auto at = start_.adds.env().find(name);
    return at == start_.adds.env().end() ? "" : at->second;
  }
  std::string content(const std::string& below) const {
    std::ifstream file(folder_ + "/web/" + below);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string folder_ = fs::path(::testing::TempDir()) / ("identity." + std::to_string(::getpid()));
  testing::FakeStart start_{.environment = {{"NOMAD_SECRETS_DIR", "/secrets"}, {"NOMAD_TASK_DIR", "/local"}}};
  testing::FakeHost host_;
  testing::FakeNode node_;
  testing::FakeState state_;
  FakeListener listener_;
  Status servers_;
  int signed_ = 0;
  int64_t lives_ = std::chrono::nanoseconds(1h).count();
  v1::Task task_block_;
  std::optional<testing::FakeTask> task_;
  Signing signing_;
  IdentityHook identity_hook_{signing_};
  ApiHook api_hook_;
  std::unique_ptr<TaskHook::Part> part_;
};

TEST_F(HooksTest, ATaskGetsItsTokensBeforeItStarts) {
  add_vault("noop").set_filepath("local/vault.jwt");
  attach(identity_hook_);
  ASSERT_TRUE(prestart().ok());
  EXPECT_EQ(variable("NOMAD_TOKEN"), "default-1");
  EXPECT_EQ(variable("NOMAD_TOKEN_vault"), "vault-1");
  EXPECT_EQ(content("secrets/nomad_token"), "default-1");
  EXPECT_EQ(content("local/vault.jwt"), "vault-1");
  struct stat found {};
  ASSERT_EQ(::stat((folder_ + "/web/secrets/nomad_token").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600u);
}

TEST_F(HooksTest, ATaskThatIsShownNoTokenHasNothingToDoWithIt) {
  task_block_.clear_identity();
  attach(identity_hook_);
  EXPECT_FALSE(part_);
}

TEST_F(HooksTest, ARefusalFailsTheStart) {
  servers_ = permission_denied("Permission denied");
  attach(identity_hook_);
  EXPECT_EQ(prestart(), servers_);
}

TEST_F(HooksTest, WaitsForServersUntilTheTaskIsToEnd) {
  servers_ = unavailable("No cluster leader");
  attach(identity_hook_);
  start_.stop.request_stop();
  EXPECT_EQ(prestart().code(), Code::cancelled);
}

TEST_F(HooksTest, TokensThatEndAreRenewed) {
  add_vault("signal");
  attach(identity_hook_);
  ASSERT_TRUE(prestart().ok());
  ASSERT_TRUE(part_->poststart().ok());
  host_.run_delayed();
  EXPECT_EQ(content("secrets/nomad_vault.jwt"), "vault-2");
  EXPECT_EQ(content("secrets/nomad_token"), "default-1") << "a token that lasts is not renewed";
  EXPECT_EQ(task_->next(), "signal SIGHUP");
  servers_ = unavailable("No cluster leader");
  host_.run_delayed();
  EXPECT_EQ(content("secrets/nomad_vault.jwt"), "vault-2") << "the old one stays while no server answers";
  EXPECT_TRUE(task_->is_quiet());
  servers_ = ok_status();
  host_.run_delayed();
  EXPECT_EQ(content("secrets/nomad_vault.jwt"), "vault-3");
  ASSERT_TRUE(part_->stop().ok());
  host_.run_delayed();
  EXPECT_EQ(content("secrets/nomad_vault.jwt"), "vault-3") << "it has ended";
}

TEST_F(HooksTest, ANewTokenRestartsATaskThatAsksForIt) {
  add_vault("restart");
  attach(identity_hook_);
  ASSERT_TRUE(prestart().ok() && part_->poststart().ok());
  host_.run_delayed();
  EXPECT_EQ(task_->next(), "restart: Identity: a new token");
}

TEST_F(HooksTest, TokensThatLastAreNotRenewed) {
  attach(identity_hook_);
  ASSERT_TRUE(prestart().ok() && part_->poststart().ok());
  host_.run_delayed();
  EXPECT_EQ(signed_, 1);
}

TEST_F(HooksTest, ATaskThatIsFoundAgainKeepsItsTokensAndTheirTime) {
  add_vault("restart");
  attach(identity_hook_);
  ASSERT_TRUE(prestart().ok() && part_->poststart().ok());
  part_->shutdown();
  host_.run_delayed();
  servers_ = unavailable("nobody is asked");
  attach(identity_hook_);
  ASSERT_TRUE(prestart(/*recovered=*/true).ok() && part_->poststart().ok());
  EXPECT_EQ(signed_, 1);
  servers_ = ok_status();
  host_.run_delayed();
  EXPECT_EQ(content("secrets/nomad_vault.jwt"), "vault-2");
  EXPECT_EQ(task_->next(), "restart: Identity: a new token");
}

TEST_F(HooksTest, AnUpdateInPlaceWritesTheFilesAnew) {
  attach(identity_hook_);
  ASSERT_TRUE(prestart().ok() && part_->poststart().ok());
  add_vault("restart");
  task_->describe(spec());
  ASSERT_TRUE(part_->update().ok());
  host_.run_delayed();
  EXPECT_EQ(content("secrets/nomad_token"), "default-2");
  EXPECT_EQ(content("secrets/nomad_vault.jwt"), "vault-2");
  EXPECT_TRUE(task_->is_quiet());
}

TEST_F(HooksTest, ATaskHasASocketOfItsOwn) {
  attach(api_hook_);
  ASSERT_TRUE(prestart().ok());
  EXPECT_EQ(variable("NOMAD_UNIX_ADDR"), "unix:/secrets/api.sock");
  const std::string path = folder_ + "/web/secrets/api.sock";
  struct stat found {};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_TRUE(S_ISSOCK(found.st_mode));
  EXPECT_EQ(found.st_mode & 07777, 0600u);
  const Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_TRUE(part_->stop().ok());
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(HooksTest, ASocketOfAFormerLifeIsReplaced) {
  attach(api_hook_);
  ASSERT_TRUE(prestart().ok());
  part_->shutdown();
  EXPECT_TRUE(fs::exists(folder_ + "/web/secrets/api.sock")) << "the task goes on";
  attach(api_hook_);
  EXPECT_TRUE(prestart(/*recovered=*/true).ok());
  EXPECT_EQ(variable("NOMAD_UNIX_ADDR"), "unix:/secrets/api.sock");
}

TEST_F(HooksTest, WithoutASocketTheTaskRuns) {
  listener_.answer = failed_precondition("the API has not started");
  attach(api_hook_);
  EXPECT_TRUE(prestart().ok());
  EXPECT_EQ(variable("NOMAD_UNIX_ADDR"), "");
}

TEST_F(HooksTest, TheJobsOwnAddressStays) {
  start_.environment["NOMAD_UNIX_ADDR"] = "the job's";
  attach(api_hook_);
  ASSERT_TRUE(prestart().ok());
  EXPECT_EQ(variable("NOMAD_UNIX_ADDR"), "");
}

}  // namespace
}  // namespace drover::identity
