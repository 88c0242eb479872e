#include "kernel/state_machine.h"

#include <cstdlib>

#include "drover/log.h"
#include "kernel/state/snapshot_file.h"
#include "kernel/state/transaction.h"

namespace drover {
namespace {

class FrozenStore final : public raft::SnapshotSource {
 public:
  explicit FrozenStore(std::unique_ptr<state::Snapshot> snapshot) : snapshot_(std::move(snapshot)) {}
  raft::Index index() override { return snapshot_->index(); }
  Status write(raft::ByteSink& sink) override { return state::write_snapshot(*snapshot_, sink); }

 private:
  std::unique_ptr<state::Snapshot> snapshot_;
};

}  // namespace

void StoreMachine::apply(std::span<const raft::Entry> entries, std::vector<Result<std::string>>& answers) {
  // One transaction an entry: readers see whole entries, and an answer's index names exactly what it changed.
  for (const raft::Entry& entry : entries) {
    auto transaction = store_.begin(entry.index);
    answers.push_back(apply_one(entry, *transaction));
    const bool is_replaced = transaction->has_replaced();
    transaction->commit();
    if (is_replaced) on_replaced_();
  }
  metrics_.set("nomad.raft.appliedIndex", static_cast<double>(entries.empty() ? 0 : entries.back().index));
}

Result<std::string> StoreMachine::apply_one(const raft::Entry& entry, state::Transaction& transaction) {
  if (entry.type != raft::EntryType::command) return std::string();
  auto command = host::decode_command(entry.bytes());
  if (!command || !commands_.knows(command->name)) {
    // Going on without it would make this server's state another one than its peers'.
    log::error("apply",
               "a committed command is not known to any loaded plugin; enable or install the plugin that declares it",
               {{"command", command ? std::string(command->name) : "unreadable"}, {"index", entry.index}});
    std::_Exit(3);
  }
  transaction.set_command(command->name);
  const size_t before = transaction.savepoint();
  const auto began = std::chrono::steady_clock::now();
  auto answer = commands_.apply(command->name, command->payload, entry.index, transaction);
  if (!answer) transaction.rollback_to(before);
  const size_t dot = command->name.rfind('.');
  metrics_.observe("nomad.raft.fsm.apply", std::chrono::steady_clock::now() - began,
                   {{"command", std::string(command->name.substr(dot == std::string_view::npos ? 0 : dot + 1))}});
  return answer;
}

std::unique_ptr<raft::SnapshotSource> StoreMachine::snapshot() {
  return std::make_unique<FrozenStore>(store_.snapshot("raft snapshot"));
}

Status StoreMachine::restore(raft::ByteSource& source) { return store_.restore(source); }

}  // namespace drover
