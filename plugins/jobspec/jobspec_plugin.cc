// Job files: the languages that jobs are written in.
#include "drover/module.h"
#include "parse.h"

namespace drover::jobspec {
namespace {

class JobspecPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override { return declare.extend<JobParser>("hcl", parser_); }
  Status start(Host&) override { return ok_status(); }
  void stop(SteadyTime) override {}

 private:
  Parser parser_;
};

}  // namespace
}  // namespace drover::jobspec

DROVER_MODULE(drover::jobspec::JobspecPlugin, "module", "jobspec", "0.1.0");
