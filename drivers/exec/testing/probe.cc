// A task that tries what it must not be able to do: says for each of its arguments the name of the error, or "done".
// For exec_test; linked statically, so that it runs in any root.
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

using Attempt = bool (*)();

// The way out of a root that was only changed by chroot.
bool climb() {
  mkdir("/local/deep", 0755);
  const int here = open("/", O_RDONLY | O_DIRECTORY);
  if (here < 0 || chroot("/local/deep") != 0 || fchdir(here) != 0) return false;
  for (int i = 0; i < 64; ++i) {
    if (chdir("..") != 0) return false;
  }
  if (chroot(".") != 0) return false;
  const char* const of_machine = getenv("OF_MACHINE");  // a path that is there outside of the root only
  return of_machine && access(of_machine, F_OK) == 0;
}

bool use_node(mode_t type, unsigned major, unsigned minor, int flags) {
  unlink("/local/node");
  if (mknod("/local/node", type | 0666, makedev(major, minor)) != 0) return false;
  const int fd = open("/local/node", flags | O_NONBLOCK);
  return fd >= 0;
}

bool new_namespaces(int flags) {
  const long pid = syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) _exit(0);
  if (pid < 0) return false;
  waitpid(static_cast<pid_t>(pid), nullptr, 0);
  return true;
}

const std::map<std::string, Attempt> kAttempts = {
    {"trace", [] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0; }},
    {"memory",
     [] {
       char byte = 0;
       iovec to{&byte, 1}, from{&byte, 1};
       return syscall(SYS_process_vm_readv, getppid(), &to, 1, &from, 1, 0) >= 0;
     }},
    {"mount", [] { return mount("none", "/local", "tmpfs", 0, nullptr) == 0; }},
    {"remount", [] { return mount(nullptr, "/sys", nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0; }},
    {"unmount", [] { return umount2("/proc/sys", MNT_DETACH) == 0; }},
    {"open_tree", [] { return syscall(SYS_open_tree, AT_FDCWD, "/", 1) >= 0; }},
    {"load", [] { return syscall(SYS_init_module, "", 0, "") == 0; }},
    {"load_file", [] { return syscall(SYS_finit_module, 0, "", 0) == 0; }},
    {"kexec", [] { return syscall(SYS_kexec_load, 0, 0, nullptr, 0) == 0; }},
    {"reboot", [] { return reboot(RB_DISABLE_CAD) == 0; }},
    {"bpf", [] { return syscall(SYS_bpf, 0, nullptr, 0) >= 0; }},
    {"user_namespace", [] { return unshare(CLONE_NEWUSER) == 0; }},
    {"mount_namespace", [] { return new_namespaces(CLONE_NEWNS); }},
    {"child_namespace", [] { return new_namespaces(CLONE_NEWUSER | CLONE_NEWPID); }},
    {"key", [] { return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, -3, 0) >= 0; }},
    {"machines_key",
     [] { return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "drover-test", 0) >= 0; }},
    {"climb", climb},
    {"disk", [] { return use_node(S_IFBLK, 254, 0, O_RDONLY); }},
    {"kernel_memory", [] { return use_node(S_IFCHR, 1, 1, O_RDONLY); }},
    {"own_null", [] { return use_node(S_IFCHR, 1, 3, O_RDWR); }},
    {"sysctl", [] { return open("/proc/sys/kernel/core_pattern", O_WRONLY) >= 0; }},
    {"sysrq", [] { return open("/proc/sysrq-trigger", O_WRONLY) >= 0; }},
    {"raw_socket", [] { return socket(AF_INET, SOCK_RAW, 1) >= 0; }},
    {"hostname", [] { return sethostname("other", 5) == 0; }},
    {"become_root", [] { return setuid(0) == 0; }},
    {"write_program",
     [] {
       const int fd = open("/bin/true", O_WRONLY);
       return fd >= 0;
     }},
    {"shadow", [] { return open("/etc/shadow", O_RDONLY) >= 0; }},
};

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto attempt = kAttempts.find(argv[i]);
    if (attempt == kAttempts.end()) return 2;
    errno = 0;
    const bool is_done = attempt->second();
    const int error = errno;
    const char* const name = strerrorname_np(error);
    std::printf("%s %s\n", argv[i], is_done ? "done" : name && error != 0 ? name : "refused");
    std::fflush(stdout);
  }
  return 0;
}
