// The parts that all hooks have in one allocation, called one after the other. Every call may wait.
#pragma once

#include <memory>
#include <vector>

#include "hook_table.h"

namespace drover::agent {

class AllocHooks {
 public:
  // Requires: all outlive it.
  AllocHooks(const HookTable& table, HookedAlloc& alloc, HookRows& rows);

  // Until one fails. Errors: pre-run hook "NAME" failed: CAUSE.
  Status prerun(std::stop_token stop);
  void update();
  void prerestart(const std::stop_token& stop);
  void prekill();
  void postrun();
  // Asks all of them. Errors: of the first that failed.
  Status destroy();
  void shutdown();
  // The hooks' word on the allocation's health. Does not wait.
  std::vector<PartHealth> health() const;

 private:
  struct Entry {
    std::string name;
    std::unique_ptr<RowState> state;
    std::unique_ptr<AllocHook::Part> part;
  };
  std::vector<Entry> entries_;
  const HookedAlloc& alloc_;
};

}  // namespace drover::agent
