#include "hook_table.h"

#include "agent_state.pb.h"

namespace drover::agent {
namespace {

template <typename Hook>
Status put_in_order(const Host& host, std::vector<Hook*>& hooks, std::vector<HookInfo>& all) {
  std::vector<Hook*> found;
  std::vector<HookInfo> infos;
  for (const std::string& name : host.extensions<Hook>()) {
    found.push_back(host.extension<Hook>(name));
    infos.push_back(found.back()->info());
  }
  auto order = order_hooks(infos);
  if (!order) return order.status().with_context(Hook::kExtensionPoint);
  for (const size_t at : *order) hooks.push_back(found[at]);
  all.insert(all.end(), infos.begin(), infos.end());
  return ok_status();
}

}  // namespace

Result<HookTable> find_hooks(const Host& host) {
  HookTable table;
  DROVER_RETURN_IF_ERROR(put_in_order(host, table.allocs, table.infos));
  DROVER_RETURN_IF_ERROR(put_in_order(host, table.tasks, table.infos));
  return table;
}

std::optional<std::string> RowState::get(std::string_view key) const {
  const StoredHook row = rows_.hook(hook_);
  const auto at = row.values().find(std::string(key));
  return at == row.values().end() ? std::nullopt : std::optional(at->second);
}

Status RowState::put(std::string_view key, std::string value) {
  return rows_.change_hook(hook_, [&](StoredHook& row) {
    if (value.empty()) {
      row.mutable_values()->erase(std::string(key));
    } else {
      (*row.mutable_values())[std::string(key)] = std::move(value);
    }
  });
}

}  // namespace drover::agent
