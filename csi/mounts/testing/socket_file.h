// For tests: a socket of the file system that nobody listens on. It goes with this object.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

namespace drover::mounts::testing {

class SocketFile {
 public:
  explicit SocketFile(std::string path) : path_(std::move(path)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    (void)::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;
  ~SocketFile() {
    ::close(socket_);
    ::unlink(path_.c_str());
  }

 private:
  const std::string path_;
  const int socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

}  // namespace drover::mounts::testing
