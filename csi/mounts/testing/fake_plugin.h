// For tests: a storage plugin in memory, behind a channel. It keeps what is staged, published and attached, notices two
// calls for one volume at a time, and misbehaves as it is told to.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "csi/protocol/client.h"
#include "drover/plugin_programs/channel.h"

namespace drover::mounts::testing {

class FakePlugin {
 public:
  struct Fault {
    Code code = Code::unavailable;
    bool happens = false;   // it is done all the same
    bool hangs = false;     // it is answered when nobody waits any more
    bool pretends = false;  // it is answered with OK
    std::string text = "a fault";
  };
  // The next `times` calls of that method ("NodeStageVolume") end so.
  void fail(const std::string& method, const Fault& fault, int times = 1) {
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < times; ++i) faults_[method].push_back(fault);
  }
  void is_ready(bool ready) {
    const std::lock_guard lock(mutex_);
    is_ready_ = ready;
  }

  std::shared_ptr<csi::Client> client() { return std::make_shared<csi::Client>(std::make_unique<Way>(*this)); }

  // The methods that were called, but for questions about what the plugin is.
  std::vector<std::string> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  std::string last_request(const std::string& method) const {
    const std::lock_guard lock(mutex_);
    const auto at = requests_.find(method);
    return at == requests_.end() ? std::string() : at->second;
  }
  std::set<std::string> staged() const {
    const std::lock_guard lock(mutex_);
    return staged_;
  }
  std::set<std::string> published() const {
    const std::lock_guard lock(mutex_);
    return published_;
  }
  // As the system would list them.
  std::vector<std::string> mounts() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> all(published_.begin(), published_.end());
    all.insert(all.end(), staged_.begin(), staged_.end());
    return all;
  }
  // The machine was started again.
  void forget_mounts() {
    const std::lock_guard lock(mutex_);
    published_.clear();
    staged_.clear();
  }
  bool has_overlapped() const {
    const std::lock_guard lock(mutex_);
    return has_overlapped_;
  }
  // Waits until so many calls of that method have come.
  bool wait_for(const std::string& method, int count = 1) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20),
                             [&] { return std::ranges::count(calls_, method) >= count; });
  }

  // Its words about itself. Before anything is asked.
  csi::v1::NodeGetInfoResponse node_info = named_node("node-1");
  std::vector<csi::v1::NodeServiceCapability::RPC::Type> node_can = {
      csi::v1::NodeServiceCapability::RPC::STAGE_UNSTAGE_VOLUME, csi::v1::NodeServiceCapability::RPC::EXPAND_VOLUME};
  bool has_controller = true;

 private:
  class Way final : public plugin_programs::Channel {
   public:
    explicit Way(FakePlugin& plugin) : plugin_(plugin) {}
    Result<std::string> call(const std::string& method, std::string request, std::optional<SteadyTime> deadline,
                             std::stop_token stop) override {
      return plugin_.answer(method.substr(method.rfind('/') + 1), request, deadline.value_or(SteadyTime::max()), stop);
    }
    std::shared_ptr<plugin_programs::Messages> open(const std::string&, std::string,
                                                    plugin_programs::Messages::Keep) override {
      return nullptr;
    }
    std::shared_ptr<plugin_programs::Dialogue> talk(const std::string&) override { return nullptr; }

   private:
    FakePlugin& plugin_;
  };

  static csi::v1::NodeGetInfoResponse named_node(const std::string& id) {
    csi::v1::NodeGetInfoResponse info;
    info.set_node_id(id);
    return info;
  }
  template <typename Request>
  static Request read(const std::string& bytes) {
    Request request;
    request.ParseFromString(bytes);
    return request;
  }

  Result<std::string> answer(const std::string& method, const std::string& request, SteadyTime deadline,
                             const std::stop_token& stop) {
    if (auto said = said_of_itself(method)) return *std::move(said);
    const std::string volume = volume_of(method, request);
    std::unique_lock lock(mutex_);
    calls_.push_back(method);
    requests_[method] = request;
    has_overlapped_ = has_overlapped_ || (!volume.empty() && !busy_.insert(volume).second);
    changed_.notify_all();
    std::optional<Fault> fault;
    if (auto& faults = faults_[method]; !faults.empty()) {
      fault = faults.front();
      faults.pop_front();
    }
    Result<std::string> out = std::string();
    if (!fault || fault->happens) out = act(method, request);
    if (fault && fault->hangs) {
      changed_.wait_until(lock, stop, std::min(deadline, std::chrono::steady_clock::now() + std::chrono::seconds(60)),
                          [] { return false; });
      out = stop.stop_requested() ? cancelled("stopped") : deadline_exceeded("it hangs");
    } else if (fault && !fault->pretends) {
      out = Status(fault->code, fault->text);
    }
    busy_.erase(volume);
    changed_.notify_all();
    return out;
  }

  std::optional<Result<std::string>> said_of_itself(const std::string& method) {
    if (method == "GetPluginInfo") {
      csi::v1::GetPluginInfoResponse info;
      info.set_name("fake.example");
      info.set_vendor_version("1.2.3");
      return info.SerializeAsString();
    }
    if (method == "GetPluginCapabilities") {
      csi::v1::GetPluginCapabilitiesResponse all;
      if (has_controller)
        all.add_capabilities()->mutable_service()->set_type(csi::v1::PluginCapability::Service::CONTROLLER_SERVICE);
      return all.SerializeAsString();
    }
    if (method == "NodeGetInfo") return node_info.SerializeAsString();
    if (method == "NodeGetCapabilities") {
      csi::v1::NodeGetCapabilitiesResponse all;
      for (const auto type : node_can) all.add_capabilities()->mutable_rpc()->set_type(type);
      return all.SerializeAsString();
    }
    if (method != "ControllerGetCapabilities") return std::nullopt;
    csi::v1::ControllerGetCapabilitiesResponse all;
    using Rpc = csi::v1::ControllerServiceCapability::RPC;
    for (const auto type : {Rpc::CREATE_DELETE_VOLUME, Rpc::PUBLISH_UNPUBLISH_VOLUME, Rpc::LIST_VOLUMES,
                            Rpc::CREATE_DELETE_SNAPSHOT, Rpc::LIST_SNAPSHOTS, Rpc::EXPAND_VOLUME})
      all.add_capabilities()->mutable_rpc()->set_type(type);
    return all.SerializeAsString();
  }
  // The field 1 of all requests about one volume, but for those that create.
  static std::string volume_of(const std::string& method, const std::string& request) {
    if (method.starts_with("List") || method == "CreateVolume" || method == "Probe") return {};
    return read<csi::v1::DeleteVolumeRequest>(request).volume_id();
  }

  Result<std::string> act(const std::string& method, const std::string& bytes) {
    if (method == "NodeStageVolume") {
      staged_.insert(read<csi::v1::NodeStageVolumeRequest>(bytes).staging_target_path());
    } else if (method == "NodePublishVolume") {
      const auto request = read<csi::v1::NodePublishVolumeRequest>(bytes);
      if (!request.staging_target_path().empty() && !staged_.contains(request.staging_target_path()))
        return failed_precondition("it is not staged");
      published_.insert(request.target_path());
      staging_of_[request.target_path()] = request.staging_target_path();
    } else if (method == "NodeUnpublishVolume") {
      published_.erase(read<csi::v1::NodeUnpublishVolumeRequest>(bytes).target_path());
    } else if (method == "NodeUnstageVolume") {
      const std::string staging = read<csi::v1::NodeUnstageVolumeRequest>(bytes).staging_target_path();
      if (std::ranges::any_of(published_, [&](const std::string& target) { return staging_of_[target] == staging; }))
        return failed_precondition("it is still published");
      staged_.erase(staging);
    } else if (method == "ControllerPublishVolume") {
      csi::v1::ControllerPublishVolumeResponse answer;
      (*answer.mutable_publish_context())["device"] = "/dev/fake";
      return answer.SerializeAsString();
    } else if (method == "Probe") {
      csi::v1::ProbeResponse answer;
      answer.mutable_ready()->set_value(is_ready_);
      return answer.SerializeAsString();
    } else if (method == "CreateVolume") {
      csi::v1::CreateVolumeResponse answer;
      answer.mutable_volume()->set_volume_id("made-" + read<csi::v1::CreateVolumeRequest>(bytes).name());
      return answer.SerializeAsString();
    }
    return std::string();
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  bool is_ready_ = true;
  bool has_overlapped_ = false;
  std::map<std::string, std::deque<Fault>> faults_;
  std::vector<std::string> calls_;
  std::map<std::string, std::string> requests_;
  std::map<std::string, std::string> staging_of_;  // of what was published
  std::set<std::string> staged_, published_, busy_;
};

}  // namespace drover::mounts::testing
