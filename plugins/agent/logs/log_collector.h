// Reads what tasks print and writes it to rotated files: one thread for all tasks of the agent.
//
// A task writes into a FIFO that it keeps open for reading and writing itself, as does the agent. So neither side's end
// hurts the other, and what is printed while no agent runs waits in the pipe, up to its capacity. The owner is the
// agent plugin. Thread "logs" waits for bytes; everything else is [any].
#pragma once

#include <array>
#include <vector>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "drover/clock.h"
#include "drover/mutex.h"
#include "drover/result.h"
#include "logs/log_files.h"

namespace drover::agent {

// Lets readers wait until a log grows. [any]
class LogGrowth {
 public:
  uint64_t count() const;
  void grew();
  // Returns when the count has passed `seen`, at the deadline, or on stop.
  void wait(uint64_t seen, SteadyTime deadline, const std::stop_token& stop);

 private:
  mutable Mutex mutex_;
  CondVarAny changed_;
  uint64_t count_ DROVER_GUARDED_BY(mutex_) = 0;
};

struct LogStream {
  std::string folder;  // <alloc>/alloc/logs
  std::string task;
  std::string type;  // "stdout" or "stderr"
  LogWriter::Limits limits;

  std::string base() const { return task + "." + type; }
  std::string fifo() const { return folder + "/." + base() + ".fifo"; }
  std::string key() const { return folder + "/" + base(); }
};

class LogCollector {
 public:
  LogCollector() = default;
  ~LogCollector();
  Status start();
  void stop();  // idempotent; what is still in the pipes stays there for the next agent

  // Makes the FIFO when there is none and begins to collect. Idempotent.
  Status open(const LogStream& stream);
  // Writes what is in the pipe now. Returns when the pipe was empty.
  void drain(const LogStream& stream);
  // Drains, and forgets the FIFO.
  void close(const LogStream& stream);

  std::shared_ptr<LogGrowth> growth(const std::string& key);

 private:
  struct Source;
  void run(std::stop_token stop);
  void pump(Source& source, bool until_empty);
  // A copy of what stands at the head of the pipe, where it stays: an agent that is killed has taken nothing along.
  // Gives its size.
  size_t look(int pipe, std::vector<char>& buffer);
  void notify(const std::string& key);
  std::shared_ptr<Source> find(const std::string& key);

  int epoll_ = -1;
  int wake_ = -1;
  std::jthread thread_;
  Mutex mutex_;
  uint64_t next_id_ DROVER_GUARDED_BY(mutex_) = 1;  // 0 is the wake-up
  std::map<uint64_t, std::shared_ptr<Source>> sources_ DROVER_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> ids_ DROVER_GUARDED_BY(mutex_);
  std::map<std::string, std::weak_ptr<LogGrowth>> growth_ DROVER_GUARDED_BY(mutex_);
  Mutex look_mutex_;
  std::array<int, 2> look_ DROVER_GUARDED_BY(look_mutex_) = {-1, -1};  // a pipe, empty but within look()
};

}  // namespace drover::agent
