#include <optional>

#include "part.h"
#include "plugins/drain/drainer.h"

namespace drover::lives {
namespace {

class DrainPart final : public Part {
 public:
  Status declare(Declarations& declare) override { return drain::declare_tables(declare, tables_); }
  Status start(Host& host) override {
    host_ = &host;
    return ok_status();
  }
  void lead(const ReadView& view) override { drainer_.emplace(*host_, tables_).restore(view); }
  void take(const Change& change, uint64_t) override { drainer_->take(change); }
  bool look(int) override {
    drainer_->look();
    return false;
  }

 private:
  Host* host_ = nullptr;
  drain::Tables tables_;
  std::optional<drain::Drainer> drainer_;
};

}  // namespace

std::unique_ptr<Part> drain_part() { return std::make_unique<DrainPart>(); }

}  // namespace drover::lives
