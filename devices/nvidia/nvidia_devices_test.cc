// Over a library of our own with three GPUs: two T4, and an A100 with two partitions.
#include "nvidia_devices.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/device.pb.h"

namespace drover::nvidia {
namespace {

constexpr int kDriverNotLoaded = 9, kGpuIsLost = 15, kUnknown = 999;
constexpr unsigned kStart = 3;  // breaks the start of the library

class NvidiaTest : public ::testing::Test {
 protected:
  NvidiaTest() {
    void* library = ::dlopen(DROVER_FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
    break_ = reinterpret_cast<void (*)(unsigned, int)>(::dlsym(library, "fake_nvml_break"));
    for (unsigned i = 0; i <= kStart; ++i) break_(i, 0);
  }
  static Status configure(NvidiaDevices& devices, const nlohmann::json& config) {
    hashicorp::nomad::plugins::base::proto::SetConfigRequest request;
    const std::vector<uint8_t> bytes = nlohmann::json::to_msgpack(config);
    request.set_msgpack_config(std::string(bytes.begin(), bytes.end()));
    return devices.configure(request);
  }
  // "Tesla T4: GPU-1 GPU-2!" with '!' behind the unhealthy, a line each.
  static std::string groups_of(NvidiaDevices& devices) {
    const auto print = devices.fingerprint();
    if (!print) return print.status().message();
    std::string out;
    for (const device::DeviceGroup& group : print->device_group()) {
      out += group.device_name() + ":";
      for (const device::DetectedDevice& one : group.devices()) out += " " + one.id() + (one.healthy() ? "" : "!");
      out += "\n";
    }
    return out;
  }

  void (*break_)(unsigned, int) = nullptr;
  NvidiaDevices devices_{DROVER_FAKE_NVML};
};

constexpr const char* kAll = "NVIDIA A100-SXM4-40GB MIG 1g.5gb: MIG-10 MIG-12\nTesla T4: GPU-1 GPU-2\n";

TEST_F(NvidiaTest, AreGroupedByModelAndPartitionsStandForTheirGpu) { EXPECT_EQ(kAll, groups_of(devices_)); }

TEST_F(NvidiaTest, SayWhatTheyAre) {
  const auto print = devices_.fingerprint();
  ASSERT_EQ(2, print->device_group_size());
  const device::DeviceGroup& t4 = print->device_group(1);
  EXPECT_EQ("nvidia", t4.vendor());
  EXPECT_EQ("gpu", t4.device_type());
  EXPECT_EQ("0000:02:00.0", t4.devices(1).hw_locality().pci_bus_id());
  const auto number = [&](const char* name) {
    return std::to_string(t4.attributes().at(name).int_val()) + t4.attributes().at(name).unit();
  };
  EXPECT_EQ("16384MiB", number("memory"));
  EXPECT_EQ("256MiB", number("bar1"));
  EXPECT_EQ("70W", number("power"));
  EXPECT_EQ("1590MHz", number("cores_clock"));
  EXPECT_EQ("5001MHz", number("memory_clock"));
  EXPECT_EQ("15760MB/s", number("pci_bandwidth"));
  EXPECT_EQ("535.104.05", t4.attributes().at("driver_version").string_val());
  EXPECT_EQ("Disabled", t4.attributes().at("display_state").string_val());
  EXPECT_EQ("Enabled", t4.attributes().at("persistence_mode").string_val());
  const device::DeviceGroup& partitions = print->device_group(0);
  EXPECT_EQ(5120, partitions.attributes().at("memory").int_val());
  EXPECT_FALSE(partitions.attributes().contains("power"));
  EXPECT_EQ("0000:03:00.0", partitions.devices(0).hw_locality().pci_bus_id());
}

TEST_F(NvidiaTest, ALostOneIsUnhealthyAndComesBack) {
  ASSERT_EQ(kAll, groups_of(devices_));
  break_(0, kGpuIsLost);
  EXPECT_EQ("NVIDIA A100-SXM4-40GB MIG 1g.5gb: MIG-10 MIG-12\nTesla T4: GPU-1! GPU-2\n", groups_of(devices_));
  EXPECT_EQ("GPU is lost", devices_.fingerprint()->device_group(1).devices(0).health_description());
  break_(2, kGpuIsLost);
  EXPECT_EQ("NVIDIA A100-SXM4-40GB MIG 1g.5gb: MIG-10! MIG-12!\nTesla T4: GPU-1! GPU-2\n", groups_of(devices_));
  break_(0, 0);
  break_(2, 0);
  EXPECT_EQ(kAll, groups_of(devices_));
}

TEST_F(NvidiaTest, OneThatIsLostFromTheStartIsNotThere) {
  break_(0, kGpuIsLost);
  EXPECT_EQ("NVIDIA A100-SXM4-40GB MIG 1g.5gb: MIG-10 MIG-12\nTesla T4: GPU-2\n", groups_of(devices_));
}

TEST_F(NvidiaTest, ALibraryThatFailsIsAnErrorWithItsWords) {
  break_(1, kUnknown);
  EXPECT_EQ("NVML: read GPU 1: Unknown Error", groups_of(devices_));
  break_(kStart, kDriverNotLoaded);
  NvidiaDevices fresh(DROVER_FAKE_NVML);
  EXPECT_EQ("NVML: start: Driver Not Loaded", groups_of(fresh));
  break_(kStart, 0);
  break_(1, 0);
  EXPECT_EQ(kAll, groups_of(fresh));
}

TEST_F(NvidiaTest, WithoutTheLibraryThereAreNone) {
  NvidiaDevices none("libdrover-has-no-such-library.so.1");
  EXPECT_EQ("", groups_of(none));
  EXPECT_EQ(0, none.stats()->groups_size());
  const std::vector<std::string> ids{"GPU-1"};
  EXPECT_EQ(not_found("unknown device IDs: GPU-1"), none.reserve(ids).status());
}

TEST_F(NvidiaTest, ALibraryOfAnotherKindIsRefusedByWhatItLacks) {
  NvidiaDevices other("libc.so.6");
  const Status status = other.fingerprint().status();
  EXPECT_EQ(Code::failed_precondition, status.code());
  EXPECT_NE(std::string::npos, status.message().find("lacks nvmlInit_v2, ")) << status.message();
}

TEST_F(NvidiaTest, AreNamedToTheTask) {
  const std::vector<std::string> known{"GPU-2", "MIG-10"}, unknown{"GPU-1", "GPU-9", "GPU-3"};
  EXPECT_EQ("GPU-2,MIG-10", devices_.reserve(known)->envs().at("NVIDIA_VISIBLE_DEVICES"));
  // The third is not to be had as a whole.
  EXPECT_EQ(not_found("unknown device IDs: GPU-9,GPU-3"), devices_.reserve(unknown).status());
  EXPECT_TRUE(devices_.reserve({})->envs().empty());
}

TEST_F(NvidiaTest, AreIgnoredOrSwitchedOffAsTheOperatorSays) {
  ASSERT_TRUE(configure(devices_, {{"enabled", true}, {"ignored_gpu_ids", {"GPU-1", "MIG-12"}}}).ok());
  EXPECT_EQ("NVIDIA A100-SXM4-40GB MIG 1g.5gb: MIG-10\nTesla T4: GPU-2\n", groups_of(devices_));
  const std::vector<std::string> ids{"GPU-1"};
  EXPECT_EQ(Code::not_found, devices_.reserve(ids).status().code());

  ASSERT_TRUE(configure(devices_, {{"enabled", false}, {"ignored_gpu_ids", nullptr}}).ok());
  EXPECT_EQ("", groups_of(devices_));

  ASSERT_TRUE(configure(devices_, {{"fingerprint_period", "5s"}}).ok());
  EXPECT_EQ(std::chrono::seconds(5), devices_.fingerprint_every());
  EXPECT_EQ(kAll, groups_of(devices_));
  for (const char* wrong : {"soon", "1ms"}) {
    const Status status = configure(devices_, {{"fingerprint_period", wrong}});
    EXPECT_EQ(Code::invalid_argument, status.code());
    EXPECT_NE(std::string::npos, status.message().find("fingerprint_period")) << status.message();
  }
}

TEST_F(NvidiaTest, AreMeasured) {
  const auto stats = devices_.stats();
  ASSERT_TRUE(stats.ok());
  ASSERT_EQ(2, stats->groups_size());
  const auto& t4 = stats->groups(1).instance_stats().at("GPU-1");
  const auto shown = [](const device::DeviceStats& one, const char* name) {
    const auto& value = one.stats().attributes().at(name);
    if (value.has_string_val()) return value.string_val().value();
    std::string text = std::to_string(value.int_numerator_val().value());
    if (value.has_int_denominator_val()) text += "/" + std::to_string(value.int_denominator_val().value());
    return text + value.unit();
  };
  EXPECT_EQ("33/70W", shown(t4, "Power usage"));
  EXPECT_EQ("1024/16384MiB", shown(t4, "Memory state"));
  EXPECT_EQ("6/256MiB", shown(t4, "BAR1 buffer state"));
  EXPECT_EQ("42%", shown(t4, "GPU utilization"));
  EXPECT_EQ("17%", shown(t4, "Memory utilization"));
  EXPECT_EQ("5%", shown(t4, "Encoder utilization"));
  EXPECT_EQ("N/A", shown(t4, "Decoder utilization"));
  EXPECT_EQ("55C", shown(t4, "Temperature"));
  EXPECT_EQ("1#", shown(t4, "ECC L1 errors"));
  EXPECT_EQ("2#", shown(t4, "ECC L2 errors"));
  EXPECT_EQ("3#", shown(t4, "ECC memory errors"));
  EXPECT_EQ(1024, t4.summary().int_numerator_val().value());
  EXPECT_GT(t4.timestamp().seconds(), 0);
  const auto& partition = stats->groups(0).instance_stats().at("MIG-10");
  EXPECT_EQ("1024/5120MiB", shown(partition, "Memory state"));
  EXPECT_EQ("N/A", shown(partition, "GPU utilization"));
}

TEST_F(NvidiaTest, ALostOneIsNotMeasured) {
  (void)devices_.fingerprint();
  break_(0, kGpuIsLost);
  const auto stats = devices_.stats();
  EXPECT_FALSE(stats->groups(1).instance_stats().contains("GPU-1"));
  EXPECT_TRUE(stats->groups(1).instance_stats().contains("GPU-2"));
}

}  // namespace
}  // namespace drover::nvidia
