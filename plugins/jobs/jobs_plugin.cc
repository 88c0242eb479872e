// Jobs: what operators asked for, version by version.
#include "drover/plugin.h"
#include "drover/v1/job.pb.h"
#include "jobs.pb.h"
#include "rpc.h"
#include "tables.h"
#include "validate.h"

namespace drover::jobs {
namespace {

class JobsPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    DROVER_RETURN_IF_ERROR(declare.extend<JobValidator>("jobs", validator_));
    return rpc_.declare(declare);
  }
  Status start(Host& host) override { return rpc_.start(host); }
  void stop(SteadyTime) override {}

 private:
  Tables tables_;
  Rpc rpc_{tables_};
  Validator validator_;
};

}  // namespace
}  // namespace drover::jobs

DROVER_MODULE(drover::jobs::JobsPlugin, "module", "jobs", "0.1.0");
