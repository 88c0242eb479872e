#include "programs/programs.h"

#include <signal.h>

#include <filesystem>
#include <fstream>

#include "drover/api/plugins.pb.h"
#include "drover/log.h"
#include "drover/messages.h"
#include "drover/process.h"
#include "drover/read_all.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node.pb.h"
#include "gtest/gtest.h"
#include "mounts_state.pb.h"
#include "sdk/testing/waiting.h"
#include "testing/node_world.h"
#include "testing/socket_file.h"

namespace drover::mounts {
namespace {

using namespace std::chrono_literals;
using testing::FakePlugin;
using testing::SocketFile;

// A machine with one program in its configuration, whose agent can be started again. The program is a process that
// sleeps; the plugin behind its socket is in memory.
class Machine : public ::testing::Test {
 protected:
  Machine() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    host_.agent_info().data_dir = folder_;
    folders_.emplace(folder_);
    settings_ = {.name = "disks",
                 .command = "/bin/sh",
                 .arguments = {"-c", "env > \"$1\"; exec sleep 600", "sh", folder_ + "/environment"},
                 .environment = {{"COLOUR", "blue"}},
                 .id = "acme/disks",
                 .type = "monolith"};
  }
  ~Machine() override {
    is_used_ = false;
    if (programs_) programs_->stop();
    std::filesystem::remove_all(folder_);
  }

  void start(std::vector<ProgramSettings> wanted) {
    programs_.emplace();
    const Status status = programs_->start(
        {.host = host_,
         .instances = instances_,
         .folders = *folders_,
         .is_used = [this](const std::string& id) { return is_used_ && id == "acme/disks"; },
         .times = {.first_pause = first_pause_, .longest_pause = std::max(first_pause_, 20ms), .to_end = 5s},
         .timing = {.look_for_socket = 2ms, .each_call = 10s, .between_tries = 2ms, .between_probes = 5ms},
         .connect = [this](const std::string&, const auto&) { return plugin_.client(); },
         .mounts = [this] { return mounts_; }},
        std::move(wanted));
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
  void start() { start({settings_}); }
  void stop() {
    programs_->stop();
    programs_.reset();
  }

  // As the next agent would find it; 0: there is none.
  int pid() {
    const auto row = host_.store.get("program/disks");
    if (!row || !*row) return 0;
    const auto stored = parse_message<StoredProgram>(**row);
    return stored ? static_cast<int>(stored->pid()) : 0;
  }
  bool runs(int other_than = 0) {
    return eventually([&] { return pid() != 0 && pid() != other_than && is_alive(pid()); });
  }
  v1::NodePlugin shown() const {
    const auto all = programs_->list();
    return all.size() == 1 ? all[0] : v1::NodePlugin();
  }
  bool is_shown_as(const std::string& state) {
    return eventually([&] { return shown().state() == state; });
  }
  std::string socket() const { return folder_ + "/client/csi/programs/disks/csi.sock"; }
  bool is_registered(Side side = Side::node) { return instances_.find(side, "acme/disks").ok(); }

  std::string folder_ = "/tmp/drover-prog-XXXXXX";
  testing::NodeHost host_;
  Instances instances_;
  FakePlugin plugin_;
  std::optional<Folders> folders_;
  ProgramSettings settings_;
  std::atomic<bool> is_used_ = false, is_refused_ = false;
  std::optional<Programs> programs_;
  std::vector<MountPoint> mounts_;
  std::chrono::milliseconds first_pause_ = 5ms;
};

TEST_F(Machine, RunsAProgramAndRegistersWhatItIs) {
  start();
  ASSERT_TRUE(runs());
  EXPECT_FALSE(is_registered());
  const SocketFile socket(this->socket());
  ASSERT_TRUE(eventually([&] { return is_registered(); }));
  EXPECT_TRUE(is_registered(Side::controller));
  v1::Node node;
  instances_.refresh(node);
  EXPECT_EQ(node.csi_node_plugins().at("acme/disks").alloc_id(), "") << "the agent runs it";
  EXPECT_EQ(instances_.find(Side::node, "acme/disks")->instance->base_seen,
            folder_ + "/client/csi/monolith/acme%2Fdisks");
  struct stat found {};
  ASSERT_EQ(::stat((folder_ + "/client/csi/programs/disks").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
}

TEST_F(Machine, GivesItNothingOfTheAgentsEnvironment) {
  ::setenv("NOMAD_TOKEN", "hush", 1);
  start();
  std::string text;
  ASSERT_TRUE(eventually([&] {
    std::ifstream file(folder_ + "/environment");
    text = read_all(file);
    return text.find("PATH=") != std::string::npos && text.ends_with('\n');
  }));
  ::unsetenv("NOMAD_TOKEN");
  EXPECT_NE(text.find("COLOUR=blue\n"), std::string::npos);
  EXPECT_NE(text.find("CSI_ENDPOINT=unix://" + socket() + "\n"), std::string::npos);
  EXPECT_EQ(text.find("NOMAD"), std::string::npos);
  EXPECT_EQ(text.find("HOME="), std::string::npos);
}

TEST_F(Machine, EndsItWithTheAgentAndLeavesNothing) {
  start();
  ASSERT_TRUE(runs());
  const int process = pid();
  stop();
  EXPECT_FALSE(is_alive(process));
  v1::Node node;
  instances_.refresh(node);
  EXPECT_TRUE(node.csi_node_plugins().empty());
  EXPECT_EQ(host_.store.size(), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/client/csi/programs"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/client/csi/output"));
}

TEST_F(Machine, StartsItAgainWhenItEnds) {
  start();
  ASSERT_TRUE(runs());
  {
    const SocketFile socket(this->socket());
    ASSERT_TRUE(eventually([&] { return is_registered(); }));
  }
  const int first = pid();
  ::kill(first, SIGKILL);
  ASSERT_TRUE(runs(first));
  EXPECT_FALSE(is_registered()) << "until it is ready again";
  v1::Node node;
  instances_.refresh(node);
  EXPECT_EQ(node.csi_node_plugins().at("acme/disks").health_description(), "it has ended: signal 9 (Killed)");
  const SocketFile socket(this->socket());
  EXPECT_TRUE(eventually([&] { return is_registered(); }));
}

TEST_F(Machine, IsRestartedWhenAnOperatorWantsThat) {
  start();
  ASSERT_TRUE(is_shown_as("starting"));
  ASSERT_TRUE(runs());
  const int first = pid();
  {
    const SocketFile socket(this->socket());
    ASSERT_TRUE(is_shown_as("running"));
    EXPECT_EQ(shown().pid(), first);
    EXPECT_EQ(shown().restarts(), 0u);
    EXPECT_EQ(shown().name(), "disks");
    EXPECT_EQ(shown().called(), "fake.example");
    EXPECT_EQ(shown().type(), "csi");
    EXPECT_GT(shown().since(), 0);
  }
  ASSERT_TRUE(programs_->restart("disks").ok());
  ASSERT_TRUE(runs(first));
  EXPECT_FALSE(is_alive(first)) << "there are never two of them";
  EXPECT_FALSE(is_registered()) << "until it is ready again";
  v1::Node node;
  instances_.refresh(node);
  EXPECT_EQ(node.csi_node_plugins().count("acme/disks"), 1u) << "the servers know it meanwhile";
  const SocketFile socket(this->socket());
  EXPECT_TRUE(is_shown_as("running"));
  EXPECT_TRUE(is_registered());
  EXPECT_EQ(shown().restarts(), 1u);
  EXPECT_EQ(shown().problem(), "");
}

TEST_F(Machine, IsRestartedOutOfAPauseAndTellsWhyItPauses) {
  settings_.command = folder_ + "/late";
  first_pause_ = 1h;
  start();
  ASSERT_TRUE(is_shown_as("backoff"));
  EXPECT_NE(shown().problem().find("it cannot be started: " + settings_.command), std::string::npos) << shown().problem();
  EXPECT_GT(shown().next_try(), shown().since());
  EXPECT_EQ(shown().advice(), "it is started again by itself; at once with: drover plugin restart disks");
  std::ofstream(settings_.command) << "#!/bin/sh\nexec sleep 600\n";
  std::filesystem::permissions(settings_.command, std::filesystem::perms::owner_all);
  ASSERT_TRUE(programs_->restart("disks").ok());
  EXPECT_TRUE(runs());
}

TEST_F(Machine, IsNotRestartedUnderMountsThatItMayServe) {
  start();
  ASSERT_TRUE(runs());
  const std::string base = folder_ + "/client/csi/monolith/acme%2Fdisks";
  mounts_ = {{.path = base + "/staging/default/a/rw", .type = "ext4", .source = {}, .options = {}},
             {.path = base + "2/staging/default/a/rw", .type = "fuse", .source = {}, .options = {}},
             {.path = base + "/per-alloc/x/b/rw", .type = "fuse.s3fs", .source = {}, .options = {}}};
  const int process = pid();
  const Status status = programs_->restart("disks");
  EXPECT_EQ(status.code(), Code::failed_precondition);
  EXPECT_NE(status.message().find("/per-alloc/x/b/rw itself (fuse.s3fs)"), std::string::npos) << status.message();
  EXPECT_EQ(pid(), process);
  mounts_.pop_back();
  EXPECT_TRUE(programs_->restart("disks").ok()) << "the system serves those of others";
  EXPECT_TRUE(runs(process));
}

TEST_F(Machine, OnlyWhatTheConfigurationNamesIsRestarted) {
  start();
  EXPECT_EQ(programs_->restart("tapes").code(), Code::not_found);
  programs_->stop();
  EXPECT_EQ(programs_->restart("disks").code(), Code::not_found) << "the agent ends";
  EXPECT_TRUE(programs_->list().empty());
}

TEST_F(Machine, StartsItAgainWhenItDoesNotBecomeHealthy) {
  settings_.health_timeout = 20ms;
  start();
  ASSERT_TRUE(runs());
  const int first = pid();
  ASSERT_TRUE(runs(first));
  EXPECT_TRUE(eventually([&] { return !is_alive(first); }));
}

TEST_F(Machine, TriesAgainUntilItCanBeStarted) {
  settings_.command = folder_ + "/late";
  start();
  std::ofstream(folder_ + "/late-in-the-making") << "#!/bin/sh\nexec sleep 600\n";
  std::filesystem::permissions(folder_ + "/late-in-the-making", std::filesystem::perms::owner_all);
  EXPECT_EQ(pid(), 0);
  std::filesystem::rename(folder_ + "/late-in-the-making", folder_ + "/late");
  EXPECT_TRUE(runs());
}

TEST_F(Machine, StartsNothingThatOthersMayWrite) {
  settings_.command = folder_ + "/loose";
  std::ofstream(settings_.command) << "#!/bin/sh\nexec sleep 600\n";
  std::filesystem::permissions(settings_.command, std::filesystem::perms::all);
  start();
  const log::Tap tap(log::Level::warn, [this](auto, auto, auto, std::span<const log::Field> fields) {
    for (const log::Field& field : fields)
      is_refused_ = is_refused_ || field.value.find("chmod go-w") != std::string::npos;
  });
  EXPECT_TRUE(eventually([&] { return is_refused_.load(); }));
  EXPECT_EQ(pid(), 0);
  std::filesystem::permissions(settings_.command, std::filesystem::perms::owner_all);
  EXPECT_TRUE(runs());
}

TEST_F(Machine, LeavesItToTheNextAgentWhileItsVolumesAreInUse) {
  is_used_ = true;
  start();
  ASSERT_TRUE(runs());
  const SocketFile socket(this->socket());
  ASSERT_TRUE(eventually([&] { return is_registered(); }));
  const int process = pid();
  stop();
  EXPECT_TRUE(is_alive(process));
  EXPECT_FALSE(is_registered());

  start();
  EXPECT_TRUE(eventually([&] { return is_registered(); }));
  EXPECT_EQ(pid(), process);
  ::kill(process, SIGKILL);
  EXPECT_TRUE(runs(process)) << "its end is noticed, too";
  is_used_ = false;
  const int next = pid();
  stop();
  EXPECT_FALSE(is_alive(next));
}

TEST_F(Machine, EndsAControllerAndWhatADevelopmentAgentRan) {
  is_used_ = true;
  settings_.type = "controller";
  start();
  ASSERT_TRUE(runs());
  int process = pid();
  stop();
  EXPECT_FALSE(is_alive(process)) << "it serves nothing by itself";

  settings_.type = "monolith";
  host_.agent_info().dev_mode = true;
  start();
  ASSERT_TRUE(runs());
  process = pid();
  stop();
  EXPECT_FALSE(is_alive(process));
}

TEST_F(Machine, ReplacesAProcessOfOtherSettings) {
  is_used_ = true;
  start();
  ASSERT_TRUE(runs());
  const int process = pid();
  stop();
  settings_.environment["COLOUR"] = "red";
  start();
  EXPECT_TRUE(runs(process));
  EXPECT_FALSE(is_alive(process));
}

TEST_F(Machine, EndsWhatTheConfigurationDoesNotNameAnyMore) {
  is_used_ = true;
  start();
  ASSERT_TRUE(runs());
  const int process = pid();
  stop();
  start({});
  EXPECT_TRUE(eventually([&] { return !is_alive(process) && host_.store.size() == 0; }));
  stop();
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/client/csi/programs"));
}

// The agent was killed after the launcher had started it, and before it was remembered.
TEST_F(Machine, FindsAProcessThatWasNotRemembered) {
  is_used_ = true;
  start();
  ASSERT_TRUE(runs());
  const int process = pid();
  stop();
  const LocalStore::Write gone{.key = "program/disks", .value = std::nullopt};
  ASSERT_TRUE(host_.store.write({&gone, 1}).ok());
  start();
  EXPECT_TRUE(runs(process));
  EXPECT_FALSE(is_alive(process)) << "there are never two of them";
}

TEST_F(Machine, APathThatIsTooLongIsAnErrorOfTheConfiguration) {
  settings_.name = std::string(80, 'x');
  programs_.emplace();
  const Status status = programs_->start(
      {.host = host_, .instances = instances_, .folders = *folders_, .is_used = {}, .connect = {}}, {settings_});
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("plugin \"" + settings_.name + "\""), std::string::npos);
  EXPECT_NE(status.message().find("the agent needs a shorter data_dir"), std::string::npos);
}

}  // namespace
}  // namespace drover::mounts
