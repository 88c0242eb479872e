#include "holders.h"

#include <algorithm>

#include "drover/model/allocation.h"

namespace drover::scheduler {

bool ran_successfully(const v1::Allocation& alloc) { return alloc.client_status() == v1::CLIENT_STATUS_COMPLETE; }

Stays stays(const v1::Allocation& alloc, bool is_batch) {
  if (is_batch) {
    if (server_terminal(alloc)) return ran_successfully(alloc) ? Stays::yes : Stays::no;
    return alloc.client_status() == v1::CLIENT_STATUS_FAILED ? Stays::failed : Stays::yes;
  }
  if (server_terminal(alloc)) return Stays::no;
  switch (alloc.client_status()) {
    case v1::CLIENT_STATUS_COMPLETE:
    case v1::CLIENT_STATUS_LOST:
      return Stays::no;
    case v1::CLIENT_STATUS_FAILED:
      return Stays::failed;
    default:
      return Stays::yes;
  }
}

void Holders::add(const Allocs& allocs) {
  for (Alloc alloc : allocs) {
    const Stays stay = stays(*alloc, is_batch_);
    if (!is_of_job(*alloc) || stay == Stays::no) continue;
    auto& holder = holders_[name_of(*alloc)];
    holder = std::max(holder, std::tuple(stay != Stays::failed, alloc->create_index(), std::string_view(alloc->id())));
  }
}

bool Holders::is_history(const v1::Allocation& alloc) const {
  if (alloc.client_status() != v1::CLIENT_STATUS_FAILED || stays(alloc, is_batch_) == Stays::no) return false;
  if (!is_of_job(alloc)) return true;
  const auto holder = holders_.find(name_of(alloc));
  return holder != holders_.end() && std::get<std::string_view>(holder->second) != alloc.id();
}

}  // namespace drover::scheduler
