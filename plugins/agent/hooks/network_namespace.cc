#include "network_namespace.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "drover/fd.h"

namespace drover::agent {
namespace {

constexpr const char* kFolder = "/run/netns";

bool is_namespace(const std::string& path) {
  struct statfs of {};
  return ::statfs(path.c_str(), &of) == 0 && of.f_type == NSFS_MAGIC;
}

// Addresses of the loopback work in a network that has nothing else.
bool raise_loopback() {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  return socket.get() >= 0 && ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

// A namespace is a thread's own: one that does nothing else makes it and puts it under `path`.
int make_at(const std::string& path) {
  int error = 0;
  std::thread([&] {
    const bool is_made = ::unshare(CLONE_NEWNET) == 0 && raise_loopback() &&
                         ::mount("/proc/thread-self/ns/net", path.c_str(), nullptr, MS_BIND, nullptr) == 0;
    if (!is_made) error = errno;
  }).join();
  return error;
}

}  // namespace

Result<std::string> make_network_namespace(Uuid name) {
  const std::string path = std::string(kFolder) + "/" + name.to_string();
  if (is_namespace(path)) return path;
  if (::mkdir(kFolder, 0755) != 0 && errno != EEXIST) return errno_status(errno, std::string("make ") + kFolder);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0);
  if (fd < 0) return errno_status(errno, "make " + path);
  ::close(fd);
  if (const int error = make_at(path); error != 0) {
    ::unlink(path.c_str());
    return errno_status(error, "make a network namespace");
  }
  return path;
}

Status remove_network_namespace(const std::string& path) {
  if (::umount2(path.c_str(), MNT_DETACH) != 0 && errno != EINVAL && errno != ENOENT) {
    return errno_status(errno, "unmount " + path);
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_status(errno, "remove " + path);
  return ok_status();
}

}  // namespace drover::agent
