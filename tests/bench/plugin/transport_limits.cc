#include "transport_limits.h"

#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace drover::bench {
namespace {

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

class Threads final : public RoundTrip {
 public:
  Threads() : thread_([this] { echo(); }) {}
  ~Threads() override {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    asked_.notify_one();
    thread_.join();
  }

  void run(size_t bytes) override {
    std::string message(bytes, 'x');
    std::unique_lock lock(mutex_);
    message_.swap(message);
    has_request_ = true;
    asked_.notify_one();
    answered_.wait(lock, [this] { return !has_request_; });
  }

 private:
  void echo() {
    std::unique_lock lock(mutex_);
    while (true) {
      asked_.wait(lock, [this] { return has_request_ || is_over_; });
      if (is_over_) return;
      has_request_ = false;
      answered_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable asked_, answered_;
  std::string message_;  // guarded by mutex_, like the following
  bool has_request_ = false;
  bool is_over_ = false;
  std::thread thread_;
};

// Both ends read whole messages: the socket keeps their borders.
class Processes final : public RoundTrip {
 public:
  Processes() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
    child_ = ::fork();
    if (child_ < 0) fail("fork");
    if (child_ == 0) {
      ::close(ends[0]);
      char buffer[65536];
      for (ssize_t n; (n = ::read(ends[1], buffer, sizeof buffer)) > 0;) {
        if (::write(ends[1], buffer, static_cast<size_t>(n)) != n) break;
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    socket_ = ends[0];
  }
  ~Processes() override {
    ::close(socket_);
    ::waitpid(child_, nullptr, 0);
  }

  void run(size_t bytes) override {
    char buffer[65536] = {};
    bytes = std::clamp<size_t>(bytes, 1, sizeof buffer);  // an empty one would be the end
    if (::write(socket_, buffer, bytes) != static_cast<ssize_t>(bytes)) fail("write");
    if (::read(socket_, buffer, sizeof buffer) != static_cast<ssize_t>(bytes)) fail("read");
  }

 private:
  int socket_ = -1;
  pid_t child_ = -1;
};

}  // namespace

std::unique_ptr<RoundTrip> two_threads() { return std::make_unique<Threads>(); }
std::unique_ptr<RoundTrip> two_processes() { return std::make_unique<Processes>(); }

double start_of_nothing() {
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) {
    char name[] = "/bin/true";
    char* arguments[] = {name, nullptr};
    pid_t child = -1;
    const auto began = std::chrono::steady_clock::now();
    if (::posix_spawn(&child, name, nullptr, nullptr, arguments, environ) != 0) fail(name);
    ::waitpid(child, nullptr, 0);
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace drover::bench
