// This machine's means for networks of allocations, for the servers to place jobs by.
#pragma once

#include <string>
#include <string_view>

#include "config.h"
#include "drover/node_fingerprint.h"

namespace drover::networks {

enum class BridgeBy : uint8_t { nobody, cni, native };

// By CNI plugins where all that a bridge needs are installed, else by this agent itself. Looks at the machine.
BridgeBy find_bridge(const Config& config);
// True when this process may make bridges here. Tries, in a network of its own.
bool can_make_bridges();

// "1.1.1" of the first lines that a CNI plugin prints when it is called without arguments; empty: it says none. Pure.
std::string plugin_version(std::string_view printed);

class NetworkFingerprint final : public NodeFingerprint {
 public:
  // Before the first call. `config` outlives it.
  void start(const Config& config, BridgeBy bridge);
  Status describe(v1::Node& node) override;

 private:
  const Config* config_ = nullptr;
  BridgeBy bridge_ = BridgeBy::nobody;
};

}  // namespace drover::networks
