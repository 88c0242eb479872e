#include "drover/task_driver.h"

#include <thread>

#include "drover/pause.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover {

driver::FingerprintResponse undetected(std::string why) {
  driver::FingerprintResponse print;
  print.set_health(driver::FingerprintResponse::UNDETECTED);
  print.set_health_description(std::move(why));
  return print;
}

std::string task_folder(const driver::TaskConfig& config) {
  return config.alloc_dir().empty() ? std::string("/") : config.alloc_dir() + "/" + config.name();
}

bool TaskDriver::watch_task(std::string_view, std::stop_token, TellExit) { return false; }
namespace {

using Spec = hashicorp::nomad::plugins::shared::hclspec::Spec;
using namespace std::chrono_literals;

constexpr size_t kKeptOutput = 1 << 20;  // of each, in bytes
constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365);

// A caller without input that collects what it hears.
class Collector final : public ExecStream {
 public:
  std::optional<driver::ExecTaskStreamingRequest> receive(std::stop_token stop) override {
    if (!std::exchange(has_closed_, true)) {
      driver::ExecTaskStreamingRequest end;
      end.mutable_stdin()->set_close(true);
      return end;
    }
    wait_for_stop(stop);
    return {};
  }
  bool send(const driver::ExecTaskStreamingResponse& response) override {
    keep(response.stdout().data(), *collected.mutable_stdout());
    keep(response.stderr().data(), *collected.mutable_stderr());
    if (response.exited()) *collected.mutable_result() = response.result();
    return !gone_.stop_requested();
  }
  std::stop_token stop() const override { return gone_.get_token(); }

  void leave() { gone_.request_stop(); }
  driver::ExecTaskResponse collected;  // the driver's thread's, then the caller's

 private:
  static void keep(const std::string& from, std::string& to) {
    to.append(from, 0, kKeptOutput - std::min(kKeptOutput, to.size()));
  }
  bool has_closed_ = false;
  std::stop_source gone_;
};

// Calls back when the time is over, unless it is destroyed before.
class Alarm {
 public:
  Alarm(std::chrono::nanoseconds time, std::function<void()> ring)
      : thread_([this, time = std::min(time, kLongest), ring = std::move(ring)](std::stop_token stop) {
          if (pause_for(time, stop)) ring();
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace

Spec TaskDriver::task_config_schema() const { return {}; }

Status TaskDriver::exec_task_streaming(const ExecCommand&, ExecStream&) {
  return unimplemented("driver does not support exec");
}

Result<driver::ExecTaskResponse> TaskDriver::exec_task(const ExecCommand& command, std::chrono::nanoseconds timeout) {
  if (timeout <= 0ns) return invalid_argument("the time for a command must be more than nothing");
  Collector caller;
  Status status;
  {
    const Alarm alarm(timeout, [&caller] { caller.leave(); });
    status = exec_task_streaming(command, caller);
  }
  if (caller.stop().stop_requested() && !caller.collected.has_result())
    return deadline_exceeded("the command did not end in time");
  DROVER_RETURN_IF_ERROR(status);
  (void)caller.collected.mutable_result();
  return std::move(caller.collected);
}

void TaskDriver::follow_events(const TellEvent&, std::stop_token stop) { wait_for_stop(stop); }

Result<driver::CreateNetworkResponse> TaskDriver::create_network(const driver::CreateNetworkRequest&) {
  return unimplemented("CreateNetwork RPC not supported by driver");
}

Status TaskDriver::destroy_network(const driver::DestroyNetworkRequest&) {
  return unimplemented("DestroyNetwork RPC not supported by driver");
}

}  // namespace drover
