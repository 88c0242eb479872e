// Takes the place of the calls of the C library that change something outside of the process: files, mounts, processes,
// sockets. The plugins and the SDK are bound to these since the program exports them.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>

#include "tests/crash_steps/story.h"

namespace drover::crash {
namespace {

Page* counted = nullptr;

void step() {
  if (!counted || counted->armed.load() != ::getpid()) return;
  uint32_t now = ++counted->steps;
  if (counted->kill_at.compare_exchange_strong(now, kReached)) ::raise(SIGKILL);
}

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

void count_steps(Page* page) { counted = page; }

}  // namespace drover::crash

#define DROVER_STEP(RESULT, NAME, PARAMETERS, ARGUMENTS)                            \
  extern "C" __attribute__((visibility("default"))) RESULT NAME PARAMETERS {        \
    static auto* const next = drover::crash::real<RESULT PARAMETERS>(#NAME);        \
    drover::crash::step();                                                          \
    return next ARGUMENTS;                                                          \
  }                                                                                 \
  static_assert(true)

DROVER_STEP(int, mkdir, (const char* path, mode_t mode) noexcept, (path, mode));
DROVER_STEP(int, mkdirat, (int at, const char* path, mode_t mode) noexcept, (at, path, mode));
DROVER_STEP(int, mkfifo, (const char* path, mode_t mode) noexcept, (path, mode));
DROVER_STEP(int, mkfifoat, (int at, const char* path, mode_t mode) noexcept, (at, path, mode));
DROVER_STEP(int, mknodat, (int at, const char* path, mode_t mode, dev_t dev) noexcept, (at, path, mode, dev));
DROVER_STEP(int, rename, (const char* from, const char* to) noexcept, (from, to));
DROVER_STEP(int, renameat, (int a, const char* from, int b, const char* to) noexcept, (a, from, b, to));
DROVER_STEP(int, unlink, (const char* path) noexcept, (path));
DROVER_STEP(int, unlinkat, (int at, const char* path, int flags) noexcept, (at, path, flags));
DROVER_STEP(int, remove, (const char* path) noexcept, (path));
DROVER_STEP(int, rmdir, (const char* path) noexcept, (path));
DROVER_STEP(int, symlink, (const char* to, const char* path) noexcept, (to, path));
DROVER_STEP(int, link, (const char* from, const char* to) noexcept, (from, to));
DROVER_STEP(int, linkat, (int a, const char* from, int b, const char* to, int flags) noexcept, (a, from, b, to, flags));
DROVER_STEP(int, chmod, (const char* path, mode_t mode) noexcept, (path, mode));
DROVER_STEP(int, fchmod, (int fd, mode_t mode) noexcept, (fd, mode));
DROVER_STEP(int, chown, (const char* path, uid_t user, gid_t group) noexcept, (path, user, group));
DROVER_STEP(int, lchown, (const char* path, uid_t user, gid_t group) noexcept, (path, user, group));
DROVER_STEP(int, fchown, (int fd, uid_t user, gid_t group) noexcept, (fd, user, group));
DROVER_STEP(int, fchownat, (int at, const char* path, uid_t user, gid_t group, int flags) noexcept,
            (at, path, user, group, flags));
DROVER_STEP(int, ftruncate, (int fd, off_t size) noexcept, (fd, size));
DROVER_STEP(int, fdatasync, (int fd), (fd));
DROVER_STEP(int, fsync, (int fd), (fd));
DROVER_STEP(ssize_t, write, (int fd, const void* bytes, size_t size), (fd, bytes, size));
DROVER_STEP(ssize_t, writev, (int fd, const iovec* parts, int count), (fd, parts, count));
DROVER_STEP(ssize_t, copy_file_range, (int from, off_t* at, int to, off_t* there, size_t size, unsigned flags),
            (from, at, to, there, size, flags));
DROVER_STEP(ssize_t, splice, (int from, off_t* at, int to, off_t* there, size_t size, unsigned flags),
            (from, at, to, there, size, flags));
DROVER_STEP(int, mount,
            (const char* source, const char* target, const char* type, unsigned long flags, const void* data) noexcept,
            (source, target, type, flags, data));
DROVER_STEP(int, umount2, (const char* target, int flags) noexcept, (target, flags));
DROVER_STEP(int, unshare, (int flags) noexcept, (flags));
DROVER_STEP(int, setns, (int fd, int kind) noexcept, (fd, kind));
DROVER_STEP(int, kill, (pid_t pid, int number) noexcept, (pid, number));
DROVER_STEP(ssize_t, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags));
DROVER_STEP(ssize_t, send, (int fd, const void* bytes, size_t size, int flags), (fd, bytes, size, flags));
DROVER_STEP(int, bind, (int fd, const sockaddr* name, socklen_t size) noexcept, (fd, name, size));
DROVER_STEP(int, posix_spawn,
            (pid_t * pid, const char* path, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* how,
             char* const arguments[], char* const environment[]) noexcept,
            (pid, path, actions, how, arguments, environment));
