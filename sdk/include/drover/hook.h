// Shared by the hooks of allocations (drover/alloc_hook.h) and those of tasks (drover/task_hook.h).
//
// A node runs an allocation by its hooks: each carries out one concern (folders, network, devices, logs, …), declares
// which blocks of a job it supports and what must run before it, and keeps a small state that outlives the agent.
// Plugins of the exact tier bring further hooks; the agent calls them without knowing what they do.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::v1 {
class AllocatedTaskResources;
class Allocation;
class Job;
class Task;
class TaskGroup;
}  // namespace drover::v1

namespace drover {

struct HookInfo {
  std::string name;                     // [a-z_]+; in events, errors and the agent's state. The same for ever.
  std::vector<std::string> after{};     // hooks that run before this one; those that are not there do not matter
  std::vector<std::string> before{};    // hooks that run after this one
  std::vector<std::string> supports{};  // blocks that it carries out, by Block::name
};

// The order in which hooks run, as positions in `hooks`: each after those that it names, else as they are given.
// Errors: invalid_argument for two of one name, and for a circle, naming its members. Pure.
Result<std::vector<size_t>> order_hooks(std::span<const HookInfo> hooks);

// A part of a job that somebody on the node must carry out.
struct Block {
  std::string name;  // "artifact", "network.bridge", "volume.host"
  std::string text;  // in a sentence: the block artifact
};
// Those that a task of this group uses, with those of the group. Pure.
std::vector<Block> used_blocks(const v1::TaskGroup& group, const v1::Task& task);
// Errors: invalid_argument naming the first that nobody supports. Pure.
Status check_supported(std::span<const Block> used, std::span<const HookInfo> hooks);

// The small state that one hook keeps of one allocation, or of one task. It is there again after a restart of the
// agent. [any]
class HookState {
 public:
  virtual ~HookState() = default;
  virtual std::optional<std::string> get(std::string_view key) const = 0;
  // Durable when it returns. An empty value removes the key.
  virtual Status put(std::string_view key, std::string value) = 0;
};

// An allocation with its job, as the servers described them last. Constant.
struct AllocSpec {
  AllocSpec(v1::Allocation allocation, std::shared_ptr<const v1::Job> job);

  const std::shared_ptr<const v1::Allocation> allocation;
  const std::shared_ptr<const v1::Job> job;
  const v1::TaskGroup* const group;  // of the job; null: the job has none of that name

  // Null: the group has none of that name.
  const v1::Task* task(std::string_view name) const;
  // The servers' gifts to one task: processor, memory, devices. Empty when it got nothing.
  const v1::AllocatedTaskResources& given(const std::string& task) const;
};
using AllocSpecPtr = std::shared_ptr<const AllocSpec>;

// Where an allocation's files lie on this machine, as absolute paths.
struct AllocFolders {
  std::string root;    // of the allocation
  std::string shared;  // root/alloc: what its tasks share
  std::string logs;    // shared/logs
};
struct TaskFolders {
  std::string root;     // of the task
  std::string local;    // root/local
  std::string secrets;  // root/secrets: nobody else's
};

}  // namespace drover
