#include "confine.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "drover/process.h"

namespace drover::launcher {
namespace {

constexpr int kMostCapabilities = 64;

Confined failed(std::string step) { return ConfineFailure{errno, std::move(step)}; }

std::string proc_of(int pid, const char* what) { return "/proc/" + std::to_string(pid) + "/" + what; }

using CapabilityData = std::array<__user_cap_data_struct, 2>;

bool get_capabilities(CapabilityData& data) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  return syscall(SYS_capget, &header, data.data()) == 0;
}

bool set_capabilities(const CapabilityData& data) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  return syscall(SYS_capset, &header, data.data()) == 0;
}

uint64_t permitted(const CapabilityData& data) { return data[0].permitted | uint64_t{data[1].permitted} << 32; }

}  // namespace

Confined Confiner::open_joined() {
  const int pid = confinement_.joins.pid;
  struct Wanted {
    Confinement::Own own;
    Fd& fd;
    const char* file;
  };
  const Wanted all[] = {{Confinement::mounts, mounts_, "ns/mnt"},       {Confinement::mounts, root_, "root"},
                        {Confinement::processes, processes_, "ns/pid"}, {Confinement::ipc, ipc_, "ns/ipc"},
                        {Confinement::hostname, host_name_, "ns/uts"},  {Confinement::cgroups, cgroups_, "ns/cgroup"}};
  for (const auto& [own, fd, file] : all) {
    if (!is_own(own)) continue;
    fd = Fd(open(proc_of(pid, file).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd && errno == ENOENT) errno = ESRCH;
    if (!fd) return failed("join the task");
  }
  // Only now is it known whose they are.
  if (process_start_time(pid) == confinement_.joins.start_time) return {};
  errno = ESRCH;
  return failed("join the task");
}

Confined Confiner::prepare() {
  if (confinement_.joins.pid != 0) {
    if (Confined failure = open_joined()) return failure;
  }
  if (!is_own(Confinement::processes)) return {};
  own_processes_ = Fd(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
  if (!own_processes_) return failed("open the pid namespace");
  const int entered = processes_ ? setns(processes_.get(), CLONE_NEWPID) : unshare(CLONE_NEWPID);
  if (entered == 0) return {};
  Confined failure = failed("make a pid namespace");
  own_processes_.close();
  return failure;
}

void Confiner::leave() {
  if (!own_processes_) return;
  // Back to where the process itself is, which is always allowed; elsewhere no other child could be started.
  if (setns(own_processes_.get(), CLONE_NEWPID) != 0) std::abort();
  own_processes_.close();
}

Confined Confiner::join() const {
  for (const auto& [fd, type] : {std::pair(&ipc_, CLONE_NEWIPC), std::pair(&host_name_, CLONE_NEWUTS),
                                 std::pair(&cgroups_, CLONE_NEWCGROUP), std::pair(&mounts_, CLONE_NEWNS)}) {
    if (*fd && setns(fd->get(), type) != 0) return failed("join the task's namespaces");
  }
  if (root_ && (fchdir(root_.get()) != 0 || chroot(".") != 0 || chdir("/") != 0))
    return failed("enter the task's root");
  return {};
}

Confined Confiner::make() const {
  int flags = 0;
  for (const auto& [own, flag] :
       {std::pair(Confinement::ipc, CLONE_NEWIPC), std::pair(Confinement::hostname, CLONE_NEWUTS),
        std::pair(Confinement::cgroups, CLONE_NEWCGROUP), std::pair(Confinement::mounts, CLONE_NEWNS)}) {
    if (is_own(own)) flags |= flag;
  }
  if (unshare(flags) != 0) return failed("make namespaces");
  const std::string& name = confinement_.host_name;
  if (!name.empty() && sethostname(name.data(), name.size()) != 0) return failed("set the host name " + name);
  return confinement_.root ? enter_root(*confinement_.root) : Confined();
}

Confined Confiner::surround() {
  if (confinement_.resets_oom_score) {
    // Lowering it takes a right that the launcher may lack; the task then stays as likely a victim as the agent.
    const Fd score(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
    [[maybe_unused]] const ssize_t n = score ? write(score.get(), "0", 1) : 0;
  }
  // Others in there must not reach into this process while it has the machine's files; a program's start ends it.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return failed("close this process to others");
  if (Confined failure = confinement_.joins.pid != 0 ? join() : make()) return failure;
  if (confinement_.has_own_keyring && syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && errno != ENOSYS)
    return failed("make a session keyring");
  return {};
}

Confined Confiner::filter() {
  if (confinement_.capabilities) {
    CapabilityData data{};
    if (!get_capabilities(data)) return failed("read capabilities");
    capabilities_ = *confinement_.capabilities & permitted(data);
  }
  // While the right to it is there: without no_new_privs it takes one.
  const std::string& filter = confinement_.call_filter;
  if (!filter.empty()) {
    std::vector<sock_filter> program(filter.size() / sizeof(sock_filter));
    std::memcpy(program.data(), filter.data(), program.size() * sizeof(sock_filter));
    sock_fprog wanted{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &wanted) != 0) return failed("filter calls to the kernel");
  }
  if (!confinement_.capabilities) return {};
  for (int one = 0; one < kMostCapabilities; ++one) {
    const int has = prctl(PR_CAPBSET_READ, one, 0, 0, 0);
    if (has < 0) break;  // the kernel knows no more
    if (has == 0 || (capabilities_ >> one & 1) != 0) continue;
    if (prctl(PR_CAPBSET_DROP, one, 0, 0, 0) != 0) return failed("drop capability " + std::to_string(one));
  }
  return {};
}

Confined Confiner::keep_over_user() const {
  if (confinement_.capabilities && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) return failed("keep capabilities");
  return {};
}

Confined Confiner::reduce(uint32_t user) const {
  if (confinement_.capabilities) {
    // Root's are its bounding set, whatever is inherited.
    const uint64_t inherited = user == 0 ? 0 : capabilities_;
    CapabilityData data{};
    for (size_t half = 0; half < data.size(); ++half) {
      data[half].effective = data[half].permitted = static_cast<uint32_t>(capabilities_ >> (32 * half));
      data[half].inheritable = static_cast<uint32_t>(inherited >> (32 * half));
    }
    if (!set_capabilities(data)) return failed("set capabilities");
    for (int one = 0; one < kMostCapabilities; ++one) {
      if ((inherited >> one & 1) == 0) continue;
      if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, one, 0, 0) != 0)
        return failed("raise capability " + std::to_string(one));
    }
  }
  if (confinement_.no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("set no_new_privs");
  return {};
}

}  // namespace drover::launcher
