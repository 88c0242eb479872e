// Which evaluations may be deleted, and the pages in which a filter finds them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drover/methods.h"
#include "drover/model/filter.h"
#include "tables.h"

namespace drover::scheduler {

// True when nothing that the evaluation placed lives, or remembers attempts that a rescheduling asks for.
// `now_ns`: since 1970.
bool may_be_deleted(const ReadView& view, const Tables& tables, const v1::Evaluation& eval, int64_t now_ns);

struct DeletionPage {
  std::vector<std::string> ids;
  std::string next;  // where the page after this one begins; empty: there is none
};

// A request to delete by a filter.
struct DeletionQuery {
  const Filter& filter;
  std::string name_space;  // "*": all
  uint64_t created_until;  // evaluations created later stay
  int64_t now_ns;
};

// The first `limit` evaluations, in the order of creation, that are wanted and may be deleted. `begin`: `next` of the
// page before. Errors: invalid_argument, when the filter asks for something that an evaluation does not have.
Result<DeletionPage> next_deletions(const ReadView& view, const Tables& tables, const DeletionQuery& query,
                                    const std::string& begin, size_t limit);

}  // namespace drover::scheduler
