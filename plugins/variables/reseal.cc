#include "reseal.h"

#include "rows.h"
#include "variables.pb.h"

namespace drover::variables {

std::optional<v1::VariablesResealed> next_resealed(const ReadView& view, const Tables& tables, Keyring& keys,
                                                   size_t most, size_t& failed) {
  v1::VariablesResealed command;
  size_t taken = 0, bytes = 0;
  for (const std::string& id : keys.retiring(view)) {
    for (const auto* table : {&tables.variables, &tables.versions}) {
      table->scan(view, kByKey, KeyRange::prefix(id), [&](v1::SealedVariable& row, std::string_view) {
        if (taken == most || bytes >= kResealedBytes) return false;
        const auto items = open_items(keys, row);
        if (!items || !seal_items(keys, view, *items, row).ok()) return ++failed, true;
        bytes += row.sealed().size();
        auto& rows = table == &tables.variables ? *command.mutable_variables() : *command.mutable_versions();
        *rows.Add() = std::move(row);
        return ++taken, true;
      });
    }
  }
  if (taken == 0) return std::nullopt;
  return command;
}

}  // namespace drover::variables
