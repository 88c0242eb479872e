// Threads for handlers and delayed work.
//
// Workers take tasks from one queue; a task may block in the SDK's waits, never on another task of the queue. A worker
// that waits for the log or for another server is away, and a stand-in takes tasks in its place, up to a limit: else as
// many waiting writes as there are workers would keep every other call waiting too. Stand-ins end when nothing is left
// to do for a while. Streams live long and each gets a thread of its own, up to a limit. [any]
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
    size_t max_stand_ins = 1024;
    size_t max_streams = 512;
  };
  Pool(const Options& options, Clock& clock);
  ~Pool() override;  // stops

  void post(std::function<void()> task) override;
  uint64_t post_at(SteadyTime when, std::function<void()> task) override;
  bool cancel_timer(uint64_t timer) override;
  Status run_stream(std::function<void()> body) override;

  // For as long as it lives this thread only waits. Does nothing on a thread that is no worker of the pool.
  class Absence {
   public:
    explicit Absence(Pool& pool);
    Absence(const Absence&) = delete;
    Absence& operator=(const Absence&) = delete;
    ~Absence();

   private:
    Pool* const pool_;
  };

  // Drops what is queued, waits for what runs. Idempotent. Streams must have been told to end before.
  void stop();

 private:
  // Where one worker sleeps. Each on a condition variable of its own: glibc before 2.41 now and then loses a signal
  // among several that wait for one (its bug 25847), and what is queued here then waits for good.
  struct Seat {
    std::condition_variable called;
    bool is_called = false;
  };

  void work(bool is_stand_in);
  Seat* take_on_locked();
  bool sleep_locked(std::unique_lock<std::mutex>& lock, Seat& seat, bool is_stand_in);
  void keep_time();

  Clock& clock_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable has_timer_;
  std::condition_variable thread_ended_;     // a stream's or a stand-in's
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_, like the following
  std::multimap<SteadyTime, std::pair<uint64_t, std::function<void()>>> timers_;
  uint64_t next_timer_ = 1;
  size_t streams_ = 0;
  std::deque<Seat> seats_;     // never shrinks: who calls does so without the lock
  std::vector<Seat*> spare_;   // nobody's
  std::vector<Seat*> asleep_;  // the last one to sleep is the first to be called
  size_t away_ = 0;            // waiting for something else, stand-ins among them
  size_t stand_ins_ = 0;       // all of them
  bool is_calling_ = false;    // one that was asleep has been called and is not awake yet
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace drover::rpc
