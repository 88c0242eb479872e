// Reads what a driver's process has to tell of its tasks (TaskEvents) into the feed that the agent follows. A stream
// that ends before its process is opened again after 5 s, 20 s, 80 s, then every two minutes.
#pragma once

#include <memory>
#include <stop_token>
#include <thread>

#include "drover/plugin_programs/channel.h"
#include "drover/task_event_feed.h"

namespace drover::plugin_programs {

class EventReader {
 public:
  explicit EventReader(TaskEventFeed& feed) : feed_(feed) {}
  ~EventReader() { stop(); }

  // Reads the next process; the former one has been stopped. Both by one thread.
  void start(std::shared_ptr<Channel> channel, std::string plugin);
  void stop();  // idempotent

 private:
  void run(Channel& channel, const std::string& plugin, const std::stop_token& stop);

  TaskEventFeed& feed_;
  std::jthread thread_;
};

}  // namespace drover::plugin_programs
