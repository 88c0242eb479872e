// Brings this server's key files in line with the state: fetches material that it lacks, from the leader or anybody
// else, and deletes that of removed keys. A thread of its own.
#pragma once

#include <chrono>
#include <thread>

#include "drover/plugin.h"
#include "keys.h"
#include "tables.h"

namespace drover::keyring {

// A context for a call of KeyringReplication, to whichever server the request names.
CallContext between_servers(Host& host, const std::string& method, const std::stop_token& stop);

class Replicator {
 public:
  Replicator(const Tables& tables, Keys& keys) : tables_(tables), keys_(keys) {}
  ~Replicator() { stop(); }
  // The host outlives this.
  void start(Host& host);
  void stop();

  // One look. True when nothing is missing any more. A key that nobody gives does not keep the others. [one thread]
  bool look(Host& host, const std::stop_token& stop);

 private:
  void run(const std::stop_token& stop);
  Status fetch(Host& host, const std::string& key_id, const std::stop_token& stop);

  const Tables& tables_;
  Keys& keys_;
  Host* host_ = nullptr;
  std::jthread thread_;
};

}  // namespace drover::keyring
