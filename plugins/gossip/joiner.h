// Finds the other servers: those that the operator names, and those that were there before a restart.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "drover/plugin.h"
#include "network.h"
#include "settings.h"

namespace drover::gossip {

class Joiner {
 public:
  // Both must outlive it.
  Joiner(Host& host, Network& network) : host_(host), network_(network) {}

  struct Outcome {
    size_t joined = 0;   // others; this server itself does not count
    std::string errors;  // of those that were not joined
  };
  // Tries each once, waiting eight seconds at most. [any but gossip]
  Outcome join_now(const std::vector<std::string>& addresses);
  // Tries until somebody was joined, in the background; ends the agent after retry_max attempts.
  void keep_trying(std::vector<std::string> addresses, const Settings& settings);
  // The addresses of the servers that were there before. Errors of the disk, here and below, are logged.
  std::vector<std::string> remembered();
  void remember(const std::vector<Member>& members);  // soon and off this thread
  void forget();

 private:
  struct Attempts;
  void attempt(const std::shared_ptr<Attempts>& attempts);

  Host& host_;
  Network& network_;
};

}  // namespace drover::gossip
