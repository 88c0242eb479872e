// Makes this node known to the servers and keeps saying that it lives.
//
//   unknown ──Register──▶ registered ──Heartbeat ready──▶ ready ──most of the TTL──▶ Heartbeat …
//      ▲       not_found, not believed, or the description has changed ──▶ Register, by the secret
//      └── failed: again after a growing, jittered delay
//
// Owned by the plugin. Thread "node".
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "client.h"
#include "drover/mutex.h"
#include "servers/known_servers.h"

namespace drover::v1 {
class HeartbeatResponse;
}

namespace drover::agent {

class Registration {
 public:
  // `known`: called after every successful heartbeat; `anew` for the first, and when the servers may have given the
  // node up before.
  Registration(const Client& client, KnownServers& servers, std::function<void(bool anew)> known)
      : client_(client), servers_(servers), known_(std::move(known)) {}
  ~Registration() { stop(); }

  // Finds out what this machine is. Errors: a configured network interface is missing; those of NodeFingerprint.
  Status describe();
  void start();
  void stop();  // idempotent
  // Drivers, devices or metadata have changed. [any]
  void describe_anew();
  // A heartbeat is due at once: a new identity is wanted, or the servers do not believe the one that there is. [any]
  void beat_now();

  std::shared_ptr<const v1::Node> node() const;  // [any]
  struct Heartbeats {
    SteadyTime last;                 // that was answered; zero: none was
    std::chrono::nanoseconds ttl{};  // the servers wait this long for the next
  };
  Heartbeats heartbeats() const;  // [any]

 private:
  void watch_fingerprints(const std::function<void()>& changed);
  void run(const std::stop_token& stop);
  Status register_node(const std::stop_token& stop);
  Status heartbeat(const std::stop_token& stop);
  void heard(const v1::HeartbeatResponse& answer);
  bool refresh();

  const Client& client_;
  KnownServers& servers_;
  const std::function<void(bool anew)> known_;
  mutable Mutex mutex_;
  CondVarAny woken_;
  std::shared_ptr<const v1::Node> node_ DROVER_GUARDED_BY(mutex_);
  Heartbeats heartbeats_ DROVER_GUARDED_BY(mutex_);  // written by the thread only
  bool has_changed_ DROVER_GUARDED_BY(mutex_) = false;
  bool beats_now_ DROVER_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace drover::agent
