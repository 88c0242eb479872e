// Joins raft/ and state/: a committed entry becomes a transaction of the store, a snapshot of the store becomes the
// snapshot of the log. [apply]
#pragma once

#include <functional>

#include "drover/metrics.h"
#include "kernel/host/command_table.h"
#include "kernel/raft/raft.h"
#include "kernel/state/store.h"

namespace drover {

class StoreMachine final : public raft::StateMachine {
 public:
  // `on_replaced` runs after an entry that replaced the whole state. [apply]
  StoreMachine(state::Store& store, const host::CommandTable& commands, Metrics& metrics,
               std::function<void()> on_replaced)
      : store_(store), commands_(commands), metrics_(metrics), on_replaced_(std::move(on_replaced)) {}

  void apply(std::span<const raft::Entry> entries, std::vector<Result<std::string>>& answers) override;
  raft::Index applied_index() override { return store_.index(); }
  std::unique_ptr<raft::SnapshotSource> snapshot() override;
  Status restore(raft::ByteSource& source) override;

 private:
  Result<std::string> apply_one(const raft::Entry& entry, state::Transaction& transaction);

  state::Store& store_;
  const host::CommandTable& commands_;
  Metrics& metrics_;
  const std::function<void()> on_replaced_;
};

}  // namespace drover
