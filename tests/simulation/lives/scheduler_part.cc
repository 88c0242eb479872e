#include <optional>

#include "part.h"
#include "plugins/scheduler/columns.h"
#include "plugins/scheduler/deciding/generic_scheduler.h"
#include "plugins/scheduler/deciding/system_scheduler.h"
#include "plugins/scheduler/leader.h"
#include "plugins/scheduler/node_rpc.h"
#include "plugins/scheduler/plan_applier.h"
#include "plugins/scheduler/plans/exact_runs.h"
#include "plugins/scheduler/rpc.h"
#include "plugins/scheduler/settings/config_rpc.h"
#include "plugins/scheduler/tables.h"
#include "plugins/scheduler/worker.h"

namespace drover::lives {
namespace {

using namespace scheduler;

class SchedulerPart final : public Part {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    DROVER_RETURN_IF_ERROR(declare_config_command(declare, tables_));
    DROVER_RETURN_IF_ERROR(declare.extend<Scheduler>("service", service_));
    DROVER_RETURN_IF_ERROR(declare.extend<Scheduler>("batch", batch_));
    DROVER_RETURN_IF_ERROR(declare.extend<Scheduler>("system", system_));
    DROVER_RETURN_IF_ERROR(declare.extend<Scheduler>("sysbatch", sysbatch_));
    DROVER_RETURN_IF_ERROR(rpc_.declare(declare));
    return node_rpc_.declare(declare);
  }
  Status start(Host& host) override {
    host_ = &host;
    DROVER_TRY(tables_.deployments, host.find_table("deployments"));
    columns_.emplace(host, tables_);
    DROVER_RETURN_IF_ERROR(rpc_.start(host));
    return node_rpc_.start(host);
  }
  void lead(const ReadView& view) override {
    work_.reset();
    columns_->forget();
    work_.emplace(*host_, tables_, *columns_);
    work_->leader.restore(view);
  }
  void take(const Change& change, uint64_t index) override { work_->leader.take(change, index); }
  bool look(int many) override {
    work_->leader.do_due_chores(host_->clock().steady(), {});
    bool worked = false;
    for (; many > 0; --many) {
      const auto delivery = work_->leader.evals().try_dequeue({});
      if (!delivery) break;
      work_->worker.work_on(*delivery, {});
      worked = true;
    }
    work_->plans.turn({});  // puts plans into the log
    work_->plans.turn({});  // hears of those that are there
    return worked;
  }

 private:
  // All that is in memory only.
  struct Work {
    Work(Host& host, const Tables& tables, SharedColumns& columns)
        : leader(host, tables, columns, exact_runs, {}),
          plans(host, columns, leader.evals()),
          worker(host, tables, columns, leader.evals(), plans, {}) {}
    ExactRuns exact_runs;  // nobody asks for one
    Leader leader;
    PlanApplier plans;
    Worker worker;
  };

  Host* host_ = nullptr;
  Tables tables_;
  Rpc rpc_{tables_};
  NodeRpc node_rpc_{tables_};
  GenericScheduler service_{/*is_batch=*/false}, batch_{/*is_batch=*/true};
  SystemScheduler system_{/*is_sysbatch=*/false}, sysbatch_{/*is_sysbatch=*/true};
  std::optional<SharedColumns> columns_;  // from start on
  std::optional<Work> work_;              // while it leads
};

}  // namespace

std::unique_ptr<Part> scheduler_part() { return std::make_unique<SchedulerPart>(); }

}  // namespace drover::lives
