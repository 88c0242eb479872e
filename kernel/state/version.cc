#include "kernel/state/version.h"

#include <thread>

#include "drover/result.h"

namespace drover::state {

void SpinLock::lock() {
  uint32_t tries = 0;
  while (held_.exchange(true, std::memory_order_acquire)) {
    while (held_.load(std::memory_order_relaxed)) {
      if (++tries > 100) std::this_thread::yield();
    }
  }
}

VersionList::VersionList(Memory& memory) : memory_(memory), current_(new Version) { current_->number = 1; }

VersionList::~VersionList() {
  DROVER_CHECK(current_->older == nullptr && current_->readers == 0);  // no reader outlives the store
  DeadList everything;
  for (Node* root : current_->roots) {
    if (root != nullptr) everything.push(Dead(root, Dead::subtree));
  }
  if (!everything.empty()) pending_.push_back({current_->number + 1, std::move(everything)});
  has_pending_ = true;
  while (reclaim()) {
  }
  delete current_;
}

void VersionList::open(Holder& holder) {
  const SpinLockGuard guard(lock_);
  ++current_->readers;
  holder.version = current_;
  holder.next = holders_;
  holder.link = &holders_;
  if (holders_ != nullptr) holders_->link = &holder.next;
  holders_ = &holder;
}

void VersionList::close(Holder& holder) {
  std::unique_ptr<Version> closed;
  {
    const SpinLockGuard guard(lock_);
    *holder.link = holder.next;
    if (holder.next != nullptr) holder.next->link = holder.link;
    auto* held = const_cast<Version*>(holder.version);
    if (--held->readers > 0 || held == current_) return;
    unlink(held);
    closed.reset(held);
    if (held->deadlist.empty()) return;
    pending_.push_back({held->number, std::move(held->deadlist)});
    has_pending_.store(true, std::memory_order_relaxed);
  }
  reclaim();
}

std::unique_ptr<Version> VersionList::next() {
  std::unique_ptr<Version> next = spare_ ? std::move(spare_) : std::make_unique<Version>();
  next->number = current_->number + 1;
  next->index = current_->index;
  next->roots = current_->roots;
  next->table_indexes = current_->table_indexes;
  return next;
}

void VersionList::publish(std::unique_ptr<Version> next, std::vector<Dead>& dead) {
  Version* fresh = next.release();
  const uint64_t number = fresh->number;
  {
    const SpinLockGuard guard(lock_);
    Version* old = current_;
    fresh->older = old;
    fresh->newer = nullptr;
    fresh->readers = 0;
    old->newer = fresh;
    current_ = fresh;
    if (old->readers == 0) {
      unlink(old);
      spare_.reset(old);
    }
    hand_over(fresh->older, dead);
  }
  free_all(dead, number);
  reclaim();
}

bool VersionList::reclaim() {
  if (!has_pending_.load(std::memory_order_relaxed)) return false;
  std::vector<Dead> chunk;
  uint64_t version = 0;
  {
    const SpinLockGuard guard(lock_);
    if (pending_.empty()) {
      has_pending_.store(false, std::memory_order_relaxed);
      return false;
    }
    Pending& last = pending_.back();
    version = last.version;
    chunk = last.list.take_chunk();
    if (last.list.empty()) pending_.pop_back();
    hand_over(heir(version), chunk);
  }
  free_all(chunk, version);
  return true;
}

Version* VersionList::heir(uint64_t version) const {
  Version* found = current_;
  while (found != nullptr && (found->number >= version || found->readers == 0)) found = found->older;
  return found;
}

void VersionList::unlink(Version* version) {
  if (version->older != nullptr) version->older->newer = version->newer;
  if (version->newer != nullptr) version->newer->older = version->older;
}

void VersionList::hand_over(Version* heir, std::vector<Dead>& dead) {
  if (heir == nullptr) return;
  std::erase_if(dead, [heir](const Dead& d) {
    if (d.birth() > heir->number) return false;
    heir->deadlist.push(d);
    return true;
  });
}

void VersionList::free_all(const std::vector<Dead>& dead, uint64_t version) {
  DeadList below;
  for (const Dead& d : dead) {
    if (d.kind() == Dead::item) {
      memory_.release(d.as_item());
      continue;
    }
    Node* node = d.as_node();
    if (d.kind() == Dead::subtree) {
      for (uint32_t i = 0; i < node->count; ++i) {
        if (node->items[i] != nullptr) below.push(Dead(node->items[i]));
        if (node->level != 0) below.push(Dead(static_cast<Inner*>(node)->children[i], Dead::subtree));
      }
    }
    tree::free_node(memory_, node);
  }
  if (below.empty()) return;
  const SpinLockGuard guard(lock_);
  pending_.push_back({version, std::move(below)});
  has_pending_.store(true, std::memory_order_relaxed);
}

}  // namespace drover::state
