#include "deleting/delete_evals.h"

#include <algorithm>
#include <span>
#include <vector>

#include "deleting/page.h"
#include "drover/api/evaluations.pb.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"

namespace drover::scheduler {
namespace {

constexpr auto kProposeTime = std::chrono::seconds(30);

// Deletes pages one after another, and counts.
class Deletion {
 public:
  Deletion(Host& host, Call& call) : host_(host), call_(call) {}

  Status delete_page(std::span<const std::string> ids) {
    if (ids.empty()) return ok_status();
    if (call_.stop().stop_requested()) return so_far(cancelled("the caller has gone"));
    v1::EvalsDeleted command;
    for (const std::string& id : ids) command.add_eval_ids(id);
    command.set_only_while_paused(true);
    const auto applied = host_.propose(command, host_.clock().steady() + kProposeTime);
    if (!applied) return so_far(applied.status());
    count_ += static_cast<int64_t>(ids.size());
    call_.set_index(applied->index);
    return ok_status();
  }
  // Deleted evaluations stay deleted: the error of a later page says so.
  Status so_far(const Status& status) const {
    if (count_ == 0) return status;
    return Status(status.code(), status.message() + "; " + std::to_string(count_) + " evaluations were deleted before");
  }
  v1::DeleteEvaluationsResponse response() const {
    v1::DeleteEvaluationsResponse response;
    response.set_count(count_);
    return response;
  }

 private:
  Host& host_;
  Call& call_;
  int64_t count_ = 0;
};

Result<v1::DeleteEvaluationsResponse> delete_by_ids(Host& host, const Tables& tables,
                                                    const v1::DeleteEvaluationsRequest& request, Call& call) {
  if (request.eval_ids_size() > kMaxDeletionIds) {
    return invalid_argument("request includes " + std::to_string(request.eval_ids_size()) +
                            " evaluation IDs, must be " + std::to_string(kMaxDeletionIds) + " or fewer");
  }
  std::vector<std::string> ids(request.eval_ids().begin(), request.eval_ids().end());
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  const auto view = host.snapshot();
  for (const std::string& id : ids) {
    const auto eval = tables.evals.get(*view, id);
    if (!eval) return not_found("eval not found");
    if (!may_be_deleted(*view, tables, *eval, host.clock().wall_ns())) {
      return invalid_argument("eval " + Uuid::from_bytes(id).to_string() + " is not safe to delete");
    }
  }
  Deletion deletion(host, call);
  for (std::span<const std::string> left = ids; !left.empty();) {
    const size_t size = std::min(left.size(), kDeletionsAnEntry);
    DROVER_RETURN_IF_ERROR(deletion.delete_page(left.first(size)));
    left = left.subspan(size);
  }
  return deletion.response();
}

Result<v1::DeleteEvaluationsResponse> delete_by_filter(Host& host, const Tables& tables,
                                                       const v1::DeleteEvaluationsRequest& request, Call& call) {
  const auto filter = Filter::parse(request.filter());
  if (!filter) return invalid_argument("failed to read filter expression: " + filter.status().message());
  const DeletionQuery query{.filter = *filter,
                            .name_space = call.query().name_space,
                            .created_until = host.snapshot()->index(),
                            .now_ns = host.clock().wall_ns()};
  Deletion deletion(host, call);
  std::string begin;
  do {
    const auto page = next_deletions(*host.snapshot(), tables, query, begin, kDeletionsAnEntry);
    if (!page) return deletion.so_far(page.status());
    DROVER_RETURN_IF_ERROR(deletion.delete_page(page->ids));
    begin = page->next;
  } while (!begin.empty());
  return deletion.response();
}

}  // namespace

Result<v1::DeleteEvaluationsResponse> delete_evaluations(Host& host, const Tables& tables,
                                                         const v1::DeleteEvaluationsRequest& request, Call& call) {
  if (!is_paused(tables, *host.snapshot())) return invalid_argument(std::string(kBrokerRuns));
  const bool by_ids = request.eval_ids_size() > 0, by_filter = !request.filter().empty();
  if (by_ids && by_filter) return invalid_argument("evals cannot be deleted by both ID and filter");
  if (!by_ids && !by_filter) return invalid_argument("evals must be deleted by either ID or filter");
  return by_ids ? delete_by_ids(host, tables, request, call) : delete_by_filter(host, tables, request, call);
}

}  // namespace drover::scheduler
