// Threads for handlers and delayed work.
//
// Workers take tasks from one queue; a task may block in the SDK's waits, never on another task of the queue. Streams
// live long and each gets a thread of its own, up to a limit. [any]
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "drover/clock.h"
#include "drover/executor.h"
#include "drover/result.h"

namespace drover::rpc {

class Pool final : public Executor {
 public:
  struct Options {
    size_t workers = 16;
    size_t max_streams = 512;
  };
  Pool(const Options& options, Clock& clock);
  ~Pool() override;  // stops

  void post(std::function<void()> task) override;
  uint64_t post_at(SteadyTime when, std::function<void()> task) override;
  bool cancel_timer(uint64_t timer) override;
  Status run_stream(std::function<void()> body) override;

  // Drops what is queued, waits for what runs. Idempotent. Streams must have been told to end before.
  void stop();

 private:
  void work();
  void keep_time();

  Clock& clock_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable has_task_;
  std::condition_variable has_timer_;
  std::condition_variable stream_ended_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_, like the following
  std::multimap<SteadyTime, std::pair<uint64_t, std::function<void()>>> timers_;
  uint64_t next_timer_ = 1;
  size_t streams_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace drover::rpc
