#include "users/user_pool.h"

namespace drover::agent {

UserPool::Lease::~Lease() { pool_.change(id_, is_retired_ ? 0 : -1, is_retired_ ? -1 : 0); }

void UserPool::Lease::retire() {
  if (is_retired_) return;
  is_retired_ = true;
  pool_.change(id_, -1, 1);
}

std::optional<uint32_t> UserPool::find(const UserRange& range, const std::function<bool(const Use&)>& fits) const {
  const uint64_t size = uint64_t{range.last} - range.first + 1;
  const uint64_t begin = next_ >= range.first && next_ <= range.last ? next_ - range.first : 0;
  for (uint64_t step = 0; step < size; ++step) {
    const auto id = static_cast<uint32_t>(range.first + (begin + step) % size);
    const auto use = uses_.find(id);
    if (use == uses_.end() || fits(use->second)) return id;
  }
  return std::nullopt;
}

Result<std::unique_ptr<UserPool::Lease>> UserPool::take(const UserRange& range) {
  const MutexLock lock(mutex_);
  auto id = find(range, [](const Use&) { return false; });
  if (!id) id = find(range, [](const Use& use) { return use.tasks == 0; });
  if (!id) return resource_exhausted("users: uid/gid pool exhausted");
  next_ = *id + 1;
  ++uses_[*id].tasks;
  return std::make_unique<Lease>(*this, *id);
}

std::unique_ptr<UserPool::Lease> UserPool::keep(uint32_t id) {
  change(id, 1, 0);
  return std::make_unique<Lease>(*this, id);
}

void UserPool::change(uint32_t id, int tasks, int remains) {
  const MutexLock lock(mutex_);
  Use& use = uses_[id];
  use.tasks += tasks;
  use.remains += remains;
  if (use.tasks == 0 && use.remains == 0) uses_.erase(id);
}

}  // namespace drover::agent
