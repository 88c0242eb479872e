// The hooks of this agent, its own and those of other plugins, in the order in which they run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "drover/alloc_hook.h"
#include "drover/plugin.h"
#include "drover/task_hook.h"

namespace drover::agent {

class StoredHook;

struct HookTable {
  std::vector<AllocHook*> allocs;
  std::vector<TaskHook*> tasks;
  std::vector<HookInfo> infos;  // of all of them
};
// Errors: invalid_argument for hooks that cannot be put in order.
Result<HookTable> find_hooks(const Host& host);

// The rows of the hooks of one allocation or task, by the hook's name. [any]
class HookRows {
 public:
  virtual StoredHook hook(const std::string& name) const = 0;
  // Durable when it returns.
  virtual Status change_hook(const std::string& name, const std::function<void(StoredHook&)>& change) = 0;

 protected:
  ~HookRows() = default;
};

// The values that one hook keeps in its row.
class RowState final : public HookState {
 public:
  RowState(HookRows& rows, std::string hook) : rows_(rows), hook_(std::move(hook)) {}
  std::optional<std::string> get(std::string_view key) const override;
  Status put(std::string_view key, std::string value) override;

 private:
  HookRows& rows_;
  const std::string hook_;
};

}  // namespace drover::agent
