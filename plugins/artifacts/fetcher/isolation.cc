#include "fetcher/isolation.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace drover::artifacts {
namespace {

// Names of rights that this build's headers may not know yet.
constexpr uint64_t kRefer = 1ULL << 13, kTruncate = 1ULL << 14, kDevice = 1ULL << 15;
constexpr uint64_t kFirstRights = (1ULL << 13) - 1;
constexpr uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kRun = kRead | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr uint64_t kWriteFile = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
constexpr uint64_t kNoFolder = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                               LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kDevice;
constexpr uint64_t kOwn = kRun | kWriteFile | kRefer | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                          LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SYM |
                          LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO;

constexpr const char* kPrograms[] = {"/bin",     "/sbin",        "/lib",          "/lib32",         "/lib64",
                                     "/usr/bin", "/usr/sbin",    "/usr/lib",      "/usr/lib32",     "/usr/lib64",
                                     "/usr/libexec", "/usr/local/bin", "/usr/local/lib", "/usr/local/lib64"};
constexpr const char* kReadable[] = {"/etc/hosts",
                                     "/etc/host.conf",
                                     "/etc/gai.conf",
                                     "/etc/services",
                                     "/etc/protocols",
                                     "/etc/resolv.conf",
                                     "/etc/nsswitch.conf",
                                     "/etc/passwd",
                                     "/etc/group",
                                     "/etc/gitconfig",
                                     "/etc/mercurial",
                                     "/etc/localtime",
                                     "/etc/ld.so.cache",
                                     "/etc/ld.so.conf",
                                     "/etc/ld.so.conf.d",
                                     "/etc/ssl/certs",
                                     "/etc/ssl/openssl.cnf",
                                     "/etc/pki",
                                     "/etc/ca-certificates",
                                     "/usr/share",
                                     "/usr/local/share",
                                     "/run/systemd/resolve",
                                     "/run/resolvconf",
                                     "/dev/urandom",
                                     "/dev/random"};

uint64_t rights_of(long version) {
  uint64_t rights = kFirstRights;
  if (version >= 2) rights |= kRefer;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kDevice;
  return rights;
}

class Ruleset {
 public:
  ~Ruleset() {
    if (fd_ >= 0) ::close(fd_);
  }

  // False on a kernel without Landlock.
  bool open() {
    const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return false;
    handled_ = rights_of(version);
    landlock_ruleset_attr attributes{};
    attributes.handled_access_fs = handled_;
    fd_ = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
    return fd_ >= 0;
  }

  // Does nothing for a path that is not there.
  void allow(const std::string& path, uint64_t rights) const {
    const int target = ::open(path.c_str(), O_PATH | O_CLOEXEC);
    if (target < 0) return;
    struct stat found {};
    landlock_path_beneath_attr rule{};
    rule.parent_fd = target;
    rule.allowed_access = rights & handled_;
    if (::fstat(target, &found) == 0 && !S_ISDIR(found.st_mode)) rule.allowed_access &= kNoFolder;
    (void)::syscall(SYS_landlock_add_rule, fd_, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    ::close(target);
  }

  bool enter() const { return ::syscall(SYS_landlock_restrict_self, fd_, 0) == 0; }

 private:
  int fd_ = -1;
  uint64_t handled_ = 0;
};

Status drop_capabilities() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    (void)::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);  // refused without CAP_SETPCAP: then there is none to lose
  }
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return errno_status(errno, "give capabilities away");
  return ok_status();
}

}  // namespace

Status isolate(const std::vector<std::string>& writable) {
  const rlimit no_core{0, 0};
  (void)::setrlimit(RLIMIT_CORE, &no_core);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno_status(errno, "forgo new privileges");
  Ruleset rules;
  const bool has_rules = rules.open();
  if (has_rules) {
    for (const char* path : kPrograms) rules.allow(path, kRun);
    for (const char* path : kReadable) rules.allow(path, kRead);
    for (const char* path : {"/dev/null", "/dev/tty"}) rules.allow(path, kWriteFile);
    if (const char* home = std::getenv("HOME"); home && *home == '/' && std::string_view(home) != "/") {
      for (const char* name : {"/.ssh", "/.netrc", "/.gitconfig"}) rules.allow(std::string(home) + name, kRead);
      rules.allow(std::string(home) + "/.ssh/known_hosts", kWriteFile);
    }
    for (const std::string& path : writable) rules.allow(path, kOwn);
  }
  DROVER_RETURN_IF_ERROR(drop_capabilities());
  if (has_rules && !rules.enter()) return errno_status(errno, "enter the sandbox");
  return ok_status();
}

}  // namespace drover::artifacts
