// A plugin as the model of a server sees it: what it declares, and what it does while the server leads, in steps that
// one thread takes. Each is made in a file of its own, because the plugins' headers have the same names.
#pragma once

#include <memory>

#include "drover/plugin.h"

namespace drover::lives {

class Part {
 public:
  virtual ~Part() = default;
  virtual Status declare(Declarations& declare) = 0;
  virtual Status start(Host& host) = 0;
  // This server leads from the view on; what an earlier leadership kept in memory is gone.
  virtual void lead(const ReadView&) {}
  virtual void take(const Change&, uint64_t /*index*/) {}
  // Does what is due now. `many`: how much of it at one time, where the part may take more or less. True when there may
  // be more.
  virtual bool look(int /*many*/) { return false; }
};

std::unique_ptr<Part> jobs_part();
std::unique_ptr<Part> nodes_part();
std::unique_ptr<Part> scheduler_part();
std::unique_ptr<Part> deployments_part();
std::unique_ptr<Part> drain_part();

}  // namespace drover::lives
