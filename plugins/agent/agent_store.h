// The agent's rows on this machine's disk (agent_state.proto). Every write is durable when it returns. [any]
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contact/overdue.h"
#include "drover/plugin.h"
#include "drover/result.h"
#include "drover/uuid.h"
#include "node_meta/meta_change.h"

namespace drover::agent {

class StoredAllocation;
class StoredTask;

struct NodeIdentity {
  Uuid id;
  std::string secret;  // text form of an identifier
};

class AgentStore {
 public:
  explicit AgentStore(LocalStore& rows) : rows_(rows) {}

  // The identity of the first start, or a new one.
  Result<NodeIdentity> identity();
  // The identifier of the first start; nothing where no node has started yet.
  Result<std::optional<Uuid>> known_id();

  // The identity that the servers gave the node, a signed token; empty: none.
  Result<std::string> node_token();
  Status put_node_token(const std::string& token);

  // The changes made to the node's metadata.
  Result<MetaChanges> meta();
  Status put_meta(const MetaChanges& changes);

  // When a server was last reached.
  Result<std::optional<ContactMark>> contact();
  Status put_contact(const ContactMark& mark);
  Status erase_contact();

  Status put_allocation(Uuid id, const StoredAllocation& allocation);
  Status put_task(Uuid allocation, const std::string& task, const StoredTask& state);
  // The allocation and its tasks.
  Status remove(Uuid id);

  // Errors: invalid_argument naming the first one that cannot be read.
  Result<std::vector<std::pair<Uuid, StoredAllocation>>> allocations();
  // Without those that cannot be read: the log names them.
  Result<std::vector<std::pair<std::string, StoredTask>>> tasks(Uuid allocation);

  // Each row by itself, as it is or why it cannot be read.
  template <typename Key, typename Row>
  using Rows = std::vector<std::pair<Key, Result<Row>>>;
  Result<Rows<Uuid, StoredAllocation>> allocation_rows();
  Result<Rows<std::string, StoredTask>> task_rows(Uuid allocation);

 private:
  LocalStore& rows_;
};

}  // namespace drover::agent
