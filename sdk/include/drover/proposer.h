// A way into the log for one command, in place of the direct one: the plugin that declares the command may gather what
// several writes decided and put it into the log as one entry.
//
//   declare.extend<Proposer>("drover.v1.AllocationsReported", reports_);  // by the command's full name
//
// The router asks it for every WRITE that decided on that command. What the plugin itself proposes through its host
// goes the direct way. [any]
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "drover/clock.h"
#include "drover/methods.h"
#include "drover/result.h"

namespace drover {

class Proposer {
 public:
  static constexpr std::string_view kExtensionPoint = "proposer";
  virtual ~Proposer() = default;
  // As Host::propose of this command, with the same errors: never waits, `done` runs exactly once, on any thread, and
  // must not block. It hears the index of the entry that the command became part of.
  virtual void propose(std::string payload, SteadyTime deadline, uint64_t only_in_term,
                       std::function<void(Result<Applied>)> done) = 0;
};

}  // namespace drover
