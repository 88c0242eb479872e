// Hears who asked for what, and what came of it. The router tells each extension of this point of every call that this
// agent answers, once, when its answer is known; of a stream, when it ends. Calls that the agent passes on are told
// where they are answered; those that plugins make for themselves and that are answered beside them are not told. [any]
#pragma once

#include <string_view>

#include "drover/methods.h"
#include "drover/result.h"

namespace drover {

class Auditor {
 public:
  static constexpr std::string_view kExtensionPoint = "auditor";
  virtual ~Auditor() = default;
  // Asked before the call is carried out, so that its request is kept only where it is of interest. Must not wait.
  virtual bool wants(const CallContext& context) = 0;
  // `context` holds secrets, and so may `request`: they are not to be written down. Must not wait for long: the answer
  // goes out after it.
  virtual void answered(const CallContext& context, std::string_view request, const Status& outcome) = 0;
};

}  // namespace drover
