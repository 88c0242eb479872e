#include "loops.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "drover/fd.h"

namespace drover::hostpath {
namespace {

constexpr int kTries = 16;  // others take the same free device

struct Loop {
  std::string device;
  bool is_read_only = false;
};

Status no_loops(const std::string& what) {
  return failed_precondition("block devices need loop devices, and this machine gives none: " +
                             errno_status(errno, what).message());
}

std::vector<std::string> devices() {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator("/sys/block", error)) {
    const std::string name = each.path().filename();
    if (name.starts_with("loop")) found.push_back("/dev/" + name);
  }
  return found;
}

// Those that stand on the file.
Result<std::vector<Loop>> loops_of(const std::string& file) {
  struct stat stat {};
  if (::stat(file.c_str(), &stat) != 0) return errno_status(errno, file);
  std::vector<Loop> found;
  for (const std::string& device : devices()) {
    const Fd fd(::open(device.c_str(), O_RDONLY | O_CLOEXEC));
    loop_info64 info{};
    if (!fd || ::ioctl(fd.get(), LOOP_GET_STATUS64, &info) != 0) continue;  // it has no file
    if (info.lo_device != stat.st_dev || info.lo_inode != stat.st_ino) continue;
    found.push_back({.device = device, .is_read_only = (info.lo_flags & LO_FLAGS_READ_ONLY) != 0});
  }
  return found;
}

// The number of a device that was free a moment ago.
Result<int> free_device() {
  const Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) return no_loops("/dev/loop-control");
  const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
  if (number < 0) return no_loops("a free loop device");
  return number;
}

}  // namespace

Result<std::string> attach_loop(const std::string& file, bool read_only) {
  DROVER_TRY(const std::vector<Loop> loops, loops_of(file));
  for (const Loop& each : loops) {
    if (each.is_read_only == read_only) return each.device;
  }
  const int access = read_only ? O_RDONLY : O_RDWR;
  const Fd image(::open(file.c_str(), access | O_CLOEXEC | O_NOFOLLOW));
  if (!image) return errno_status(errno, file);
  for (int tries = 0; tries < kTries; ++tries) {
    DROVER_TRY(const int number, free_device());
    const std::string device = "/dev/loop" + std::to_string(number);
    const Fd loop(::open(device.c_str(), access | O_CLOEXEC));
    if (!loop) return no_loops(device);
    loop_config config{};
    config.fd = static_cast<__u32>(image.get());
    config.info.lo_flags = read_only ? LO_FLAGS_READ_ONLY : 0;
    if (::ioctl(loop.get(), LOOP_CONFIGURE, &config) == 0) return device;
    if (errno != EBUSY) return no_loops(device);
  }
  return unavailable("others take each free loop device");
}

Status detach_loop(const std::string& file, bool read_only) {
  DROVER_TRY(const std::vector<Loop> loops, loops_of(file));
  for (const Loop& each : loops) {
    if (each.is_read_only != read_only) continue;
    const Fd loop(::open(each.device.c_str(), O_RDONLY | O_CLOEXEC));
    if (loop && ::ioctl(loop.get(), LOOP_CLR_FD) != 0 && errno != ENXIO) return errno_status(errno, each.device);
  }
  return {};
}

Status resize_loops(const std::string& file) {
  DROVER_TRY(const std::vector<Loop> loops, loops_of(file));
  for (const Loop& each : loops) {
    const Fd loop(::open(each.device.c_str(), O_RDONLY | O_CLOEXEC));
    if (!loop || ::ioctl(loop.get(), LOOP_SET_CAPACITY) != 0) return errno_status(errno, each.device);
  }
  return {};
}

}  // namespace drover::hostpath
