#include "call_filter.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>

#include <cerrno>
#include <cstring>

namespace drover {
namespace {

// Runs the program as the kernel does; the answer, or nothing for one that leaves its instructions.
std::optional<uint32_t> run(const std::vector<sock_filter>& program, const seccomp_data& call) {
  uint32_t value = 0;
  for (size_t at = 0; at < program.size(); ++at) {
    const sock_filter& one = program[at];
    switch (one.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&value, reinterpret_cast<const char*>(&call) + one.k, sizeof value);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        value &= one.k;
        break;
      case BPF_JMP | BPF_JA:
        at += one.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += value == one.k ? one.jt : one.jf;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        at += value > one.k ? one.jt : one.jf;
        break;
      case BPF_RET | BPF_K:
        return one.k;
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

constexpr uint32_t kAllowed = SECCOMP_RET_ALLOW, kRefused = SECCOMP_RET_ERRNO | EPERM,
                   kAbsent = SECCOMP_RET_ERRNO | ENOSYS;
const std::vector<CallTable> kOnIntel = {CallTable::x86_64, CallTable::i386};

TEST(CallFilter, RefusesWhatReachesOut) {
  constexpr uint64_t kAdmin = uint64_t{1} << CAP_SYS_ADMIN, kTrace = uint64_t{1} << CAP_SYS_PTRACE;
  const struct {
    const char* name;
    uint64_t capabilities;
    uint32_t architecture;
    int number;
    uint64_t argument;
    uint32_t expected;
  } cases[] = {
      {"read", 0, AUDIT_ARCH_X86_64, 0, 0, kAllowed},
      {"execve", 0, AUDIT_ARCH_X86_64, 59, 0, kAllowed},
      {"the last but one", 0, AUDIT_ARCH_X86_64, 449, 0, kAllowed},
      {"one that is too young", 0, AUDIT_ARCH_X86_64, 451, 0, kAbsent},
      {"the other numbers of the same processor", 0, AUDIT_ARCH_X86_64, 0x40000000 + 165, 0, kAbsent},
      {"mount", 0, AUDIT_ARCH_X86_64, 165, 0, kRefused},
      {"mount, of who may", kAdmin, AUDIT_ARCH_X86_64, 165, 0, kAllowed},
      {"mount, by its 32-bit number", 0, AUDIT_ARCH_I386, 21, 0, kRefused},
      {"ptrace", 0, AUDIT_ARCH_X86_64, 101, 0, kRefused},
      {"ptrace, of who may", kTrace, AUDIT_ARCH_X86_64, 101, 0, kAllowed},
      {"ptrace, of who may other things", kAdmin, AUDIT_ARCH_X86_64, 101, 0, kRefused},
      {"init_module", 0, AUDIT_ARCH_X86_64, 175, 0, kRefused},
      {"keyctl, of whoever", ~uint64_t{0}, AUDIT_ARCH_X86_64, 250, 0, kRefused},
      {"a thread", 0, AUDIT_ARCH_X86_64, 56, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, kAllowed},
      {"a namespace", 0, AUDIT_ARCH_X86_64, 56, CLONE_NEWUSER, kRefused},
      {"a namespace, of who may", kAdmin, AUDIT_ARCH_X86_64, 56, CLONE_NEWNS, kAllowed},
      {"a namespace, by its 32-bit number", 0, AUDIT_ARCH_I386, 120, CLONE_NEWPID, kRefused},
      {"clone3", 0, AUDIT_ARCH_X86_64, 435, 0, kAbsent},
      {"clone3, of who may", kAdmin, AUDIT_ARCH_X86_64, 435, 0, kAllowed},
      {"another processor", 0, AUDIT_ARCH_AARCH64, 0, 0, kAbsent},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    seccomp_data call{};
    call.nr = c.number;
    call.arch = c.architecture;
    call.args[0] = c.argument;
    EXPECT_EQ(c.expected, run(call_filter(c.capabilities, kOnIntel), call));
  }
}

TEST(CallFilter, KnowsTheOtherProcessorsNumbers) {
  const std::vector<sock_filter> program = call_filter(0, {CallTable::aarch64});
  const auto answer = [&](int number) {
    seccomp_data call{};
    call.nr = number;
    call.arch = AUDIT_ARCH_AARCH64;
    return run(program, call);
  };
  EXPECT_EQ(kRefused, answer(40));   // mount
  EXPECT_EQ(kRefused, answer(117));  // ptrace
  EXPECT_EQ(kAllowed, answer(63));   // read
}

TEST(CallFilter, FitsIntoTheKernel) {
  EXPECT_LE(call_filter(0).size(), size_t{BPF_MAXINSNS});
  EXPECT_EQ(call_filter(0).size() * sizeof(sock_filter), bytes_of(call_filter(0)).size());
}

}  // namespace
}  // namespace drover
