// The kinds of callers that the matrix tries, each with what it may do, said independently of the plugin acl.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "drover/methods.h"

namespace drover::matrix {

struct Caller {
  std::string name;      // "only submit-job", "no token"
  std::string policy;    // its text; empty: it has none
  std::string token;     // what it shows; empty: nothing, or what the policy's token will be
  Identity identity;     // what the servers should take it for
  bool is_good = true;   // false: its token is none
};

// All that have a policy of their own: each capability alone, in the namespace of the calls and in another one, each
// level of each area, each right on variables.
std::vector<Caller> callers_with_policies();

}  // namespace drover::matrix
