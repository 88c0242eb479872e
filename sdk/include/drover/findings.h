// Collects everything that is wrong with something, so that an author learns of all of it at once. One thread.
//
//   Findings findings("policy 0 invalid");
//   findings.require(is_object_name(policy.name()), "invalid name '" + policy.name() + "'");
//   …
//   return findings.status();
#pragma once

#include <string>
#include <utility>

#include "drover/result.h"

namespace drover {

class Findings {
 public:
  explicit Findings(std::string heading) : heading_(std::move(heading)) {}

  // Takes note of the text where something does not hold.
  void require(bool holds, const std::string& text) {
    if (!holds) wrong_ += (wrong_.empty() ? "" : "; ") + text;
  }
  // ok; else invalid_argument "policy 0 invalid: …; …".
  Status status() const { return wrong_.empty() ? ok_status() : invalid_argument(heading_ + ": " + wrong_); }

 private:
  const std::string heading_;
  std::string wrong_;
};

}  // namespace drover
