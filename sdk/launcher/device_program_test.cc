#include "device_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <fstream>

namespace drover {
namespace {

using Device = CgroupLimits::Device;

// Runs the program as the kernel does; absent: it leaves its instructions or holds one that this does not know.
std::optional<uint64_t> run(const std::vector<bpf_insn>& program, const bpf_cgroup_dev_ctx& use) {
  std::array<uint64_t, 11> registers{};
  for (size_t at = 0; at < program.size(); ++at) {
    const bpf_insn& one = program[at];
    uint64_t& to = registers.at(one.dst_reg);
    const auto value = static_cast<uint32_t>(one.imm);
    switch (one.code) {
      case BPF_LDX | BPF_MEM | BPF_W:
        to = *reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(&use) + one.off);
        break;
      case BPF_ALU | BPF_K | BPF_AND:
        to = static_cast<uint32_t>(to) & value;
        break;
      case BPF_ALU | BPF_K | BPF_RSH:
        to = static_cast<uint32_t>(to) >> value;
        break;
      case BPF_ALU64 | BPF_X | BPF_MOV:
        to = registers.at(one.src_reg);
        break;
      case BPF_ALU64 | BPF_K | BPF_MOV:
        to = value;
        break;
      case BPF_JMP | BPF_K | BPF_JNE:
        if (to != value) at += static_cast<size_t>(one.off);
        break;
      case BPF_JMP | BPF_EXIT:
        return registers[0];
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

TEST(DeviceProgram, AllowsWhatIsNamedAndNothingElse) {
  const std::vector<Device> rules = {{.type = 'c', .major = {}, .minor = {}, .access = "m"},
                                     {.type = 'c', .major = 1, .minor = 3},
                                     {.type = 'c', .major = 136, .minor = {}, .access = "rw"},
                                     {.type = 'b', .major = 8, .minor = 1, .access = "r"}};
  constexpr uint32_t kRead = BPF_DEVCG_ACC_READ, kWrite = BPF_DEVCG_ACC_WRITE, kMake = BPF_DEVCG_ACC_MKNOD;
  const struct {
    const char* name;
    uint32_t type, access, major, minor;
    uint64_t expected;
  } cases[] = {
      {"null", BPF_DEVCG_DEV_CHAR, kRead | kWrite, 1, 3, 1},
      {"memory beside it", BPF_DEVCG_DEV_CHAR, kRead, 1, 1, 0},
      {"any terminal", BPF_DEVCG_DEV_CHAR, kRead | kWrite, 136, 77, 1},
      {"made, not used", BPF_DEVCG_DEV_CHAR, kMake, 10, 1, 1},
      {"made and used", BPF_DEVCG_DEV_CHAR, kMake | kRead, 10, 1, 0},
      {"a disk is read", BPF_DEVCG_DEV_BLOCK, kRead, 8, 1, 1},
      {"a disk is written", BPF_DEVCG_DEV_BLOCK, kRead | kWrite, 8, 1, 0},
      {"the same numbers of another type", BPF_DEVCG_DEV_CHAR, kRead, 8, 1, 0},
      {"a disk is made", BPF_DEVCG_DEV_BLOCK, kMake, 8, 1, 0},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const bpf_cgroup_dev_ctx use{.access_type = c.access << 16 | c.type, .major = c.major, .minor = c.minor};
    EXPECT_EQ(c.expected, run(device_program(rules), use));
  }
}

// A child in the group, which tries the device.
int opened_in(const std::string& group, const char* device) {
  const pid_t child = fork();
  if (child == 0) {
    const int join = open((group + "/cgroup.procs").c_str(), O_WRONLY);
    if (join < 0 || write(join, "0", 1) != 1) _exit(2);
    _exit(open(device, O_RDONLY) >= 0 ? 0 : errno == EPERM ? 1 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(DeviceProgram, IsTakenByTheKernel) {
  const std::string tree = detect_cgroups().v2;
  if (tree.empty()) GTEST_SKIP() << "missing: a writable tree of control groups of version 2";
  const std::string group = tree + "/drover-test-devices-" + std::to_string(getpid());
  ASSERT_EQ(0, mkdir(group.c_str(), 0755));
  const Status attached = attach_devices(group, {{.type = 'c', .major = 1, .minor = 3}});
  EXPECT_TRUE(attached.ok()) << attached.to_string();
  EXPECT_EQ(0, opened_in(group, "/dev/null"));
  EXPECT_EQ(attached.ok() ? 1 : 0, opened_in(group, "/dev/zero"));
  EXPECT_EQ(0, rmdir(group.c_str()));
}

}  // namespace
}  // namespace drover
