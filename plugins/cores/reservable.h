// Which cores of this machine tasks may reserve, and what the servers are told of it.
#pragma once

#include <optional>

#include "drover/config.h"
#include "drover/core_list.h"
#include "drover/node_fingerprint.h"

namespace drover::cores {

struct CoreOptions {
  std::optional<CoreList> reservable;  // nothing: all
  CoreList kept;                       // for what is no task
};
// The options that this plugin adds to the block client; client.reserved.cores is declared with its block.
std::vector<ConfigOption> client_options();
// `client` may be null. Errors: invalid_argument naming the option.
Result<CoreOptions> read_options(const ConfigBlock* client);

// Those of `machine` that tasks may use. Errors: invalid_argument for an option that names a core that is not there. Pure.
Result<CoreList> usable_cores(const CoreOptions& options, const CoreList& machine);

class CoresFingerprint final : public NodeFingerprint {
 public:
  // Before the first call. `reservable` is empty where cores cannot be reserved.
  void start(CoreList reservable, CoreList kept);
  Status describe(v1::Node& node) override;

 private:
  CoreList reservable_, kept_;
};

}  // namespace drover::cores
