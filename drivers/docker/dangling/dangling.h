// Containers of this node that belong to no task: an agent was killed between a start and its record, or forgot what it
// ran. A container is ours by its labels, the node's among them, so that nobody else's is touched.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "config/plugin_options.h"
#include "engine/answers.h"
#include "engine/engine.h"

namespace drover::docker {

struct DanglingRule {
  std::string node;
  std::set<std::string> held;  // IDs of containers of tasks and networks
  int64_t now_s = 0, grace_s = 0;
  bool takes_ended = true;  // those that have ended, too
};
// Pure.
std::vector<ListedContainer> dangling_of(const std::vector<ListedContainer>& all, const DanglingRule& rule);

class DanglingContainers {
 public:
  struct Options {
    bool is_dry_run = false, takes_ended = true;
    std::chrono::nanoseconds period{}, grace{};
  };
  // The driver's containers and its node; nothing while it does not know its node.
  struct Held {
    std::string node;
    std::set<std::string> containers;
  };
  DanglingContainers(Engine& engine, Options options, std::function<std::optional<Held>()> held);
  ~DanglingContainers() { stop(); }

  // One look at all of them; what was, or would have been, removed.
  Result<std::vector<std::string>> remove_once(const std::stop_token& stop);
  // Begins to look, first after the longer of the period and the grace.
  void start();
  void stop();

 private:
  void run(const std::stop_token& stop);

  Engine& engine_;
  const Options options_;
  const std::function<std::optional<Held>()> held_;
  std::jthread thread_;
};

}  // namespace drover::docker
