// Makes the events of a task, in the words operators know. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace drover::v1 {
class TaskEvent;
class TaskState;
}  // namespace drover::v1

namespace hashicorp::nomad::plugins::drivers::proto {
class DriverTaskEvent;
}
namespace drover {
namespace driver = hashicorp::nomad::plugins::drivers::proto;
}

namespace drover::agent::event {

inline constexpr int kKept = 10;

struct Exit {
  int32_t code = 0;
  int32_t signal = 0;
  bool oom_killed = false;
  std::string message;
};

v1::TaskEvent received(int64_t now);
v1::TaskEvent setup(int64_t now);
v1::TaskEvent setup_failure(int64_t now, std::string_view error);
v1::TaskEvent failed_validation(int64_t now, std::string_view error);
v1::TaskEvent driver_failure(int64_t now, std::string_view error);
// Something that precedes the task's start went wrong: "devices".
v1::TaskEvent hook_failed(int64_t now, std::string_view hook, std::string_view error);
v1::TaskEvent failed_restore(int64_t now, std::string_view error);
v1::TaskEvent started(int64_t now);
v1::TaskEvent terminated(int64_t now, const Exit& exit);
v1::TaskEvent restarting(int64_t now, std::chrono::nanoseconds delay, std::string_view reason);
v1::TaskEvent not_restarting(int64_t now, std::string_view reason);
v1::TaskEvent restart_signaled(int64_t now, std::string_view reason);
v1::TaskEvent signaling(int64_t now, std::string_view signal, std::string_view reason);
v1::TaskEvent reconnected(int64_t now);
v1::TaskEvent shutdown_delay(int64_t now, std::chrono::nanoseconds delay);
v1::TaskEvent killing(int64_t now, std::chrono::nanoseconds timeout, std::string_view reason);
v1::TaskEvent killed(int64_t now, std::string_view error);
v1::TaskEvent sibling_failed(int64_t now, std::string_view sibling);
v1::TaskEvent leader_dead(int64_t now);
v1::TaskEvent main_dead(int64_t now);
// The allocation is unhealthy because of this task (health.h).
v1::TaskEvent unhealthy(int64_t now, std::string_view why);

// An event that the driver reports.
v1::TaskEvent driver_message(int64_t at, std::string_view driver, const driver::DriverTaskEvent& event);
// True when such an event is there already.
bool has_driver_message(const v1::TaskState& state, const v1::TaskEvent& event);

// Adds it; only the last ten are kept. An event that fails the task marks it failed.
void append(v1::TaskState& state, v1::TaskEvent event);

}  // namespace drover::agent::event
