// Networks by CNI plugins: "bridge" by those of containernetworking-plugins, and "cni/NAME" by the operator's
// configurations. Plugins are called one at a time: some of them change rules that all share.
#pragma once

#include <functional>

#include "attachment.h"
#include "cni/call.h"
#include "config.h"
#include "drover/mutex.h"

namespace drover::networks::cni {

// Runs a program of the machine: the plugin in the operator's folders, or iptables.
class Programs {
 public:
  virtual ~Programs() = default;
  virtual Result<PluginAnswer> call(const PluginCall& call) = 0;
  virtual Result<PluginAnswer> iptables(bool is_v6, const std::vector<std::string>& arguments) = 0;
};
std::unique_ptr<Programs> programs_of(std::vector<std::string> folders);
// Where the program of this plugin is; empty: nowhere.
std::string find_plugin(const std::vector<std::string>& folders, const std::string& type);

class CniNetworks final : public NetworkKind {
 public:
  // Requires: both outlive it.
  CniNetworks(const Config& config, Programs& programs) : config_(config), programs_(programs) {}

  Status begin(const Wanted& wanted, StoredAttachment& out) override;
  Status attach(const Wanted& wanted, StoredAttachment& out) override;
  Status found(const Wanted& wanted, const StoredAttachment& attachment) override;
  Status detach(const Wanted& wanted, const StoredAttachment& attachment) override;

 private:
  Result<NetworkList> list_for(const std::string& mode) const;
  // Results are JSON, empty for none.
  Result<std::string> call(const PluginCall& call) DROVER_REQUIRES(mutex_);
  Result<std::string> add(const NetworkList& list, const Wanted& wanted) DROVER_REQUIRES(mutex_);
  Status remove(const NetworkList& list, const Wanted& wanted, const std::string& result) DROVER_REQUIRES(mutex_);
  Status admit(bool is_v6, const Subnet& subnet) DROVER_REQUIRES(mutex_);
  void sweep(const std::string& network, const std::string& allocation) DROVER_REQUIRES(mutex_);

  const Config& config_;
  Programs& programs_;
  Mutex mutex_;
};

// One rule that masquerades an allocation, as `iptables -S` prints it.
struct MasqueradeRule {
  std::vector<std::string> words;  // without "-A"
  std::string chain;               // it leads to
};
// Those whose comment names the network and the allocation. Pure.
std::vector<MasqueradeRule> masquerade_rules(std::string_view printed, const std::string& network,
                                             const std::string& allocation);

}  // namespace drover::networks::cni
