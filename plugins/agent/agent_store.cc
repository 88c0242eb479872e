#include "agent_store.h"

#include "drover/log.h"
#include "drover/methods.h"

#include "agent_state.pb.h"

namespace drover::agent {
namespace {

constexpr std::string_view kNode = "node";
constexpr std::string_view kSecret = "secret";
constexpr std::string_view kToken = "token";
constexpr std::string_view kMeta = "meta";
constexpr std::string_view kContact = "contact";
constexpr std::string_view kAllocations = "alloc/";

std::string allocation_key(Uuid id) { return std::string(kAllocations) + id.bytes(); }
std::string task_prefix(Uuid id) { return "task/" + id.bytes() + "/"; }

// No value: the row goes.
Status write_one(LocalStore& rows, std::string key, std::optional<std::string> value) {
  const LocalStore::Write write{std::move(key), std::move(value)};
  return rows.write(std::span(&write, 1));
}

}  // namespace

Result<NodeIdentity> AgentStore::identity() {
  DROVER_TRY(const std::optional<Uuid> id, known_id());
  DROVER_TRY(std::optional<std::string> secret, rows_.get(kSecret));
  if (id && secret && !secret->empty()) return NodeIdentity{*id, *secret};
  NodeIdentity fresh{Uuid::random(), Uuid::random().to_string()};
  const LocalStore::Write writes[] = {{std::string(kNode), fresh.id.bytes()}, {std::string(kSecret), fresh.secret}};
  DROVER_RETURN_IF_ERROR(rows_.write(writes));
  return fresh;
}

Result<std::optional<Uuid>> AgentStore::known_id() {
  DROVER_TRY(const std::optional<std::string> id, rows_.get(kNode));
  return id && id->size() == 16 ? std::optional(Uuid::from_bytes(*id)) : std::nullopt;
}

Result<std::string> AgentStore::node_token() {
  DROVER_TRY(std::optional<std::string> token, rows_.get(kToken));
  return token ? *std::move(token) : std::string();
}

Status AgentStore::put_node_token(const std::string& token) {
  return write_one(rows_, std::string(kToken), token.empty() ? std::nullopt : std::optional(token));
}

Result<MetaChanges> AgentStore::meta() {
  MetaChanges changes;
  DROVER_TRY(const std::optional<std::string> row, rows_.get(kMeta));
  if (!row) return changes;
  DROVER_TRY(const auto stored, parse_message<StoredMeta>(*row));
  for (const auto& [key, value] : stored.changes())
    changes[key] = value.has_text() ? std::optional(value.text()) : std::nullopt;
  return changes;
}

Status AgentStore::put_meta(const MetaChanges& changes) {
  StoredMeta stored;
  for (const auto& [key, value] : changes) {
    StoredMeta::Value& to = (*stored.mutable_changes())[key];
    if (value) to.set_text(*value);
  }
  return write_one(rows_, std::string(kMeta), stored.SerializeAsString());
}

Result<std::optional<ContactMark>> AgentStore::contact() {
  DROVER_TRY(const std::optional<std::string> row, rows_.get(kContact));
  if (!row) return std::optional<ContactMark>();
  DROVER_TRY(const auto stored, parse_message<StoredContact>(*row));
  return std::optional(ContactMark{stored.boot(), stored.steady_ns()});
}

Status AgentStore::put_contact(const ContactMark& mark) {
  StoredContact stored;
  stored.set_boot(mark.boot);
  stored.set_steady_ns(mark.steady_ns);
  return write_one(rows_, std::string(kContact), stored.SerializeAsString());
}

Status AgentStore::erase_contact() { return write_one(rows_, std::string(kContact), std::nullopt); }

Status AgentStore::put_allocation(Uuid id, const StoredAllocation& allocation) {
  return write_one(rows_, allocation_key(id), allocation.SerializeAsString());
}

Status AgentStore::put_task(Uuid allocation, const std::string& task, const StoredTask& state) {
  return write_one(rows_, task_prefix(allocation) + task, state.SerializeAsString());
}

Status AgentStore::remove(Uuid id) {
  std::vector<LocalStore::Write> writes;
  DROVER_TRY(auto tasks, rows_.list(task_prefix(id)));
  for (auto& [key, value] : tasks) writes.push_back({key, std::nullopt});
  writes.push_back({allocation_key(id), std::nullopt});
  return rows_.write(writes);
}

Result<AgentStore::Rows<Uuid, StoredAllocation>> AgentStore::allocation_rows() {
  Rows<Uuid, StoredAllocation> out;
  DROVER_TRY(const auto rows, rows_.list(kAllocations));
  for (const auto& [key, value] : rows)
    out.emplace_back(Uuid::from_bytes(std::string_view(key).substr(kAllocations.size())),
                     parse_message<StoredAllocation>(value));
  return out;
}

Result<AgentStore::Rows<std::string, StoredTask>> AgentStore::task_rows(Uuid allocation) {
  Rows<std::string, StoredTask> out;
  const std::string prefix = task_prefix(allocation);
  DROVER_TRY(const auto rows, rows_.list(prefix));
  for (const auto& [key, value] : rows) out.emplace_back(key.substr(prefix.size()), parse_message<StoredTask>(value));
  return out;
}

Result<std::vector<std::pair<Uuid, StoredAllocation>>> AgentStore::allocations() {
  std::vector<std::pair<Uuid, StoredAllocation>> out;
  DROVER_TRY(auto rows, allocation_rows());
  for (auto& [id, row] : rows) {
    DROVER_TRY(auto stored, std::move(row).with_context("the row of allocation " + id.to_string()));
    out.emplace_back(id, std::move(stored));
  }
  return out;
}

Result<std::vector<std::pair<std::string, StoredTask>>> AgentStore::tasks(Uuid allocation) {
  std::vector<std::pair<std::string, StoredTask>> out;
  DROVER_TRY(auto rows, task_rows(allocation));
  for (auto& [name, row] : rows) {
    if (!row) {  // the others have nothing to do with it
      log::error("agent", "the state of a task cannot be read; the task is taken for a new one",
                 {{"allocation", allocation.to_string()}, {"task", name}});
      continue;
    }
    out.emplace_back(name, *std::move(row));
  }
  return out;
}

}  // namespace drover::agent
