// Tells readers that a file has changed: one thread and one inotify instance for all of the agent's. Thread "files"
// waits for what the kernel says, from the first watch to stop(); everything else is [any].
#pragma once

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "drover/fd.h"
#include "drover/mutex.h"
#include "logs/log_collector.h"

namespace drover::agent {

class FileWatch {
 public:
  FileWatch() = default;
  ~FileWatch();
  void stop();  // idempotent

  // `growth` grows when the file changes: in content, size, name or number of names. `is_told`: false where the kernel
  // watches nothing more, and the reader must look by itself.
  struct Watched {
    std::shared_ptr<LogGrowth> growth;
    bool is_told = false;
  };
  // For as long as the answer's `growth` lives.
  Watched watch(const Fd& file);

 private:
  bool open() DROVER_REQUIRES(mutex_);
  std::vector<std::shared_ptr<LogGrowth>> readers_of(int number) DROVER_REQUIRES(mutex_);
  void run(const std::stop_token& stop);
  void tell(int number);

  Mutex mutex_;
  Fd inotify_ DROVER_GUARDED_BY(mutex_);
  Fd wake_ DROVER_GUARDED_BY(mutex_);
  bool has_failed_ DROVER_GUARDED_BY(mutex_) = false;
  std::map<int, std::weak_ptr<LogGrowth>> watched_ DROVER_GUARDED_BY(mutex_);  // by inotify's number
  std::jthread thread_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::agent
