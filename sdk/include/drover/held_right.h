// The right to a stream about an object, for as long as the stream lasts. The router looks again at what a streaming
// method declares, and for a method whose rule is `of_object` at any namespace: only its handler knows the object's. So
// the handler holds the right there, stops with it, and ends with what it says:
//
//   DROVER_RETURN_IF_ERROR(call.require(name_space));
//   const HeldRight right(host, call, name_space);
//   return right.end(copy(…, right.stop()));
//
// [the handler's thread]; stop() is [any].
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include "drover/methods.h"
#include "drover/plugin.h"

namespace drover {

class HeldRight {
 public:
  // Looks again and again, after `every`. Nothing is looked for where nobody restricts the caller.
  HeldRight(Host& host, const Call& call, std::string name_space,
            std::chrono::nanoseconds every = std::chrono::seconds(3));
  ~HeldRight();
  HeldRight(const HeldRight&) = delete;
  HeldRight& operator=(const HeldRight&) = delete;

  // Stopped with the call, and when the right is lost.
  std::stop_token stop() const;
  // The end of the stream: permission_denied when the right was lost, else `own`.
  Status end(Status own) const;

 private:
  class Watch;
  std::shared_ptr<Watch> watch_;
};

}  // namespace drover
