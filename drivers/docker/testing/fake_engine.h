// An engine that answers as it is told: scripted replies, cut streams, bytes in both directions. On a Unix socket of
// its own, a thread a connection.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "drover/mutex.h"

namespace drover::docker {

class FakeEngine {
 public:
  struct Asked {
    std::string line;  // "GET /v1.41/info"
    std::string head, body;
  };
  // What one connection gets; has its descriptor for what is not an answer.
  using Serve = std::function<std::string(const Asked& asked, int fd)>;

  explicit FakeEngine(Serve serve) : serve_(std::move(serve)) {
    char name[] = "/tmp/drover-fake-engine-XXXXXX";
    folder_ = ::mkdtemp(name);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket().c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(0, ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    EXPECT_EQ(0, ::listen(listener_, 64));
    accepting_ = std::thread([this] { accept(); });
  }
  ~FakeEngine() {
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    for (std::thread& thread : connections_) thread.join();
    ::close(listener_);
    std::filesystem::remove_all(folder_);
  }

  std::string socket() const { return folder_ + "/socket"; }
  const std::string& folder() const { return folder_; }
  std::vector<Asked> asked() {
    const MutexLock lock(mutex_);
    return asked_;
  }
  int count(const std::string& line) {
    int out = 0;
    for (const Asked& one : asked()) out += one.line.find(line) != std::string::npos;
    return out;
  }

  static std::string reply(int status, const std::string& body) {
    return "HTTP/1.1 " + std::to_string(status) +
           " X\r\nApi-Version: 1.41\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  static std::string chunked(const std::vector<std::string>& pieces, bool is_whole = true) {
    std::string out = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string& piece : pieces) {
      char size[16];
      std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
      out += size + piece + "\r\n";
    }
    return is_whole ? out + "0\r\n\r\n" : out;
  }

 private:
  void accept() {
    while (true) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      connections_.emplace_back([this, fd] {
        answer(fd);
        ::close(fd);
      });
    }
  }
  void answer(int fd) {
    std::string text;
    char piece[4096];
    size_t end = std::string::npos;
    while ((end = text.find("\r\n\r\n")) == std::string::npos) {
      const ssize_t size = ::read(fd, piece, sizeof piece);
      if (size <= 0) return;
      text.append(piece, static_cast<size_t>(size));
    }
    Asked asked{.line = text.substr(0, text.find(" HTTP/")), .head = text.substr(0, end), .body = text.substr(end + 4)};
    size_t length = 0;
    if (const size_t at = asked.head.find("Content-Length: "); at != std::string::npos)
      length = static_cast<size_t>(std::atoi(asked.head.c_str() + at + 16));
    while (asked.body.size() < length) {
      const ssize_t size = ::read(fd, piece, sizeof piece);
      if (size <= 0) return;
      asked.body.append(piece, static_cast<size_t>(size));
    }
    {
      const MutexLock lock(mutex_);
      asked_.push_back(asked);
    }
    const std::string out = asked.line == "GET /_ping" ? reply(200, "OK") : serve_(asked, fd);
    for (size_t at = 0; at < out.size();) {
      const ssize_t size = ::send(fd, out.data() + at, out.size() - at, MSG_NOSIGNAL);
      if (size <= 0) return;
      at += static_cast<size_t>(size);
    }
  }

  const Serve serve_;
  std::string folder_;
  int listener_ = -1;
  std::thread accepting_;
  std::vector<std::thread> connections_;  // of the accepting thread, until that has ended
  Mutex mutex_;
  std::vector<Asked> asked_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::docker
