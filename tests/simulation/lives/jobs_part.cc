#include "part.h"
#include "plugins/jobs/rpc.h"
#include "plugins/jobs/tables.h"

namespace drover::lives {
namespace {

class JobsPart final : public Part {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(jobs::declare_tables(declare, tables_));
    return rpc_.declare(declare);
  }
  Status start(Host& host) override { return rpc_.start(host); }

 private:
  jobs::Tables tables_;
  jobs::Rpc rpc_{tables_};
};

}  // namespace

std::unique_ptr<Part> jobs_part() { return std::make_unique<JobsPart>(); }

}  // namespace drover::lives
