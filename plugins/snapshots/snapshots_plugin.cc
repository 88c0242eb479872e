// Snapshots for operators; the leader removes what failed restores left in the table.
#include <chrono>

#include "drover/log.h"
#include "drover/pause.h"
#include "drover/module.h"
#include "rpc.h"
#include "tables.h"

namespace drover::snapshots {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kAbandonedAfter = 1h;
constexpr auto kLookEvery = 10min;
constexpr auto kProposeTime = 60s;

class SnapshotsPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_TRY(chunks_, declare_table(declare));
    DROVER_RETURN_IF_ERROR(declare_commands(declare, chunks_));
    return rpc_.declare(declare);
  }

  Status start(Host& host) override {
    host_ = &host;
    return rpc_.start(host);
  }

  void lead(std::stop_token stop) override {
    while (!stop.stop_requested()) {
      if (!rpc_.is_restoring()) clean_up();
      pause_for(kLookEvery, stop);
    }
  }

  void stop(SteadyTime) override {}

 private:
  void clean_up() {
    const int64_t before = host_->clock().wall_ns() - kAbandonedAfter.count();
    v1::RestoresDropped command;
    for (std::string& id : abandoned(*host_->snapshot(), chunks_, before)) *command.add_restore_ids() = std::move(id);
    if (command.restore_ids().empty()) return;
    const Status status = host_->propose(command, host_->clock().steady() + kProposeTime).status();
    log::warn("snapshots", "removes what a restore left behind",
              {{"restores", command.restore_ids_size()}, {"result", status.to_string()}});
  }

  Host* host_ = nullptr;
  Chunks chunks_;
  Rpc rpc_;
};

}  // namespace
}  // namespace drover::snapshots

DROVER_MODULE(drover::snapshots::SnapshotsPlugin, "module", "snapshots", "0.1.0");
