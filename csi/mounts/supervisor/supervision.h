// Watches over one start of a storage plugin: of a task, or of a program that the agent itself runs.
//
//   starting ──it is ready, and says what it can──▶ registered: healthy ◀──probe──▶ unhealthy
//       └ not within health_timeout ──▶ it is restarted, as failed
//
// Its thread, "csi-plugin", ends with that start: then the plugin is registered no longer.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "drover/clock.h"
#include "supervisor/instances.h"

namespace drover::mounts {

struct SupervisionTiming {
  std::chrono::nanoseconds look_for_socket = std::chrono::milliseconds(250);
  std::chrono::nanoseconds each_call = std::chrono::seconds(5);
  std::chrono::nanoseconds between_tries = std::chrono::seconds(5);  // until it is ready, and while it is unhealthy
  std::chrono::nanoseconds between_probes = std::chrono::seconds(30);
};

class Supervision {
 public:
  // All outlives the supervision. The functions are called by its thread.
  struct Setup {
    Clock& clock;
    Instances& instances;
    SupervisionTiming timing;
    std::string socket;
    std::chrono::nanoseconds health_timeout;
    std::function<void(const std::string& type, const std::string& text)> tell;
    // Its health is another one than was said before; `why` it is not well. Absent: nobody wants to know.
    std::function<void(bool is_healthy, const std::string& why)> health{};
    // It has said its own name, and its version. Absent: nobody wants to know.
    std::function<void(const std::string& name, const std::string& version)> learnt{};
    std::function<void(const std::string& why)> restart_failed;
    // Takes over what was registered, by its number among the instances. Absent: it is removed.
    std::function<void(uint64_t number)> gone{};
  };
  Supervision(Setup setup, std::shared_ptr<const Instance> instance);
  ~Supervision() { stop(); }
  void stop();  // waits; idempotent

 private:
  // Facts that do not change while a plugin runs: they are asked for once.
  struct Facts;

  void run(const std::stop_token& stop);
  Status become_ready(const std::stop_token& stop);
  void watch(const std::stop_token& stop);
  void tell_health(const Status& health) const;
  Status look(const std::stop_token& stop);
  Status probe(const std::stop_token& stop) const;
  Status learn_facts(const std::stop_token& stop);
  Result<Described> describe(const std::stop_token& stop) const;
  Described described_as(const Status& health) const;
  template <typename Response, typename Request>
  Result<Response> ask(const Request& request, const std::stop_token& stop) const;

  const Setup setup_;
  const std::shared_ptr<const Instance> instance_;
  std::shared_ptr<const Facts> facts_;  // of the thread, as the next
  Described described_;                 // as it was last healthy
  std::jthread thread_;
};

}  // namespace drover::mounts
