// A commit of the test's own making.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "drover/messages.h"
#include "drover/tables.h"

namespace drover::events {

class TestBatch final : public ChangeBatch {
 public:
  TestBatch(uint64_t index, std::string command) : index_(index), command_(std::move(command)) {}

  template <typename Message>
  TestBatch&& wrote(TableId table, const Message& row) && {
    Change& change = add(table);
    change.after.emplace(kept_.emplace_back(serialize(row)));
    return std::move(*this);
  }
  template <typename Message>
  TestBatch&& erased(TableId table, const Message& row) && {
    Change& change = add(table);
    change.before.emplace(kept_.emplace_back(serialize(row)));
    return std::move(*this);
  }

  uint64_t index() const override { return index_; }
  std::string_view command() const override { return command_; }
  const std::vector<Change>& changes() const override { return changes_; }

 private:
  Change& add(TableId table) {
    return changes_.emplace_back(Change{.table = table, .key = {}, .before = {}, .after = {}});
  }

  const uint64_t index_;
  const std::string command_;
  std::deque<std::string> kept_;
  std::vector<Change> changes_;
};

}  // namespace drover::events
