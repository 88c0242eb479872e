// Lines of drover::log inside a plugin of the stable tier, to the agent's log (drover/v1/plugin_host.proto).
#pragma once

#include "drover/abi.h"
#include "drover/log.h"

namespace drover::stable {

// Takes the lines of this plugin for as long as it lives; what the host refuses is dropped. Nobody may log when it is
// destroyed. `host` outlives it.
class HostLog final : public log::Sink {
 public:
  explicit HostLog(const drover_endpoint& host);
  ~HostLog() override;
  void write(log::Level level, std::string_view component, std::string_view sentence,
             std::span<const log::Field> fields) override;

 private:
  const drover_endpoint& host_;
};

}  // namespace drover::stable
