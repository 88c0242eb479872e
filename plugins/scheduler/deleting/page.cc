#include "deleting/page.h"

#include "drover/model/allocation.h"
#include "drover/schema.h"
#include "drover/v1/job.pb.h"

namespace drover::scheduler {

bool may_be_deleted(const ReadView& view, const Tables& tables, const v1::Evaluation& eval, int64_t now_ns) {
  bool may = true;
  std::optional<v1::Job> job;
  tables.allocs.scan(view, kAllocsByEval, of_id(eval.id()), [&](const v1::Allocation& alloc, std::string_view) {
    if (!job) job = Table<v1::Job>(tables.jobs).get(view, job_key(eval.namespace_(), eval.job_id()));
    may = may_be_forgotten(alloc, job ? &*job : nullptr, now_ns);
    return may;
  });
  return may;
}

Result<DeletionPage> next_deletions(const ReadView& view, const Tables& tables, const DeletionQuery& query,
                                    const std::string& begin, size_t limit) {
  DeletionPage page;
  const KeyRange range{begin, KeyBuilder().number(query.created_until + 1).take()};
  for (auto row = view.scan(tables.evals.id(), kEvalsByCreation, range); row->valid(); row->next()) {
    if (page.ids.size() == limit) {
      page.next = std::string(row->key());
      break;
    }
    const auto eval = Table<v1::Evaluation>::parse(row->row());
    if (query.name_space != "*" && eval.namespace_() != query.name_space) continue;
    const auto wanted = query.filter.matches(eval);
    if (!wanted) return invalid_argument("failed to read result page: " + wanted.status().message());
    if (*wanted && may_be_deleted(view, tables, eval, query.now_ns)) page.ids.push_back(eval.id());
  }
  return page;
}

}  // namespace drover::scheduler
