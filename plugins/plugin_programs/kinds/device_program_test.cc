// A device plugin over a real process: what it says, gives and counts, and that process killed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "drover/device_plugin.h"
#include "testing/running_plugin.h"

#include "nomad/plugins/device.pb.h"

namespace drover::plugin_programs {
namespace {

using State = Supervision::State;

class DeviceFolder {
 public:
  DeviceFolder() {
    char name[] = "/tmp/drover-devices-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~DeviceFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const {
    std::ofstream(path_ + "/" + name) << "four";
    return path_ + "/" + name;
  }
  // The configuration of `devices/file` that publishes what is here.
  hcl::Value config() const {
    const hcl::Object device{{"vendor", "acme"},
                             {"type", "serial"},
                             {"name", "usb"},
                             {"pattern", path_ + "/*"},
                             {"attributes", hcl::Object{{"speed", "115200"}}}};
    return hcl::Object{{"fingerprint_period", "100ms"}, {"device", hcl::List{device}}};
  }

 private:
  std::string path_;
};

size_t instances(const Result<device::FingerprintResponse>& print) {
  size_t count = 0;
  if (!print) return count;
  for (const auto& group : print->device_group()) count += static_cast<size_t>(group.devices_size());
  return count;
}

TEST(DeviceProgram, SaysWhatThereIsAndWhatHasChanged) {
  const DeviceFolder folder;
  (void)folder.file("tty0");
  RunningPlugin plugin(DROVER_FILE_PROGRAM, {}, quick_times(), folder.config());

  EXPECT_EQ("file", plugin.program().info().name());
  EXPECT_EQ(hashicorp::nomad::plugins::base::proto::DEVICE, plugin.program().info().type());
  ASSERT_TRUE(plugin.eventually([&] { return instances(plugin.as<DevicePlugin>().fingerprint()) == 1; }));
  const auto print = plugin.as<DevicePlugin>().fingerprint();
  EXPECT_EQ("acme", print->device_group(0).vendor());
  EXPECT_EQ(115200, print->device_group(0).attributes().at("speed").int_val());

  (void)folder.file("tty1");
  EXPECT_TRUE(plugin.eventually([&] { return instances(plugin.as<DevicePlugin>().fingerprint()) == 2; }));
}

TEST(DeviceProgram, GivesWhatATaskNeedsAndRefusesWhatIsNotThere) {
  const DeviceFolder folder;
  const std::string path = folder.file("tty0");
  RunningPlugin plugin(DROVER_FILE_PROGRAM, {}, quick_times(), folder.config());

  const std::vector<std::string> known{path}, unknown{"/etc/passwd"};
  const auto reservation = plugin.as<DevicePlugin>().reserve(known);
  ASSERT_TRUE(reservation.ok()) << reservation.status().message();
  EXPECT_EQ(path, reservation->envs().at("SERIAL_DEVICES"));
  ASSERT_EQ(1, reservation->mounts_size());

  const Status refused = plugin.as<DevicePlugin>().reserve(unknown).status();
  EXPECT_EQ(not_found("no pattern names a file /etc/passwd"), refused);
}

TEST(DeviceProgram, CountsAgainAndAgain) {
  const DeviceFolder folder;
  const std::string path = folder.file("tty0");
  RunningPlugin plugin(DROVER_FILE_PROGRAM, {}, quick_times(), folder.config());

  ASSERT_TRUE(plugin.eventually([&] {
    const auto stats = plugin.as<DevicePlugin>().stats();
    return stats.ok() && stats->groups_size() == 1;
  }));
  const auto stats = plugin.as<DevicePlugin>().stats();
  EXPECT_EQ(4, stats->groups(0).instance_stats().at(path).summary().int_numerator_val().value());
  EXPECT_GT(stats->groups(0).instance_stats().at(path).timestamp().seconds(), 0);
}

TEST(DeviceProgram, WithoutItsProcessThereAreNoDevicesUntilTheNextOne) {
  const DeviceFolder folder;
  const std::string path = folder.file("tty0");
  RunningPlugin plugin(DROVER_FILE_PROGRAM, {}, quick_times(), folder.config());
  ASSERT_TRUE(plugin.eventually([&] { return instances(plugin.as<DevicePlugin>().fingerprint()) == 1; }));

  ASSERT_TRUE(plugin.replace());

  EXPECT_TRUE(plugin.eventually([&] { return instances(plugin.as<DevicePlugin>().fingerprint()) == 1; }));
  const std::vector<std::string> ids{path};
  EXPECT_TRUE(plugin.as<DevicePlugin>().reserve(ids).ok());
  plugin.program().stop();
  EXPECT_EQ(Code::unavailable, plugin.as<DevicePlugin>().fingerprint().status().code());
}

TEST(DeviceProgram, AWrongOptionParksItAndIsNamed) {
  const DeviceFolder folder;
  hcl::Object wrong = folder.config().object();
  wrong["fingerprint_period"] = "soon";
  RunningPlugin plugin(DROVER_FILE_PROGRAM, {}, quick_times(), hcl::Value(wrong));

  ASSERT_TRUE(plugin.wait_state(State::parked));
  EXPECT_NE(std::string::npos, plugin.program().view().problem.find("fingerprint_period"))
      << plugin.program().view().problem;
  EXPECT_EQ(nullptr, plugin.hosted().find<DevicePlugin>()) << "nobody is given what has never run";
}

}  // namespace
}  // namespace drover::plugin_programs
