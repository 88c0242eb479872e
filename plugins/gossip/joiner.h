// Finds the other servers: those that the operator names, and those that were there before a restart.
#pragma once

#include <atomic>
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

  // Tries once, waiting. Errors: unavailable when nobody was joined. [main]
  Status join_now(const std::vector<std::string>& addresses, size_t* joined = nullptr);
  // Tries until somebody was joined, in the background; ends the agent after retry_max attempts.
  void keep_trying(std::vector<std::string> addresses, const Settings& settings);
  // Who is remembered from before; the memory is written when members change. Errors: the disk's.
  std::vector<std::string> remembered();
  void remember(const std::vector<Member>& members);  // [any], soon and off this thread
  void forget();

 private:
  struct Attempts;
  void attempt(const std::shared_ptr<Attempts>& attempts);

  Host& host_;
  Network& network_;
};

}  // namespace drover::gossip
