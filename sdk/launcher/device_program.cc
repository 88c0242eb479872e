#include "device_program.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "drover/fd.h"


namespace drover {
namespace {

enum Register : uint8_t { result = BPF_REG_0, context = BPF_REG_1, access = BPF_REG_2, type, major, minor, scratch };

bpf_insn instruction(int code, uint8_t to, uint8_t from, int16_t offset, int32_t value) {
  bpf_insn made{};
  made.code = static_cast<uint8_t>(code);
  made.dst_reg = to & 0xf;
  made.src_reg = from & 0xf;
  made.off = offset;
  made.imm = value;
  return made;
}
bpf_insn load(uint8_t to, size_t offset) {
  return instruction(BPF_LDX | BPF_MEM | BPF_W, to, context, static_cast<int16_t>(offset), 0);
}
bpf_insn alu(int operation, uint8_t to, int32_t value) {
  return instruction(BPF_ALU | BPF_K | operation, to, 0, 0, value);
}
bpf_insn move(uint8_t to, uint8_t from) { return instruction(BPF_ALU64 | BPF_X | BPF_MOV, to, from, 0, 0); }
bpf_insn move_value(uint8_t to, int32_t value) { return instruction(BPF_ALU64 | BPF_K | BPF_MOV, to, 0, 0, value); }
bpf_insn leave() { return instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }
bpf_insn jump_unless(uint8_t reg, int32_t value) { return instruction(BPF_JMP | BPF_K | BPF_JNE, reg, 0, 0, value); }

int32_t access_bits(const std::string& text) {
  int32_t bits = 0;
  if (text.find('r') != std::string::npos) bits |= BPF_DEVCG_ACC_READ;
  if (text.find('w') != std::string::npos) bits |= BPF_DEVCG_ACC_WRITE;
  if (text.find('m') != std::string::npos) bits |= BPF_DEVCG_ACC_MKNOD;
  return bits;
}

// Answers yes when all of it fits, and goes on behind it when anything does not.
void append(std::vector<bpf_insn>& program, const CgroupLimits::Device& device) {
  const size_t begin = program.size();
  program.push_back(jump_unless(type, device.type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR));
  program.push_back(move(scratch, access));
  program.push_back(alu(BPF_AND, scratch, ~access_bits(device.access)));  // asked for more
  program.push_back(jump_unless(scratch, 0));
  if (device.major) program.push_back(jump_unless(major, static_cast<int32_t>(*device.major)));
  if (device.minor) program.push_back(jump_unless(minor, static_cast<int32_t>(*device.minor)));
  program.push_back(move_value(result, 1));
  program.push_back(leave());
  for (size_t at = begin; at < program.size(); ++at) {
    if (program[at].code == (BPF_JMP | BPF_K | BPF_JNE))
      program[at].off = static_cast<int16_t>(program.size() - at - 1);
  }
}

long call_bpf(int command, bpf_attr& attributes) { return syscall(SYS_bpf, command, &attributes, sizeof attributes); }

}  // namespace

std::vector<bpf_insn> device_program(const std::vector<CgroupLimits::Device>& devices) {
  // access_type: the type of the device in the lower half, the access in the upper one.
  std::vector<bpf_insn> program = {
      load(type, offsetof(bpf_cgroup_dev_ctx, access_type)),   alu(BPF_AND, type, 0xffff),
      load(access, offsetof(bpf_cgroup_dev_ctx, access_type)), alu(BPF_RSH, access, 16),
      load(major, offsetof(bpf_cgroup_dev_ctx, major)),        load(minor, offsetof(bpf_cgroup_dev_ctx, minor))};
  for (const CgroupLimits::Device& device : devices) append(program, device);
  program.push_back(move_value(result, 0));
  program.push_back(leave());
  return program;
}

Status attach_devices(const std::string& folder, const std::vector<CgroupLimits::Device>& devices) {
  const std::vector<bpf_insn> program = device_program(devices);
  const Fd group(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!group) return errno_status(errno, "open control group " + folder);
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  load.insns = reinterpret_cast<uint64_t>(program.data());
  load.insn_cnt = static_cast<uint32_t>(program.size());
  load.license = reinterpret_cast<uint64_t>("GPL");
  const Fd loaded(static_cast<int>(call_bpf(BPF_PROG_LOAD, load)));
  if (!loaded) return errno_status(errno, "load the program that limits devices");
  bpf_attr attach{};
  attach.target_fd = static_cast<uint32_t>(group.get());
  attach.attach_bpf_fd = static_cast<uint32_t>(loaded.get());
  attach.attach_type = BPF_CGROUP_DEVICE;
  attach.attach_flags = BPF_F_ALLOW_MULTI;
  if (call_bpf(BPF_PROG_ATTACH, attach) != 0) return errno_status(errno, "limit the devices of " + folder);
  return ok_status();
}

}  // namespace drover
