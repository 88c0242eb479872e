// The tokens of the tasks of this node, from the hook that obtains them to the templates that read with them. [any]
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/vault_client.h"
#include "drover/mutex.h"
#include "drover/uuid.h"

namespace drover::vault {

// One task's way to Vault.
class TaskVault {
 public:
  // Told of each new token of the task. Held weakly; called without a lock.
  class Reader {
   public:
    virtual ~Reader() = default;
    virtual void token_changed() = 0;
  };

  // Without a token: there is none yet.
  Session session() const;
  void put(Session session);

  // The reader of that name, made where there is none that somebody holds. `is_new` is set where it was made.
  std::shared_ptr<Reader> reader(const std::string& name, const std::function<std::shared_ptr<Reader>()>& make,
                                 bool& is_new);

 private:
  mutable Mutex mutex_;
  Session session_ DROVER_GUARDED_BY(mutex_);
  std::map<std::string, std::weak_ptr<Reader>> readers_ DROVER_GUARDED_BY(mutex_);
};

class TaskVaults {
 public:
  // One for each task, for as long as somebody holds it.
  std::shared_ptr<TaskVault> of(const Uuid& allocation, const std::string& task);

 private:
  Mutex mutex_;
  std::map<std::pair<Uuid, std::string>, std::weak_ptr<TaskVault>> all_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::vault
