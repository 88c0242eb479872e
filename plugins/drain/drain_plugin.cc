// Drain: empties nodes that shall be taken out of service, without taking services down.
#include "drainer.h"
#include "drover/module.h"
#include "tables.h"

namespace drover::drain {
namespace {

class DrainPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override { return declare_tables(declare, tables_); }
  Status start(Host& host) override {
    host_ = &host;
    return ok_status();
  }
  void lead(std::stop_token stop) override { Drainer(*host_, tables_).run(stop); }
  void stop(SteadyTime) override {}

 private:
  Tables tables_;
  Host* host_ = nullptr;
};

}  // namespace
}  // namespace drover::drain

DROVER_MODULE(drover::drain::DrainPlugin, "module", "drain", "0.1.0");
