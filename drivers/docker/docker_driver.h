// The driver "docker": tasks that are containers of the engine behind a Unix socket, Docker's or Podman's. Life of a
// task: drover/task_driver.h. docs/operator/drivers.md says what operators and jobs may write. [any]
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "config/plugin_options.h"
#include "drover/mutex.h"
#include "drover/process_exec.h"
#include "drover/task_driver.h"
#include "drover/task_event_feed.h"
#include "engine/answers.h"

namespace drover::docker {

class ContainerTask;
class DanglingContainers;
class Engine;
class ImageKeeper;
class ImagePuller;

class DockerDriver final : public TaskDriver {
 public:
  DockerDriver();
  ~DockerDriver() override;

  hashicorp::nomad::plugins::shared::hclspec::Spec config_schema() const override;
  void set_agent(const AgentInfo& agent) override;
  Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) override;
  hashicorp::nomad::plugins::shared::hclspec::Spec task_config_schema() const override;
  driver::DriverCapabilities capabilities() const override;
  driver::FingerprintResponse fingerprint() override;
  Result<std::string> encode_config(std::string_view config_json) override;
  // Blocks while an image is pulled; stop_task() ends that.
  Result<driver::StartTaskResponse> start_task(const driver::TaskConfig& config) override;
  Status recover_task(const driver::TaskHandle& handle) override;
  Result<driver::ExitResult> wait_task(std::string_view id, std::stop_token stop) override;
  bool watch_task(std::string_view id, std::stop_token stop, TellExit done) override;
  Status stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) override;
  Status destroy_task(std::string_view id, bool force) override;
  Result<driver::InspectTaskResponse> inspect_task(std::string_view id) override;
  Result<driver::TaskStats> task_stats(std::string_view id) override;
  Status signal_task(std::string_view id, std::string_view signal) override;
  Status exec_task_streaming(const ExecCommand& command, ExecStream& stream) override;
  void follow_events(const TellEvent& tell, std::stop_token stop) override { events_.follow(tell, std::move(stop)); }
  Result<driver::CreateNetworkResponse> create_network(const driver::CreateNetworkRequest& request) override;
  Status destroy_network(const driver::DestroyNetworkRequest& request) override;
  // Containers go on.
  void stop() override;

 private:
  struct Entry {
    std::shared_ptr<ContainerTask> task;  // null: it is being started
    std::stop_source starting{};
  };
  struct Running;  // the parts that are there once the driver is configured

  Result<std::shared_ptr<ContainerTask>> find(std::string_view id);
  Result<EngineFacts> facts();
  Status probe(EngineFacts& facts);
  Result<driver::StartTaskResponse> start_known(const driver::TaskConfig& config, const std::stop_token& stop);
  bool reads_logs(const driver::TaskConfig& config) const;
  std::string position_file(const std::string& container) const;
  std::set<std::string> held_containers();
  std::string node_of(const driver::TaskConfig* config);

  // constant after configure()
  PluginOptions options_;
  std::string agent_folder_, state_folder_;
  bool is_dev_mode_ = false;
  std::optional<std::string> configured_;
  std::unique_ptr<Running> running_;

  ExecCalls calls_;  // starts, commands and networks under way
  TaskEventFeed events_;
  Mutex mutex_;
  bool is_stopped_ DROVER_GUARDED_BY(mutex_) = false;
  bool was_seen_ DROVER_GUARDED_BY(mutex_) = false;
  std::optional<EngineFacts> facts_ DROVER_GUARDED_BY(mutex_);
  std::string node_ DROVER_GUARDED_BY(mutex_);
  std::map<std::string, Entry, std::less<>> tasks_ DROVER_GUARDED_BY(mutex_);
  std::map<std::string, std::string> networks_ DROVER_GUARDED_BY(mutex_);  // allocation → container
};

}  // namespace drover::docker
