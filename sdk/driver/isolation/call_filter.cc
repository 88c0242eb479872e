#include "call_filter.h"

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>

namespace drover {
namespace {

constexpr int kNever = -1;   // no capability allows it
constexpr int kAbsent = -1;  // the table has no such call

struct Call {
  std::string_view name;
  int capability;              // that allows it
  std::array<int, 3> numbers;  // by CallTable
};

constexpr Call kRefused[] = {
    // clang-format off
    {"bpf", CAP_SYS_ADMIN, {321, 357, 280}},
    {"fanotify_init", CAP_SYS_ADMIN, {300, 338, 262}},
    {"fsconfig", CAP_SYS_ADMIN, {431, 431, 431}},
    {"fsmount", CAP_SYS_ADMIN, {432, 432, 432}},
    {"fsopen", CAP_SYS_ADMIN, {430, 430, 430}},
    {"fspick", CAP_SYS_ADMIN, {433, 433, 433}},
    {"lookup_dcookie", CAP_SYS_ADMIN, {212, 253, 18}},
    {"mount", CAP_SYS_ADMIN, {165, 21, 40}},
    {"mount_setattr", CAP_SYS_ADMIN, {442, 442, 442}},
    {"move_mount", CAP_SYS_ADMIN, {429, 429, 429}},
    {"open_tree", CAP_SYS_ADMIN, {428, 428, 428}},
    {"perf_event_open", CAP_SYS_ADMIN, {298, 336, 241}},
    {"pivot_root", CAP_SYS_ADMIN, {155, 217, 41}},
    {"quotactl", CAP_SYS_ADMIN, {179, 131, 60}},
    {"quotactl_fd", CAP_SYS_ADMIN, {443, 443, 443}},
    {"setdomainname", CAP_SYS_ADMIN, {171, 121, 162}},
    {"sethostname", CAP_SYS_ADMIN, {170, 74, 161}},
    {"setns", CAP_SYS_ADMIN, {308, 346, 268}},
    {"swapoff", CAP_SYS_ADMIN, {168, 115, 225}},
    {"swapon", CAP_SYS_ADMIN, {167, 87, 224}},
    {"umount", CAP_SYS_ADMIN, {-1, 22, -1}},
    {"umount2", CAP_SYS_ADMIN, {166, 52, 39}},
    {"unshare", CAP_SYS_ADMIN, {272, 310, 97}},
    {"kcmp", CAP_SYS_PTRACE, {312, 349, 272}},
    {"pidfd_getfd", CAP_SYS_PTRACE, {438, 438, 438}},
    {"process_madvise", CAP_SYS_PTRACE, {440, 440, 440}},
    {"process_vm_readv", CAP_SYS_PTRACE, {310, 347, 270}},
    {"process_vm_writev", CAP_SYS_PTRACE, {311, 348, 271}},
    {"ptrace", CAP_SYS_PTRACE, {101, 26, 117}},
    {"create_module", CAP_SYS_MODULE, {174, 127, -1}},
    {"delete_module", CAP_SYS_MODULE, {176, 129, 106}},
    {"finit_module", CAP_SYS_MODULE, {313, 350, 273}},
    {"get_kernel_syms", CAP_SYS_MODULE, {177, 130, -1}},
    {"init_module", CAP_SYS_MODULE, {175, 128, 105}},
    {"query_module", CAP_SYS_MODULE, {178, 167, -1}},
    {"kexec_file_load", CAP_SYS_BOOT, {320, -1, 294}},
    {"kexec_load", CAP_SYS_BOOT, {246, 283, 104}},
    {"reboot", CAP_SYS_BOOT, {169, 88, 142}},
    {"clock_adjtime", CAP_SYS_TIME, {305, 343, 266}},
    {"clock_adjtime64", CAP_SYS_TIME, {-1, 405, 405}},
    {"clock_settime", CAP_SYS_TIME, {227, 264, 112}},
    {"clock_settime64", CAP_SYS_TIME, {-1, 404, 404}},
    {"settimeofday", CAP_SYS_TIME, {164, 79, 170}},
    {"stime", CAP_SYS_TIME, {-1, 25, -1}},
    {"ioperm", CAP_SYS_RAWIO, {173, 101, -1}},
    {"iopl", CAP_SYS_RAWIO, {172, 110, -1}},
    {"vm86", CAP_SYS_RAWIO, {-1, 166, -1}},
    {"vm86old", CAP_SYS_RAWIO, {-1, 113, -1}},
    {"acct", CAP_SYS_PACCT, {163, 51, 89}},
    {"get_mempolicy", CAP_SYS_NICE, {239, 275, 236}},
    {"mbind", CAP_SYS_NICE, {237, 274, 235}},
    {"migrate_pages", CAP_SYS_NICE, {256, 294, 238}},
    {"move_pages", CAP_SYS_NICE, {279, 317, 239}},
    {"set_mempolicy", CAP_SYS_NICE, {238, 276, 237}},
    {"set_mempolicy_home_node", CAP_SYS_NICE, {450, 450, 450}},
    {"vhangup", CAP_SYS_TTY_CONFIG, {153, 111, 58}},
    {"open_by_handle_at", CAP_DAC_READ_SEARCH, {304, 342, 265}},
    {"syslog", CAP_SYSLOG, {103, 103, 116}},
    {"_sysctl", kNever, {156, 149, -1}},
    {"add_key", kNever, {248, 286, 217}},
    {"io_uring_enter", kNever, {426, 426, 426}},
    {"io_uring_register", kNever, {427, 427, 427}},
    {"io_uring_setup", kNever, {425, 425, 425}},
    {"keyctl", kNever, {250, 288, 219}},
    {"nfsservctl", kNever, {180, 169, 42}},
    {"request_key", kNever, {249, 287, 218}},
    {"sysfs", kNever, {139, 135, -1}},
    {"uselib", kNever, {134, 86, -1}},
    {"userfaultfd", kNever, {323, 374, 282}},
    {"ustat", kNever, {136, 62, -1}},
    // clang-format on
};
constexpr std::array<uint32_t, 3> kLastNumber = {450, 450, 450};
constexpr std::array<uint32_t, 3> kClone = {56, 120, 220};
constexpr uint32_t kClone3 = 435;  // in every table
constexpr uint32_t kNamespaces =
    CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS;
constexpr std::array<uint32_t, 3> kArchitecture = {AUDIT_ARCH_X86_64, AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64};

constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr uint32_t refuse(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }

sock_filter statement(int code, uint32_t value) { return {static_cast<uint16_t>(code), 0, 0, value}; }
sock_filter jump(int code, uint32_t value, uint8_t yes, uint8_t no) {
  return {static_cast<uint16_t>(BPF_JMP | BPF_K | code), yes, no, value};
}
sock_filter load(size_t offset) { return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }
sock_filter answer(uint32_t value) { return statement(BPF_RET | BPF_K, value); }

bool has(uint64_t capabilities, int capability) {
  return capability != kNever && (capabilities >> capability & 1) != 0;
}

using Program = std::vector<sock_filter>;

void refuse_call(Program& program, uint32_t number, int error) {
  program.push_back(jump(BPF_JEQ, number, 0, 1));
  program.push_back(answer(refuse(error)));
}

// The answers to the calls of one table.
Program program_of(CallTable table, uint64_t capabilities) {
  const auto of = static_cast<size_t>(table);
  Program program = {load(offsetof(seccomp_data, nr)), jump(BPF_JGT, kLastNumber.at(of), 0, 1), answer(refuse(ENOSYS))};
  for (const Call& call : kRefused) {
    const int number = call.numbers.at(of);
    if (number != kAbsent && !has(capabilities, call.capability))
      refuse_call(program, static_cast<uint32_t>(number), EPERM);
  }
  if (!has(capabilities, CAP_SYS_ADMIN)) {
    // Its flags are in memory, where a filter cannot look: libraries then take the older call.
    refuse_call(program, kClone3, ENOSYS);
    program.push_back(jump(BPF_JEQ, kClone.at(of), 0, 4));
    program.push_back(load(offsetof(seccomp_data, args)));
    program.push_back(statement(BPF_ALU | BPF_AND | BPF_K, kNamespaces));
    program.push_back(jump(BPF_JEQ, 0, 1, 0));
    program.push_back(answer(refuse(EPERM)));
  }
  program.push_back(answer(kAllow));
  return program;
}

}  // namespace

std::vector<sock_filter> call_filter(uint64_t capabilities, const std::vector<CallTable>& tables) {
  Program program = {load(offsetof(seccomp_data, arch))};
  for (const CallTable table : tables) {
    const Program part = program_of(table, capabilities);
    program.push_back(jump(BPF_JEQ, kArchitecture.at(static_cast<size_t>(table)), 1, 0));
    program.push_back(statement(BPF_JMP | BPF_JA, static_cast<uint32_t>(part.size())));
    program.insert(program.end(), part.begin(), part.end());
  }
  program.push_back(answer(refuse(ENOSYS)));
  return program;
}

std::vector<sock_filter> call_filter(uint64_t capabilities) {
#if defined(__x86_64__)
  return call_filter(capabilities, {CallTable::x86_64, CallTable::i386});
#elif defined(__aarch64__)
  return call_filter(capabilities, {CallTable::aarch64});
#else
#error "the numbers of this processor's calls to the kernel are missing in kRefused"
#endif
}

std::string bytes_of(const std::vector<sock_filter>& program) {
  return {reinterpret_cast<const char*>(program.data()), program.size() * sizeof(sock_filter)};
}

}  // namespace drover
