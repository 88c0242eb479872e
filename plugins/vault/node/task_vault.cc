#include "node/task_vault.h"

namespace drover::vault {

Session TaskVault::session() const {
  const MutexLock lock(mutex_);
  return session_;
}

void TaskVault::put(Session session) {
  std::vector<std::shared_ptr<Reader>> told;
  {
    const MutexLock lock(mutex_);
    if (session_.token == session.token) return;
    session_ = std::move(session);
    for (const auto& [name, weak] : readers_) {
      if (auto reader = weak.lock()) told.push_back(std::move(reader));
    }
  }
  for (const auto& reader : told) reader->token_changed();
}

std::shared_ptr<TaskVault::Reader> TaskVault::reader(const std::string& name,
                                                     const std::function<std::shared_ptr<Reader>()>& make,
                                                     bool& is_new) {
  const MutexLock lock(mutex_);
  std::erase_if(readers_, [](const auto& each) { return each.second.expired(); });
  auto& known = readers_[name];
  auto reader = known.lock();
  is_new = !reader;
  if (is_new) known = reader = make();
  return reader;
}

std::shared_ptr<TaskVault> TaskVaults::of(const Uuid& allocation, const std::string& task) {
  const MutexLock lock(mutex_);
  std::erase_if(all_, [](const auto& each) { return each.second.expired(); });
  auto& known = all_[{allocation, task}];
  auto vault = known.lock();
  if (!vault) known = vault = std::make_shared<TaskVault>();
  return vault;
}

}  // namespace drover::vault
