#include "drover/turns.h"

namespace drover {

Result<Turns::Turn> Turns::take(const std::string& name, SteadyTime deadline, const std::stop_token& stop) {
  uint64_t ticket = 0;
  bool is_mine = false;
  {
    MutexLock lock(mutex_);
    ticket = ++last_;
    queues_[name].push_back(ticket);
    is_mine = changed_.wait_until(lock, stop, deadline,
                                  [&]() DROVER_REQUIRES(mutex_) { return queues_[name].front() == ticket; });
  }
  if (is_mine) return Turn(*this, name, ticket);
  leave(name, ticket);
  if (stop.stop_requested()) return cancelled("stopped while it waited for an earlier call");
  return deadline_exceeded("an earlier call for the same volume is still pending");
}

size_t Turns::waiting(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto at = queues_.find(name);
  return at == queues_.end() ? 0 : at->second.size() - 1;
}

void Turns::leave(const std::string& name, uint64_t ticket) {
  const MutexLock lock(mutex_);
  const auto at = queues_.find(name);
  std::erase(at->second, ticket);
  if (at->second.empty()) queues_.erase(at);
  changed_.notify_all();
}

void Turns::Turn::end() {
  if (turns_) std::exchange(turns_, nullptr)->leave(name_, ticket_);
}

}  // namespace drover
