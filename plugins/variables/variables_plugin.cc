// Variables: small sets of secret texts by their path, encrypted in the log, in the state and in snapshots.
#include "drover/config.h"
#include "drover/log.h"
#include "drover/module.h"
#include "drover/pause.h"
#include "lock_keeper.h"
#include "node_rpc.h"
#include "reseal.h"
#include "rpc.h"
#include "tables.h"
#include "variables.pb.h"

namespace drover::variables {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookEvery = 1s;
constexpr size_t kResealedAtOnce = 100;
constexpr auto kProposeTime = 10s;
constexpr int64_t kVersions = 5;

class VariablesPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    DROVER_RETURN_IF_ERROR(declare.configuration(
        "plugin", {.options = {{.name = "versions",
                                .type = ConfigType::integer,
                                .default_text = std::to_string(kVersions),
                                .help = "How many former versions of a variable are kept for var rollback.",
                                .min = 0,
                                .max = 100}}}));
    DROVER_RETURN_IF_ERROR(declare.extend<KeyUser>("variables", uses_));
    DROVER_RETURN_IF_ERROR(rpc_.declare(declare));
    return node_rpc_.declare(declare);
  }

  Status start(Host& host) override {
    host_ = &host;
    keys_ = host.extension<Keyring>("keyring");
    if (!keys_) return failed_precondition("variables need the plugin keyring; enable it");
    const ConfigBlock* own = host.configuration("plugin");
    rpc_.start(host, *keys_, static_cast<uint32_t>(own ? own->integer("versions", kVersions) : kVersions));
    return node_rpc_.start(host, *keys_);
  }

  void lead(std::stop_token stop) override {
    locks_.clear();
    do {
      free_locks();
      reseal();
    } while (pause_for(kLookEvery, stop));
  }

  void stop(SteadyTime) override {}

 private:
  void free_locks() {
    const auto view = host_->snapshot();
    const auto locked = tables_.variables.list(*view, kLocked, KeyRange::all());
    for (const v1::VariableLockFreed& command : locks_.dead(locked, host_->clock().steady())) {
      const Status status = host_->propose(command, host_->clock().steady() + kProposeTime).status();
      log::info("variables", "the lock of a variable was not renewed in time",
                {{"namespace", command.namespace_()}, {"path", command.path()}, {"result", status.to_string()}});
    }
  }

  void reseal() {
    size_t failed = 0;
    const auto command = next_resealed(*host_->snapshot(), tables_, *keys_, kResealedAtOnce, failed);
    if (failed > 0 && failed != told_failed_) {
      log::error("variables",
                 "variables cannot be sealed by the new root key: their own is missing or they are damaged",
                 {{"variables", failed}});
    }
    told_failed_ = failed;
    if (!command) return;
    const Status status = host_->propose(*command, host_->clock().steady() + kProposeTime).status();
    log::info("variables", "sealed variables by the new root key",
              {{"variables", command->variables_size()},
               {"versions", command->versions_size()},
               {"result", status.to_string()}});
  }

  Host* host_ = nullptr;
  Keyring* keys_ = nullptr;
  Tables tables_;
  Uses uses_{tables_};
  LockKeeper locks_;
  Rpc rpc_{tables_, locks_};
  NodeRpc node_rpc_{tables_};
  size_t told_failed_ = 0;  // [lead]
};

}  // namespace
}  // namespace drover::variables

DROVER_MODULE(drover::variables::VariablesPlugin, "module", "variables", "0.1.0");
