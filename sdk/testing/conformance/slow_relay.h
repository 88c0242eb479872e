// A connection that is slow: between a socket of its own and the plugin's it hands on a few bytes at a time.
#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace drover::conformance {

class SlowRelay {
 public:
  // Listens on `path`; each connection is one to `target`. At most one at a time is served.
  SlowRelay(const std::string& path, std::string target);
  ~SlowRelay();
  SlowRelay(const SlowRelay&) = delete;
  SlowRelay& operator=(const SlowRelay&) = delete;
  // Breaks off what there is, and takes no more.
  void cut();

 private:
  void run();
  bool relay(int from, int to) const;

  const std::string target_;
  int listener_ = -1;
  int quiet_ = -1;  // an eventfd: the thread shall end
  std::thread thread_;
};

}  // namespace drover::conformance
