// The plans that were accepted and are not in the state yet: what the log entry of each does to allocations. Pure;
// owned by Columns.
//
//   open ──▶ place, end, resize, exchange ──▶ settle(index) ──the state shows that index──▶ gone
//
// An entry in flight is committed or it is not, and none waits for the answer of those before it. So nothing here may
// make a later plan right that would be wrong without it: what an entry takes is taken at once, and what it frees
// stays taken for others until the entry is in the state. A plan that was accepted then fits beside any choice of the
// entries before it: one that fails harms none behind it, and a leader that falls leaves nothing too much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "placing/cluster.h"

namespace drover::scheduler {

// The part of `wanted` that exceeds `there`, in each dimension.
Usage beyond(const Usage& wanted, const Usage& there);
// Adds one share to another.
void add(Usage& sum, const Usage& more);

class InFlight {
 public:
  using Entry = uint64_t;

  // A new entry, without changes.
  Entry open();
  // The entry brings an allocation that is new.
  void place(Entry entry, std::string node_id, std::shared_ptr<const Holding> holding);
  // It stops one, which keeps its room until its node says that it ended.
  void end(Entry entry, const std::string& alloc_id);
  // It gives one another share.
  void resize(Entry entry, const std::string& alloc_id, Usage usage);
  // On one node it stops these, and takes so much in their place. Until the state shows that they are stopped, the rest
  // of what they have is nobody's.
  struct Exchange {
    Entry entry;
    std::vector<std::string> ended;
    Usage taken;
  };
  void exchange(const std::string& node_id, Exchange exchange);

  // The entry's answer is known: once the state shows `index`, it is there or, `failed`, never will be.
  void settle(Entry entry, uint64_t index, bool failed);
  // The state shows the allocation: what was placed is the state's matter from now on.
  void arrived(const std::string& alloc_id);

  struct Gone {
    Entry entry;
    bool failed;
    std::vector<std::string> allocs;  // that the entry changed
  };
  // The settled entries that a state of this index shows; they are forgotten here.
  std::vector<Gone> take_shown(uint64_t index);

  struct Placed {
    std::string node_id;
    std::shared_ptr<const Holding> holding;
  };
  // All entries together do this to one allocation.
  struct Change {
    std::optional<Placed> placed;
    bool ends = false;
    std::vector<const Usage*> sizes;
  };
  Change change_of(const std::string& alloc_id) const;
  // The allocations that some entry changes.
  std::vector<std::string> allocs() const;
  const std::vector<Exchange>& exchanges(const std::string& node_id) const;

  // Entries, settled ones among them.
  size_t size() const { return entries_.size(); }

 private:
  struct Part {
    Entry entry;
    std::optional<Placed> placed = {};
    bool ends = false;
    std::optional<Usage> size = {};
  };
  struct Known {
    std::vector<std::string> allocs, nodes;
    std::optional<uint64_t> shown_at;  // once it is settled
    bool failed = false;
  };
  void add_part(const std::string& alloc_id, Part part);

  Entry next_ = 1;
  std::map<Entry, Known> entries_;
  std::unordered_map<std::string, std::vector<Part>> parts_;          // by allocation
  std::unordered_map<std::string, std::vector<Exchange>> exchanges_;  // by node
};

}  // namespace drover::scheduler
