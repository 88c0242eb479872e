#include "tests/bench/disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "drover/result.h"

namespace drover::bench {
namespace {

constexpr size_t kBlock = 4096;

}  // namespace

Disk::Disk(const std::string& path, bool is_direct) : is_direct_(is_direct) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  DROVER_CHECK(fd >= 0);
  const std::string zeros(kBytes, '\0');
  DROVER_CHECK(::pwrite(fd, zeros.data(), zeros.size(), 0) == static_cast<ssize_t>(zeros.size()));
  DROVER_CHECK(::fsync(fd) == 0);
  ::close(fd);
  fd_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | (is_direct ? O_DIRECT | O_DSYNC : 0));
  block_ = std::aligned_alloc(kBlock, kBlock);
  DROVER_CHECK(block_ != nullptr);
  std::memset(block_, 0, kBlock);
}

Disk::~Disk() {
  std::free(block_);
  if (fd_ >= 0) ::close(fd_);
}

double Disk::write() {
  const auto begun = std::chrono::steady_clock::now();
  DROVER_CHECK(::pwrite(fd_, block_, kBlock, static_cast<off_t>(at_)) == static_cast<ssize_t>(kBlock));
  DROVER_CHECK(is_direct_ || ::fdatasync(fd_) == 0);
  at_ = (at_ + kBlock) % kBytes;
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count();
}

void Disk::run(int writes, std::vector<double>& out) {
  std::thread([&] {
    for (int i = 0; i < writes; ++i) out.push_back(write());
  }).join();
}

}  // namespace drover::bench
