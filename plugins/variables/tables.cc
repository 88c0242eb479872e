#include "tables.h"

#include "drover/keys.h"
#include "drover/model/namespace.h"
#include "drover/root_keys.h"
#include "variables.pb.h"

namespace drover::variables {
namespace {

using Outcome = v1::VariableOutcome;

std::string by_key(const v1::SealedVariable& row) {
  const v1::VariableMetadata& place = row.metadata();
  return KeyBuilder().id(row.key_id()).text(place.namespace_()).text(place.path()).number(place.modify_index()).take();
}

void version_keys(const v1::SealedVariable& row, RowKeys& keys) {
  keys.primary(version_key(row));
  keys.add(kByKey, by_key(row));
}

void variable_keys(const v1::SealedVariable& row, RowKeys& keys) {
  keys.primary(variable_key(row));
  keys.add(kByKey, by_key(row));
  if (row.metadata().has_lock()) keys.add(kLocked, variable_key(row));
}

void quota_keys(const v1::VariablesQuota& row, RowKeys& keys) { keys.primary(row.namespace_()); }

std::string outcome(Outcome::Kind kind, const v1::SealedVariable* row) {
  Outcome outcome;
  outcome.set_kind(kind);
  if (row) *outcome.mutable_variable() = *row;
  return serialize(outcome);
}

// The reason why the write may not be, if any.
std::optional<Outcome::Kind> hindrance(const v1::SealedVariable* existing, const v1::VariableCondition& condition) {
  if (condition.has_cas() && condition.cas() != (existing ? existing->metadata().modify_index() : 0))
    return Outcome::CONFLICT;
  const bool is_locked = existing && existing->metadata().has_lock();
  if (is_locked && existing->metadata().lock().id() != condition.lock_id()) return Outcome::LOCKED;
  return std::nullopt;
}

class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  Result<std::string> written(const v1::VariableWritten& command, ApplyContext& context) const {
    const v1::SealedVariable& said = command.variable();
    const v1::VariableMetadata& place = said.metadata();
    DROVER_RETURN_IF_ERROR(check_place(context.rows(), tables_, place.namespace_(), place.path()));
    const auto existing = tables_.variables.get(context.rows(), variable_key(said));
    const v1::SealedVariable* before = existing ? &*existing : nullptr;
    if (command.release() && (!before || !before->metadata().has_lock())) return outcome(Outcome::NOT_LOCKED, before);
    if (const auto kind = hindrance(before, command.condition())) return outcome(*kind, before);
    if (command.has_acquire() && before && before->metadata().has_lock()) return outcome(Outcome::LOCKED, before);
    const bool keeps_items = command.keeps_items() && before;
    if (!keeps_items && !may_use(said.key_id(), context)) return outcome(Outcome::KEY_GONE, before);
    v1::SealedVariable row = keeps_items ? *before : said;
    v1::VariableMetadata& metadata = *row.mutable_metadata();
    metadata.set_create_index(before ? before->metadata().create_index() : context.index());
    metadata.set_create_time(before ? before->metadata().create_time() : said.metadata().modify_time());
    metadata.set_modify_index(context.index());
    metadata.set_modify_time(said.metadata().modify_time());
    metadata.clear_lock();
    if (command.has_acquire()) {
      *metadata.mutable_lock() = command.acquire();
    } else if (!command.release() && before && before->metadata().has_lock()) {
      *metadata.mutable_lock() = before->metadata().lock();
    }
    if (before && !keeps_items) DROVER_RETURN_IF_ERROR(keep_version(*before, command.versions(), context));
    DROVER_RETURN_IF_ERROR(count(before, &row, context));
    DROVER_RETURN_IF_ERROR(tables_.variables.put(context.rows(), row));
    return outcome(Outcome::DONE, &row);
  }

  Result<std::string> deleted(const v1::VariableDeleted& command, ApplyContext& context) const {
    const auto existing = tables_.variables.get(context.rows(), variable_key(command.namespace_(), command.path()));
    if (const auto kind = hindrance(existing ? &*existing : nullptr, command.condition()))
      return outcome(*kind, existing ? &*existing : nullptr);
    if (!existing) return outcome(Outcome::DONE, nullptr);
    DROVER_RETURN_IF_ERROR(count(&*existing, nullptr, context));
    tables_.variables.erase(context.rows(), variable_key(command.namespace_(), command.path()));
    forget_versions(command.namespace_(), command.path(), 0, context);
    return outcome(Outcome::DONE, nullptr);
  }

  Result<std::string> resealed(const v1::VariablesResealed& command, ApplyContext& context) const {
    for (const v1::SealedVariable& row : command.variables())
      DROVER_RETURN_IF_ERROR(reseal(tables_.variables, variable_key(row), row, context));
    for (const v1::SealedVariable& row : command.versions())
      DROVER_RETURN_IF_ERROR(reseal(tables_.versions, version_key(row), row, context));
    return std::string();
  }

  Result<std::string> lock_freed(const v1::VariableLockFreed& command, ApplyContext& context) const {
    auto row = tables_.variables.get(context.rows(), variable_key(command.namespace_(), command.path()));
    if (!row || row->metadata().lock().id() != command.lock_id()) return std::string();
    row->mutable_metadata()->clear_lock();
    row->mutable_metadata()->set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(tables_.variables.put(context.rows(), *row));
    return std::string();
  }

 private:
  bool may_use(const std::string& key_id, ApplyContext& context) const {
    return may_seal_by(context.rows(), tables_.root_keys.id(), Uses(tables_), key_id);
  }

  Status keep_version(v1::SealedVariable before, uint32_t most, ApplyContext& context) const {
    before.mutable_metadata()->clear_lock();
    if (most > 0) DROVER_RETURN_IF_ERROR(tables_.versions.put(context.rows(), before));
    forget_versions(before.metadata().namespace_(), before.metadata().path(), most, context);
    return ok_status();
  }

  void forget_versions(const std::string& name_space, const std::string& path, uint32_t most,
                       ApplyContext& context) const {
    std::vector<std::string> old;
    auto at = context.rows().scan(tables_.versions.id(), kPrimary, versions_of(name_space, path));
    for (; at->valid(); at->next()) old.emplace_back(at->key());
    for (size_t i = most; i < old.size(); ++i) tables_.versions.erase(context.rows(), old[i]);
  }

  Status count(const v1::SealedVariable* before, const v1::SealedVariable* after, ApplyContext& context) const {
    const v1::SealedVariable& any = before ? *before : *after;
    auto row = tables_.quota.get(context.rows(), any.metadata().namespace_());
    if (!row) {
      row.emplace();
      row->set_namespace_(any.metadata().namespace_());
      row->set_create_index(context.index());
    }
    const auto size = [](const v1::SealedVariable* one) {
      return one ? static_cast<int64_t>(one->sealed().size()) : 0;
    };
    row->set_size(row->size() + size(after) - size(before));
    row->set_modify_index(context.index());
    return tables_.quota.put(context.rows(), *row);
  }

  Status reseal(const Table<v1::SealedVariable>& table, const std::string& key, const v1::SealedVariable& anew,
                ApplyContext& context) const {
    auto row = table.get(context.rows(), key);
    if (!row || row->metadata().modify_index() != anew.metadata().modify_index()) return ok_status();
    if (!may_use(anew.key_id(), context)) return ok_status();
    row->set_key_id(anew.key_id());
    row->set_sealed(anew.sealed());
    return table.put(context.rows(), *row);
  }

  const Tables& tables_;
};

}  // namespace

std::string variable_key(std::string_view name_space, std::string_view path) {
  return KeyBuilder().text(name_space).text(path).take();
}

std::string variable_key(const v1::SealedVariable& row) {
  return variable_key(row.metadata().namespace_(), row.metadata().path());
}

std::string version_key(std::string_view name_space, std::string_view path, uint64_t modify_index) {
  return KeyBuilder().text(name_space).text(path).descending().number(modify_index).take();
}

std::string version_key(const v1::SealedVariable& row) {
  return version_key(row.metadata().namespace_(), row.metadata().path(), row.metadata().modify_index());
}

KeyRange versions_of(std::string_view name_space, std::string_view path) {
  return KeyRange::prefix(KeyBuilder().text(name_space).text(path).view());
}

Status check_place(const ReadView& view, const Tables& tables, const std::string& name_space, const std::string& path) {
  if (has_namespace(view, tables.namespaces, name_space)) return ok_status();
  return invalid_argument("variable \"" + path + "\" is in nonexistent namespace \"" + name_space + "\"");
}

Status declare_tables(Declarations& declare, Tables& tables) {
  DROVER_TRY(tables.variables, declare.table<v1::SealedVariable>("variables", {{"key"}, {"locked"}}, variable_keys));
  DROVER_TRY(tables.versions, declare.table<v1::SealedVariable>("variable_versions", {{"key"}}, version_keys));
  DROVER_TRY(tables.quota, declare.table<v1::VariablesQuota>("variables_quota", {}, quota_keys));
  DROVER_TRY(const TableId root_keys, declare.other_table("root_keys"));
  tables.root_keys = Table<v1::RootKey>(root_keys);
  DROVER_RETURN_IF_ERROR(declare.later_table("namespaces", tables.namespaces));
  auto commands = std::make_shared<Commands>(tables);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::written>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::deleted>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::resealed>(commands));
  return declare.command<&Commands::lock_freed>(commands);
}

uint64_t Uses::uses(const ReadView& view, std::string_view key_id, uint64_t most) const {
  uint64_t found = 0;
  for (const TableId table : {tables_.variables.id(), tables_.versions.id()}) {
    auto row = view.scan(table, kByKey, KeyRange::prefix(key_id));
    for (; row->valid() && found < most; row->next()) ++found;
  }
  return found;
}

}  // namespace drover::variables
