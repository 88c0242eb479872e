// The program as tests run it: started on a socket in a folder of its own, killed, started again, asked over CSI. Its
// mounts stay in a mount namespace of the test program's.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "csi/protocol/client.h"
#include "drover/mounts.h"
#include "drover/plugin_programs/process.h"
#include "drover/read_all.h"
#include "requests.h"
#include "sdk/testing/own_mounts.h"
#include "sdk/testing/waiting.h"

namespace drover::hostpath {

inline constexpr csi::CallLimits kOnce{.each_try = std::chrono::seconds(60), .tries = 1};

inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return read_all(file);
}

inline void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// A folder that is gone with the test, with whatever is still mounted in it.
class Place {
 public:
  Place() { EXPECT_NE(::mkdtemp(path_.data()), nullptr); }
  ~Place() {
    for (const std::string& each : mounts()) ::umount2(each.c_str(), MNT_DETACH);
    std::filesystem::remove_all(path_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  // Below this folder; the newest first.
  std::vector<std::string> mounts() const {
    std::vector<std::string> found;
    for (const MountPoint& each : parse_mountinfo(text_of("/proc/self/mountinfo"))) {
      if (each.path.starts_with(path_ + "/")) found.insert(found.begin(), each.path);
    }
    return found;
  }

 private:
  std::string path_ = "/tmp/drover-hostpath-XXXXXX";
};

// One running program.
class Instance {
 public:
  template <typename Request>
  auto ask(const Request& request) {
    return client_.call<decltype(answer_of(request))>(request, kOnce);
  }
  template <typename Request>
  Code code(const Request& request) {
    return ask(request).status().code();
  }

  // Waits until it answers. `folder`: of its socket.
  Instance(const Place& place, std::string node, std::vector<std::string> more = {})
      : socket_(place / (node + ".sock")), client_(socket_) {
    arguments_ = {"--endpoint", "unix://" + socket_, "--node-id", std::move(node), "--data-dir", place / "data"};
    arguments_.insert(arguments_.end(), more.begin(), more.end());
    start();
  }
  void start() {
    auto process = plugin_programs::Process::start({.file = DROVER_HOSTPATH, .arguments = arguments_});
    ASSERT_TRUE(process.ok()) << process.status().to_string();
    process_ = *std::move(process);
    const bool answers = eventually([this] { return ask(csi::v1::ProbeRequest()).ok(); });
    ASSERT_TRUE(answers) << ask(csi::v1::ProbeRequest()).status().to_string() << "\n" << printed();
  }
  void kill_and_start() {
    end(SIGKILL);
    start();
  }
  // How it ended.
  std::string end(int signal) {
    process_->kill(signal);
    pollfd ended{.fd = process_->ended_fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&ended, 1, 20'000), 1) << "it does not end";
    (void)printed();
    return process_->collect();
  }
  // All that it has printed so far.
  const std::string& printed() {
    std::string piece(65536, '\0');
    for (ssize_t got; (got = ::read(process_->err(), piece.data(), piece.size())) > 0;)
      printed_.append(piece, 0, static_cast<size_t>(got));
    return printed_;
  }
  const std::string& socket() const { return socket_; }

 private:
  static csi::v1::ProbeResponse answer_of(const csi::v1::ProbeRequest&);
  static csi::v1::GetPluginInfoResponse answer_of(const csi::v1::GetPluginInfoRequest&);
  static csi::v1::GetPluginCapabilitiesResponse answer_of(const csi::v1::GetPluginCapabilitiesRequest&);
  static csi::v1::ControllerGetCapabilitiesResponse answer_of(const csi::v1::ControllerGetCapabilitiesRequest&);
  static csi::v1::CreateVolumeResponse answer_of(const csi::v1::CreateVolumeRequest&);
  static csi::v1::DeleteVolumeResponse answer_of(const csi::v1::DeleteVolumeRequest&);
  static csi::v1::ControllerPublishVolumeResponse answer_of(const csi::v1::ControllerPublishVolumeRequest&);
  static csi::v1::ControllerUnpublishVolumeResponse answer_of(const csi::v1::ControllerUnpublishVolumeRequest&);
  static csi::v1::ListVolumesResponse answer_of(const csi::v1::ListVolumesRequest&);
  static csi::v1::ControllerGetVolumeResponse answer_of(const csi::v1::ControllerGetVolumeRequest&);
  static csi::v1::GetCapacityResponse answer_of(const csi::v1::GetCapacityRequest&);
  static csi::v1::ControllerExpandVolumeResponse answer_of(const csi::v1::ControllerExpandVolumeRequest&);
  static csi::v1::ControllerModifyVolumeResponse answer_of(const csi::v1::ControllerModifyVolumeRequest&);
  static csi::v1::CreateSnapshotResponse answer_of(const csi::v1::CreateSnapshotRequest&);
  static csi::v1::DeleteSnapshotResponse answer_of(const csi::v1::DeleteSnapshotRequest&);
  static csi::v1::ListSnapshotsResponse answer_of(const csi::v1::ListSnapshotsRequest&);
  static csi::v1::GetSnapshotResponse answer_of(const csi::v1::GetSnapshotRequest&);
  static csi::v1::NodeGetCapabilitiesResponse answer_of(const csi::v1::NodeGetCapabilitiesRequest&);
  static csi::v1::NodeGetInfoResponse answer_of(const csi::v1::NodeGetInfoRequest&);
  static csi::v1::NodeStageVolumeResponse answer_of(const csi::v1::NodeStageVolumeRequest&);
  static csi::v1::NodeUnstageVolumeResponse answer_of(const csi::v1::NodeUnstageVolumeRequest&);
  static csi::v1::NodePublishVolumeResponse answer_of(const csi::v1::NodePublishVolumeRequest&);
  static csi::v1::NodeUnpublishVolumeResponse answer_of(const csi::v1::NodeUnpublishVolumeRequest&);
  static csi::v1::NodeGetVolumeStatsResponse answer_of(const csi::v1::NodeGetVolumeStatsRequest&);
  static csi::v1::NodeExpandVolumeResponse answer_of(const csi::v1::NodeExpandVolumeRequest&);

  const std::string socket_;
  std::vector<std::string> arguments_;
  csi::Client client_;
  std::string printed_;
  std::unique_ptr<plugin_programs::Process> process_;
};

// Skips, and says why, where mounts cannot be made.
class HostpathProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = testing::take_own_mounts(); !why.empty()) GTEST_SKIP() << why;
  }

  std::string make(Instance& instance, const csi::v1::CreateVolumeRequest& request) {
    const auto made = instance.ask(request);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return made ? made->volume().volume_id() : std::string();
  }
  // A folder to stage at, as a host makes it.
  std::string folder(const std::string& name) {
    const std::string path = place_ / name;
    std::filesystem::create_directories(path);
    return path;
  }

  static csi::v1::NodeUnpublishVolumeRequest unpublish(const std::string& volume, const std::string& target) {
    csi::v1::NodeUnpublishVolumeRequest request;
    request.set_volume_id(volume);
    request.set_target_path(target);
    return request;
  }
  static csi::v1::NodeUnstageVolumeRequest unstage(const std::string& volume, const std::string& path) {
    csi::v1::NodeUnstageVolumeRequest request;
    request.set_volume_id(volume);
    request.set_staging_target_path(path);
    return request;
  }
  static csi::v1::DeleteVolumeRequest remove(const std::string& volume) {
    csi::v1::DeleteVolumeRequest request;
    request.set_volume_id(volume);
    return request;
  }
  static csi::v1::NodeGetVolumeStatsRequest stats(const std::string& volume, const std::string& path) {
    csi::v1::NodeGetVolumeStatsRequest request;
    request.set_volume_id(volume);
    request.set_volume_path(path);
    return request;
  }

  Place place_;
};

}  // namespace drover::hostpath
