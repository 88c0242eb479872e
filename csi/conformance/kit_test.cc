// The kit over drover-csi-hostpath: a good plugin passes whole, and each check fails over a plugin with one fault.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "drover/fd.h"
#include "run.h"
#include "sdk/testing/own_mounts.h"
#include "testing/faults.h"
#include "trial.h"

namespace drover::csi_kit {
namespace {

using Verdict = Outcome::Verdict;

// A kit's folder and a plugin with room for its data; gone with the test, with whatever is mounted there.
class Kit : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = testing::take_own_mounts(); !why.empty()) GTEST_SKIP() << why;
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    for (const char* each : {"/kit", "/kit/targets", "/kit/staging"}) std::filesystem::create_directory(folder_ + each);
    settings_.program = DROVER_HOSTPATH;
    settings_.arguments = {"--node-id", "n1", "--data-dir", folder_ + "/data"};
    settings_.limit = std::chrono::seconds(30);
  }
  void TearDown() override { clear(folder_); }

  std::string kits_folder() const { return folder_ + "/kit"; }
  void start() {
    auto subject = make_subject(settings_, kits_folder());
    ASSERT_TRUE(subject.ok()) << subject.status().to_string();
    good_ = *std::move(subject);
    faulty_ = with_faults(*good_, soil_);
    session_ = std::make_unique<Session>(*faulty_, settings_, kits_folder());
    const Status learnt = session_->learn();
    ASSERT_TRUE(learnt.ok()) << learnt.to_string();
  }
  // All checks; how many were left out.
  int pass_all() {
    int left_out = 0;
    const auto checks = all_checks();
    (void)run_all(checks, *session_, [&](size_t index, const Outcome& outcome) {
      EXPECT_NE(outcome.verdict, Verdict::failed) << checks[index]->name << ": " << outcome.asked << "\n"
                                                  << outcome.came << "\n"
                                                  << outcome.found;
      left_out += outcome.verdict == Verdict::left_out;
      return true;
    });
    return left_out;
  }

  std::string folder_ = "/tmp/drover-csi-kit-XXXXXX";
  Settings settings_;
  Soil soil_;
  std::unique_ptr<Subject> good_, faulty_;
  std::unique_ptr<Session> session_;
};

const std::vector<std::string> kAll = {"--attach", "--topology", "zone=a"};

class GoodPlugin : public Kit {
 protected:
  void start_with(const std::string& mode, const std::vector<std::string>& more) {
    settings_.attachment_mode = mode;
    settings_.arguments.insert(settings_.arguments.end(), more.begin(), more.end());
    start();
  }
};

TEST_F(GoodPlugin, PassesWithFileSystems) {
  ASSERT_NO_FATAL_FAILURE(start_with("file-system", {}));
  EXPECT_EQ(pass_all(), 24);
}

TEST_F(GoodPlugin, PassesWithBlockDevices) {
  ASSERT_NO_FATAL_FAILURE(start_with("block-device", {}));
  EXPECT_EQ(pass_all(), 24);
}

TEST_F(GoodPlugin, PassesWithAttachedFileSystems) {
  ASSERT_NO_FATAL_FAILURE(start_with("file-system", kAll));
  EXPECT_EQ(pass_all(), 0);
}

TEST_F(GoodPlugin, PassesWithAttachedBlockDevices) {
  ASSERT_NO_FATAL_FAILURE(start_with("block-device", kAll));
  EXPECT_EQ(pass_all(), 0);
}

TEST_F(GoodPlugin, PassesAsANodeAlone) {
  ASSERT_NO_FATAL_FAILURE(start_with("file-system", {"--no-controller"}));
  EXPECT_GT(pass_all(), 100);
}

TEST_F(GoodPlugin, PassesWithAVolumeThatExists) {
  ASSERT_NO_FATAL_FAILURE(start_with("file-system", {}));
  Trial trial(*session_);
  const auto made = session_->client.call<v1::CreateVolumeResponse>(trial.creation());
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  ASSERT_TRUE(good_->end().ok());

  settings_.volume = made->volume().volume_id();
  settings_.context = {made->volume().volume_context().begin(), made->volume().volume_context().end()};
  settings_.arguments.push_back("--no-controller");
  ASSERT_NO_FATAL_FAILURE(start());
  const auto checks = all_checks();
  EXPECT_EQ(pass_all(), std::ranges::count_if(checks, [&](const Check* each) {
              return !missing(each->needs, session_->abilities, settings_).empty();
            }));
  EXPECT_EQ(missing(Check::stage | Check::stats | Check::volume | Check::mounts, session_->abilities, settings_), "");
}

TEST_F(GoodPlugin, PassesAsAControllerAlone) {
  ASSERT_NO_FATAL_FAILURE(start_with("file-system", {"--attach", "--no-node"}));
  EXPECT_GT(pass_all(), 60);
}

// A page may be shorter than asked, a capacity may be unknown, and readiness need not be said.
TEST_F(GoodPlugin, MayDoWhatTheSpecificationAllows) {
  ASSERT_NO_FATAL_FAILURE(start_with("file-system", kAll));
  const auto one = [](auto& request) { request.set_max_entries(1); };
  const Fault lists = both(hears<v1::ListVolumesRequest>(one), hears<v1::ListSnapshotsRequest>(one));
  const Fault sizes = both(edits<v1::CreateVolumeRequest>(
                               [](const auto&, auto& answer) { answer.mutable_volume()->clear_capacity_bytes(); }),
                           edits<v1::ProbeRequest>([](const auto&, auto& answer) { answer.clear_ready(); }));
  soil_.plant(both(lists, sizes));
  EXPECT_EQ(pass_all(), 0);
  EXPECT_TRUE(soil_.was_met());
}

// A socket behind which nobody answers.
TEST_F(Kit, EndsWhenThePluginHangs) {
  settings_ = {.program = {}, .socket = folder_ + "/mute.sock", .limit = std::chrono::milliseconds(300)};
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  settings_.socket.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  const auto subject = make_subject(settings_, kits_folder());
  ASSERT_FALSE(subject.ok());
  EXPECT_TRUE(subject.status().message().starts_with("the plugin is not ready in time")) << subject.status().message();
}

TEST_F(Kit, StopsWhenItIsToldTo) {
  start();
  const auto checks = all_checks();
  EXPECT_EQ(run_all(checks, *session_, [](size_t index, const Outcome&) { return index < 2; }).size(), 3u);
}

TEST_F(Kit, StartsAPluginThatDied) {
  start();
  good_->kill();
  const Outcome outcome = run(*select("identity.name").at(0), *session_);
  EXPECT_EQ(outcome.verdict, Verdict::failed);
  EXPECT_NE(outcome.found.find("signal 9"), std::string::npos) << outcome.found;
  EXPECT_EQ(run(*select("identity.name").at(0), *session_).verdict, Verdict::passed);
}

TEST(Names, AreUnique) {
  std::set<std::string_view> names;
  for (const Check* each : all_checks()) {
    EXPECT_TRUE(names.insert(each->name).second) << each->name;
  }
}

class EachCheck : public Kit, public ::testing::WithParamInterface<const Check*> {};

TEST_P(EachCheck, FindsItsFault) {
  const Check& check = *GetParam();
  settings_.arguments.insert(settings_.arguments.end(), kAll.begin(), kAll.end());
  start();
  Faults faults = node_faults(kits_folder());
  for (Faults more : {controller_faults(), snapshot_faults(), error_faults()}) faults.merge(more);
  ASSERT_TRUE(faults.contains(check.name)) << "no fault is there for it";
  soil_.plant(faults.at(check.name));
  const Outcome outcome = run(check, *session_);
  EXPECT_EQ(outcome.verdict, Verdict::failed) << outcome.found;
  EXPECT_TRUE(soil_.was_met());
  EXPECT_FALSE(outcome.found.empty());
  soil_.plant({});
  RecordProperty("found", outcome.found);
}

INSTANTIATE_TEST_SUITE_P(Kit, EachCheck, ::testing::ValuesIn(all_checks()), [](const auto& info) {
  std::string name(info.param->name);
  std::ranges::replace_if(
      name, [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
});

}  // namespace
}  // namespace drover::csi_kit
