#include "rendezvous.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "drover/clock.h"
#include "drover/installed.h"
#include "drover/log.h"
#include "protocol.h"

namespace drover::launcher {
namespace {

constexpr auto kLockRetry = std::chrono::milliseconds(10);

// A folder's path may be longer than a socket address holds; a descriptor's name is short.
sockaddr_un address_in(const Fd& folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(folder.get()) + "/" + kSocketName;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

}  // namespace

Result<Fd> open_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_status(errno, "make the launcher's folder " + path);
  Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return errno_status(errno, "open the launcher's folder " + path);
  struct stat info {};
  if (fstat(folder.get(), &info) != 0) return errno_status(errno, "look at the launcher's folder " + path);
  if (info.st_uid != geteuid())
    return permission_denied("the launcher's folder " + path + " belongs to user " + std::to_string(info.st_uid));
  if ((info.st_mode & 0777) != 0700 && fchmod(folder.get(), 0700) != 0)
    return errno_status(errno, "close the launcher's folder " + path + " to others");
  return folder;
}

Result<Fd> take_lock(const Fd& folder, SteadyTime deadline) {
  Fd lock(openat(folder.get(), kLockName, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return errno_status(errno, "open the launcher's lock");
  while (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return errno_status(errno, "take the launcher's lock");
    if (SystemClock().steady() >= deadline) return deadline_exceeded("the launcher's lock was not free in time");
    poll(nullptr, 0, static_cast<int>(kLockRetry.count()));  // advisory locks have no wait with a deadline
  }
  return lock;
}

Result<Fd> connect_to(const Fd& folder) {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno_status(errno, "socket");
  const sockaddr_un address = address_in(folder);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == ECONNREFUSED || errno == ENOENT)
      return unavailable(std::string("no launcher answers: ") + strerror(errno));
    return errno_status(errno, "connect to the launcher");
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return errno_status(errno, "peer credentials");
  if (peer.uid != geteuid())
    return permission_denied("the launcher's socket is served by user " + std::to_string(peer.uid));
  return fd;
}

// The socket is made here and handed over, so it can be connected to as soon as this returns.
Status start_launcher(const Fd& folder, const Launcher::Options& options) {
  // The launcher starts in "/": a relative path must be told from here.
  std::error_code ignored;
  const std::string said = options.program.empty() ? installed_program("drover-launcher") : options.program;
  const std::string program = std::filesystem::absolute(said, ignored).string();
  unlinkat(folder.get(), kSocketName, 0);  // of a launcher that was killed; the lock is held
  Fd listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listening) return errno_status(errno, "socket");
  const sockaddr_un address = address_in(folder);
  if (bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return errno_status(errno, "bind the launcher's socket");
  if (listen(listening.get(), 64) != 0) return errno_status(errno, "listen on the launcher's socket");
  // dup2 onto itself would keep close-on-exec, so the descriptor to hand over must not be the target already.
  Fd high(fcntl(listening.get(), F_DUPFD_CLOEXEC, 100));
  if (!high) return errno_status(errno, "duplicate the launcher's socket");

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_adddup2(&actions, high.get(), kListenFd);
  posix_spawn_file_actions_addclosefrom_np(&actions, kListenFd + 1);
  posix_spawn_file_actions_addchdir_np(&actions, "/");
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string grace = std::to_string(options.grace.count());
  std::string name = "drover-launcher", where = options.folder;
  char* arguments[] = {name.data(), where.data(), grace.data(), nullptr};
  char* environment[] = {nullptr};  // the agent's may hold secrets
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    unlinkat(folder.get(), kSocketName, 0);
    return unavailable("start " + program + ": " + strerror(error));
  }
  // The spawned process leaves the launcher behind and ends at once.
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    unlinkat(folder.get(), kSocketName, 0);
    return unavailable("start " + program + ": it ended with status " + std::to_string(status));
  }
  log::info("launcher", "started", {{"folder", options.folder}});
  return ok_status();
}

}  // namespace drover::launcher
