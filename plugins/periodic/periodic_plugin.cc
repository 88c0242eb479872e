// Periodic jobs: launched by their expressions while this server leads, or when somebody asks.
#include "drover/module.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/job_counts.pb.h"
#include "leader.h"
#include "periodic.pb.h"
#include "rpc.h"
#include "tables.h"

namespace drover::periodic {
namespace {

class PeriodicPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_TRY(tables_.launches, declare_tables(declare));
    return rpc_.declare(declare);
  }
  Status start(Host& host) override {
    host_ = &host;
    DROVER_TRY(const TableId jobs, host.find_table("jobs"));
    DROVER_TRY(const TableId counts, host.find_table("job_counts"));
    tables_.jobs = Table<v1::Job>(jobs);
    tables_.counts = Table<v1::JobCounts>(counts);
    rpc_.start(host);
    return ok_status();
  }
  void lead(std::stop_token stop) override { Leader(*host_, tables_).run(stop); }
  void stop(SteadyTime) override {}

 private:
  Host* host_ = nullptr;
  LeaderTables tables_;
  Rpc rpc_{tables_};
};

}  // namespace
}  // namespace drover::periodic

DROVER_MODULE(drover::periodic::PeriodicPlugin, "module", "periodic", "0.1.0");
