// The orders for a mock task. Values without behaviour.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drover/hclspec.h"
#include "drover/task_options.h"

namespace drover::mock {

struct Output {
  std::string text;                          // empty: nothing is written
  int64_t repeat = 0;                        // written this many times more
  std::chrono::nanoseconds repeat_duration;  // between two writings
};

// The orders for a command inside the task.
struct MockCommand {
  std::chrono::nanoseconds run_for{};
  int64_t exit_code = 0;
  int64_t exit_signal = 0;
  std::string exit_err_msg;  // the call fails with this
  Output stdout_output, stderr_output;
};

struct MockOptions {
  std::chrono::nanoseconds run_for{};  // zero: ends at once
  int64_t exit_code = 0;
  int64_t exit_signal = 0;
  std::string exit_err_msg;              // wait_task fails with this
  std::string signal_error;              // signal_task fails with this
  std::string start_error;               // start_task fails with this
  bool start_error_recoverable = false;  // so that the restart policy may try again
  std::chrono::nanoseconds start_block_for{};
  std::chrono::nanoseconds kill_after{};  // from the stop signal to the end
  bool ignore_kill = false;               // deaf to the stop signal: only the kill at the end of the timeout ends it
  bool lose_handle = false;               // recover_task of a new driver does not find it
  bool block_stats = false;               // task_stats answers only when the task has ended
  std::string driver_ip;
  bool driver_advertise = false;
  std::string port_label;  // of driver_port_map, "label:port"
  int32_t port = 0;
  bool show_given = false;  // its devices and mounts precede what it writes on standard output
  Output stdout_output, stderr_output;
  std::optional<MockCommand> exec_command;  // without it a command is refused
  std::vector<std::string> events;          // told when the task starts
};

// All of the options above as a job writes them; times as text, "1h30m".
hclspec::Spec options_schema();

// Errors: invalid_argument naming the option.
Result<MockOptions> read_options(TaskOptions options);

}  // namespace drover::mock
