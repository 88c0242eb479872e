#include "file_devices.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/device.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::file {
namespace {

using Json = nlohmann::json;

class FileDevicesTest : public ::testing::Test {
 protected:
  FileDevicesTest() {
    char name[] = "/tmp/drover-file-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~FileDevicesTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string file(const std::string& name, const std::string& text = "") {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  static Status configure(FileDevices& devices, const Json& config) {
    hashicorp::nomad::plugins::base::proto::SetConfigRequest request;
    const std::vector<uint8_t> bytes = Json::to_msgpack(config);
    request.set_msgpack_config(std::string(bytes.begin(), bytes.end()));
    return devices.configure(request);
  }
  Json pattern(const std::string& glob) const {
    return {{"vendor", "acme"},    {"type", "serial"}, {"name", "usb"}, {"pattern", folder_ + "/" + glob},
            {"permissions", "rw"}, {"env", nullptr}};
  }
  std::string folder_;
};

// "acme/serial/usb: tty0 tty1!" with '!' behind the unhealthy.
std::string groups_of(const device::FingerprintResponse& print) {
  std::string out;
  for (const device::DeviceGroup& group : print.device_group()) {
    out += group.vendor() + "/" + group.device_type() + "/" + group.device_name() + ":";
    for (const device::DetectedDevice& instance : group.devices()) {
      out += " " + std::filesystem::path(instance.id()).filename().string() + (instance.healthy() ? "" : "!");
    }
    out += "\n";
  }
  return out;
}

TEST_F(FileDevicesTest, WithoutConfigurationThereAreNone) {
  FileDevices devices;
  ASSERT_TRUE(devices.configure({}).ok());

  EXPECT_EQ("", groups_of(*devices.fingerprint()));
}

TEST_F(FileDevicesTest, EveryFileOfAPatternIsAnInstance) {
  file("tty1");
  file("tty0");
  file("other");
  Json second = pattern("oth*");
  second["name"] = "else";
  FileDevices devices;
  ASSERT_TRUE(configure(devices, {{"device", {pattern("tty*"), second}}}).ok());

  EXPECT_EQ("acme/serial/else: other\nacme/serial/usb: tty0 tty1\n", groups_of(*devices.fingerprint()));
}

TEST_F(FileDevicesTest, AFileOfTwoPatternsBelongsToTheFirst) {
  file("tty0");
  Json second = pattern("tty*");
  second["name"] = "else";
  FileDevices devices;
  ASSERT_TRUE(configure(devices, {{"device", {pattern("tty0"), second}}}).ok());

  EXPECT_EQ("acme/serial/usb: tty0\n", groups_of(*devices.fingerprint()));
}

TEST_F(FileDevicesTest, AFileThatCannotBeUsedIsUnhealthyAndSaysWhy) {
  const std::string target = file("target");
  std::filesystem::create_symlink(target, folder_ + "/tty0");
  FileDevices devices;
  ASSERT_TRUE(configure(devices, {{"device", {pattern("tty*")}}}).ok());
  EXPECT_EQ("acme/serial/usb: tty0\n", groups_of(*devices.fingerprint()));

  std::filesystem::remove(target);

  const auto print = devices.fingerprint();
  EXPECT_EQ("acme/serial/usb: tty0!\n", groups_of(*print));
  EXPECT_NE(std::string::npos, print->device_group(0).devices(0).health_description().find("No such file"));
}

TEST_F(FileDevicesTest, AttributesHaveTypesAndUnits) {
  file("tty0");
  Json device = pattern("tty*");
  device["attributes"] = {{"speed", "115200"}, {"buffer", "4 KiB"}, {"ratio", "1.5"}, {"fast", "true"}, {"chip", "FT"}};
  FileDevices devices;
  ASSERT_TRUE(configure(devices, {{"device", {device}}}).ok());

  const auto print = devices.fingerprint();
  const auto& attributes = print->device_group(0).attributes();
  EXPECT_EQ(115200, attributes.at("speed").int_val());
  EXPECT_EQ(4, attributes.at("buffer").int_val());
  EXPECT_EQ("KiB", attributes.at("buffer").unit());
  EXPECT_DOUBLE_EQ(1.5, attributes.at("ratio").float_val());
  EXPECT_TRUE(attributes.at("fast").bool_val());
  EXPECT_EQ("FT", attributes.at("chip").string_val());
}

TEST_F(FileDevicesTest, PlainFilesAreMountedAndNamedInAVariable) {
  const std::string one = file("tty0"), two = file("tty1");
  Json device = pattern("tty*");
  device["instance"] = Json::array({{{"path", two}, {"permissions", "r"}}});
  FileDevices devices;
  ASSERT_TRUE(configure(devices, {{"device", {device}}}).ok());

  const std::vector<std::string> ids{one, two};
  const auto reservation = devices.reserve(ids);

  ASSERT_TRUE(reservation.ok()) << reservation.status().message();
  EXPECT_EQ(one + "," + two, reservation->envs().at("SERIAL_DEVICES"));
  ASSERT_EQ(2, reservation->mounts_size());
  EXPECT_EQ(one, reservation->mounts(0).host_path());
  EXPECT_FALSE(reservation->mounts(0).read_only());
  EXPECT_TRUE(reservation->mounts(1).read_only());
  EXPECT_EQ(0, reservation->devices_size());
}

TEST_F(FileDevicesTest, DeviceNodesAreGivenAsSuch) {
  Json device = pattern("");
  device["pattern"] = "/dev/nul*";
  device["permissions"] = "r";
  device["env"] = "NOTHING";
  FileDevices devices;
  ASSERT_TRUE(configure(devices, {{"device", {device}}}).ok());

  const std::vector<std::string> ids{"/dev/null"};
  const auto reservation = devices.reserve(ids);

  ASSERT_TRUE(reservation.ok());
  ASSERT_EQ(1, reservation->devices_size());
  EXPECT_EQ("/dev/null", reservation->devices(0).task_path());
  EXPECT_EQ("r", reservation->devices(0).permissions());
  EXPECT_EQ("/dev/null", reservation->envs().at("NOTHING"));
}

TEST_F(FileDevicesTest, WhatNoPatternNamesIsNotGiven) {
  const std::string one = file("tty0");
  file("secret");
  FileDevices devices;
  ASSERT_TRUE(configure(devices, {{"device", {pattern("tty*")}}}).ok());

  const std::vector<std::string> ids{one, folder_ + "/secret"};
  EXPECT_EQ(not_found("no pattern names a file " + folder_ + "/secret"), devices.reserve(ids).status());
}

TEST_F(FileDevicesTest, PlainFilesHaveTheirSizeAsStatistics) {
  const std::string one = file("tty0", "four");
  std::filesystem::create_directory(folder_ + "/tty1");
  FileDevices devices;
  ASSERT_TRUE(configure(devices, {{"device", {pattern("tty*")}}}).ok());

  const auto stats = devices.stats();

  ASSERT_EQ(1, stats->groups_size());
  ASSERT_EQ(1, stats->groups(0).instance_stats_size());
  EXPECT_EQ(4, stats->groups(0).instance_stats().at(one).summary().int_numerator_val().value());
  EXPECT_GT(stats->groups(0).instance_stats().at(one).timestamp().seconds(), 0);
}

TEST_F(FileDevicesTest, WrongOptionsAreNamed) {
  const struct {
    const char* name;
    std::function<void(Json&)> spoil;
    const char* text;
  } cases[] = {
      {"relative", [](Json& config) { config["device"][0]["pattern"] = "dev/x"; },
       "device acme/serial/usb: pattern must be an absolute path, not \"dev/x\""},
      {"permissions", [](Json& config) { config["device"][0]["permissions"] = "rx"; },
       "device acme/serial/usb: permissions must be made of r, w and m, not \"rx\""},
      {"an empty name", [](Json& config) { config["device"][0]["name"] = ""; },
       "vendor, type and name must not be empty"},
      {"a slash", [](Json& config) { config["device"][0]["type"] = "a/b"; }, "must not hold a slash"},
      {"a variable", [](Json& config) { config["device"][0]["env"] = "A-B"; }, "env must be the name of a variable"},
      {"an instance",
       [](Json& config) {
         config["device"][0]["instance"] = {{{"path", "/x"}, {"permissions", ""}}};
       },
       "instance /x: permissions must be made of r, w and m"},
      {"a period", [](Json& config) { config["fingerprint_period"] = "soon"; }, "fingerprint_period"},
      {"a short period", [](Json& config) { config["fingerprint_period"] = "1ms"; }, "at least 100ms"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Json config{{"device", Json::array({pattern("tty*")})}};
    c.spoil(config);
    FileDevices devices;
    const Status status = configure(devices, config);
    EXPECT_EQ(Code::invalid_argument, status.code());
    EXPECT_NE(std::string::npos, status.message().find(c.text)) << status.message();
  }
}

}  // namespace
}  // namespace drover::file
