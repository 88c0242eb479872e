// One plugin that is a program of its own and brings a task driver: its process, and the driver as the agent calls it.
//
// A call that finds the program gone waits for the next one, which has been given every known task again (RecoverTask)
// before anybody may call it; only then does it go on or give up. Any thread may call.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "drover/external/channel.h"
#include "drover/hcl_value.h"
#include "drover/task_driver.h"
#include "log_pipes.h"
#include "supervisor.h"
#include "task_cgroups.h"

#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::external {

struct DriverPluginOptions {
  std::string file;  // absolute
  std::vector<std::string> arguments{};
  std::optional<hcl::Value> config;  // the operator's, an object; nothing when none was written
  std::map<std::string, std::string> environment{};
  const TaskCgroups* cgroups = nullptr;         // outlives the plugin, and so
  LogPipes* pipes = nullptr;                    // does this
  uint32_t min_port = 20000, max_port = 32000;  // of the dynamic ports of this client
  SupervisionTimes times{};
  std::function<void(pid_t pid, uint64_t start_time)> launched;
  std::function<void()> changed;  // a driver has come, or its fingerprint is another. Must not block.
};

class DriverPlugin final : public TaskDriver {
 public:
  DriverPlugin(DriverPluginOptions options, Clock& clock, Metrics& metrics);
  ~DriverPlugin() override;

  void start() { supervisor_.start(); }
  void stop() override;
  bool wait_first(SteadyTime deadline) const { return supervisor_.wait_first(deadline); }
  Supervisor::View view() const { return supervisor_.view(); }

  // Of the driver, once the plugin has said it; empty before. They never change.
  std::string name() const;
  std::string version() const;

  driver::DriverCapabilities capabilities() const override;
  driver::FingerprintResponse fingerprint() override;
  Result<std::string> encode_config(std::string_view config_json) override;
  Result<driver::StartTaskResponse> start_task(const driver::TaskConfig& config) override;
  Status recover_task(const driver::TaskHandle& handle) override;
  Result<driver::ExitResult> wait_task(std::string_view id, std::stop_token stop) override;
  Status stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) override;
  Status destroy_task(std::string_view id, bool force) override;
  Result<driver::InspectTaskResponse> inspect_task(std::string_view id) override;
  Result<driver::TaskStats> task_stats(std::string_view id) override;
  Status signal_task(std::string_view id, std::string_view signal) override;

 private:
  using ChannelPtr = std::shared_ptr<Channel>;

  Status prepare(const ChannelPtr& channel);
  Status identify(Channel& channel);
  Status set_config(Channel& channel);
  void recover_all(Channel& channel);
  void follow_fingerprint(const ChannelPtr& channel);
  void lost();
  void changed() const;

  // One call on the running process. When that goes away under it: as `again` says, on the next one.
  enum class Again : uint8_t { never, once };
  template <typename Answer>
  Result<Answer> ask(const char* method, const google::protobuf::Message& request, Again again,
                     std::optional<std::chrono::nanoseconds> within, const std::stop_token& stop = {});

  const DriverPluginOptions options_;
  const std::string file_name_;
  Clock& clock_;

  mutable std::mutex mutex_;
  hashicorp::nomad::plugins::base::proto::PluginInfoResponse info_;      // guarded by mutex_
  driver::DriverCapabilities capabilities_;                              // guarded by mutex_
  hashicorp::nomad::plugins::shared::hclspec::Spec task_schema_;         // guarded by mutex_
  bool has_task_schema_ = false;                                         // guarded by mutex_
  std::optional<driver::FingerprintResponse> fingerprint_;               // guarded by mutex_; of the running process
  std::map<std::string, driver::TaskHandle, std::less<>> tasks_;         // guarded by mutex_
  std::map<std::string, Status, std::less<>> unrecovered_;               // guarded by mutex_
  std::map<std::string, std::shared_ptr<Messages>, std::less<>> stats_;  // guarded by mutex_

  std::shared_ptr<Messages> prints_;  // [plugin]
  std::thread prints_reader_;         // [plugin]

  Supervisor supervisor_;  // last: its threads use the rest
};

}  // namespace drover::external
