// The handler that deletes evaluations: by their identifiers, or by a filter, in entries of the log that the apply
// thread is done with soon. [a thread that may wait]
#pragma once

#include "drover/plugin.h"
#include "tables.h"

namespace drover::v1 {
class DeleteEvaluationsRequest;
class DeleteEvaluationsResponse;
}  // namespace drover::v1

namespace drover::scheduler {

// At most so many identifiers in one request.
inline constexpr int kMaxDeletionIds = 7281;
// Evaluations that one entry deletes: the apply thread is done with it in some milliseconds
// (fill_bench, with a million evaluations of as many jobs).
inline constexpr size_t kDeletionsAnEntry = 25;

// Deletes all that were asked for by identifiers or none of them; by a filter, those that may be deleted and existed
// when the call began. Errors: invalid_argument while the broker is not paused, for a request with both, none or too
// many identifiers, for a filter that cannot be read, and for an evaluation whose allocations live; not_found for an
// unknown identifier; those of proposing, with the number that were deleted before.
Result<v1::DeleteEvaluationsResponse> delete_evaluations(Host& host, const Tables& tables,
                                                         const v1::DeleteEvaluationsRequest& request, Call& call);

}  // namespace drover::scheduler
