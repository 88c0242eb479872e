// The whole contract of a driver, over a real process: as a host speaks to it, and as the agent has it.
#include "sdk/testing/driver_conformance.h"
#include "kinds/driver_plugin.h"
#include "testing/running_plugin.h"

namespace drover::plugin_programs {
namespace {

// The driver as the agent has it, over a program of its own.
class Hosted final : public TaskDriver {
 public:
  Hosted() {
    EXPECT_TRUE(
        plugin_.eventually([&] { return plugin_->fingerprint().health() == driver::FingerprintResponse::HEALTHY; }));
  }
  void stop() override { plugin_->stop(); }
  driver::DriverCapabilities capabilities() const override { return plugin_->capabilities(); }
  driver::FingerprintResponse fingerprint() override { return plugin_->fingerprint(); }
  Result<std::string> encode_config(std::string_view json) override { return plugin_->encode_config(json); }
  Result<driver::StartTaskResponse> start_task(const driver::TaskConfig& config) override {
    return plugin_->start_task(config);
  }
  Status recover_task(const driver::TaskHandle& handle) override { return plugin_->recover_task(handle); }
  Result<driver::ExitResult> wait_task(std::string_view id, std::stop_token stop) override {
    return plugin_->wait_task(id, std::move(stop));
  }
  Status stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) override {
    return plugin_->stop_task(id, timeout, signal);
  }
  Status destroy_task(std::string_view id, bool force) override { return plugin_->destroy_task(id, force); }
  Result<driver::InspectTaskResponse> inspect_task(std::string_view id) override { return plugin_->inspect_task(id); }
  Result<driver::TaskStats> task_stats(std::string_view id) override { return plugin_->task_stats(id); }
  Status signal_task(std::string_view id, std::string_view signal) override { return plugin_->signal_task(id, signal); }
  Status exec_task_streaming(const ExecCommand& command, ExecStream& stream) override {
    return plugin_->exec_task_streaming(command, stream);
  }
  Result<driver::ExecTaskResponse> exec_task(const ExecCommand& command, std::chrono::nanoseconds timeout) override {
    return plugin_->exec_task(command, timeout);
  }
  void follow_events(const TellEvent& tell, std::stop_token stop) override {
    plugin_->follow_events(tell, std::move(stop));
  }
  Result<driver::CreateNetworkResponse> create_network(const driver::CreateNetworkRequest& request) override {
    return plugin_->create_network(request);
  }
  Status destroy_network(const driver::DestroyNetworkRequest& request) override {
    return plugin_->destroy_network(request);
  }

 private:
  mutable RunningPlugin plugin_{DROVER_MOCK_PROGRAM};
};

conformance::SubjectFactory hosted() {
  return conformance::driver_subject([] { return std::make_unique<Hosted>(); });
}
conformance::SubjectFactory program() {
  return conformance::program_subject(
      {.file = DROVER_MOCK_PROGRAM, .arguments = {}, .environment = plugin_environment(environ)});
}
DROVER_DRIVER_CONFORMANCE(Program, program());
DROVER_DRIVER_CONFORMANCE_OF(Hosted, hosted(), program());

}  // namespace
}  // namespace drover::plugin_programs
