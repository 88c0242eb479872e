// Reads what a container writes from the engine, and writes it into the task's pipes: no helper process, and nothing
// twice or lost over a restart of the driver, for the time of the last piece is kept in a file.
//
// A thread of its own; it ends with the container's output, or when it is stopped.
#pragma once

#include <stop_token>
#include <string>
#include <thread>

#include "drover/mutex.h"
#include "engine/engine.h"

namespace drover::docker {

struct LogOrder {
  std::string container;
  bool has_tty = false;
  std::string stdout_path, stderr_path;
  std::string position_file;  // empty: none
};

class LogReader {
 public:
  LogReader(Engine& engine, LogOrder order);
  ~LogReader();

  // True when all of the output has been passed on; false at the deadline.
  bool wait_end(SteadyTime deadline);
  void stop();

 private:
  void run(const std::stop_token& stop);

  Engine& engine_;
  const LogOrder order_;
  Mutex mutex_;
  CondVar ended_;
  bool is_ended_ DROVER_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace drover::docker
