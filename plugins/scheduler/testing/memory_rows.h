// Tables in memory and a context to apply commands in, for tests of apply functions. One thread.
//
//   MemoryRows rows;                       // a Declarations that keeps what is declared
//   declare_tables(rows, tables);
//   rows.apply(command, 7);                // as the entry with index 7
//   tables.allocs.get(rows, id);
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drover/config.h"
#include "drover/plugin.h"
#include "drover/v1/commands.pb.h"

namespace drover::scheduler::testing {

class MemoryRows final : public WriteTransaction, public Declarations, private ApplyContext {
 public:
  // A table of another plugin; declare it before whoever reads it.
  TableId add_table(TableSpec spec) {
    const size_t indexes = spec.indexes.size();
    tables_.push_back({std::move(spec), {}, {}, 0});
    tables_.back().indexes.resize(indexes);
    return TableId{static_cast<uint32_t>(tables_.size() - 1)};
  }

  template <typename Command>
  Result<std::string> apply(const Command& command, uint64_t index) {
    index_ = index;
    const auto before = tables_;
    auto answer = commands_.at(std::string(Command::descriptor()->full_name()))(serialize(command), *this);
    if (!answer) tables_ = before;
    return answer;
  }

  // What the owner of jobs was told, in order.
  std::vector<v1::JobStatusChanged> told;

  // ReadView, WriteTransaction
  uint64_t index() const override { return index_; }
  std::optional<std::string_view> get(TableId id, std::string_view key) const override {
    const auto& rows = tables_[id.value].rows;
    auto at = rows.find(std::string(key));
    if (at == rows.end()) return std::nullopt;
    return *at->second;
  }
  std::optional<std::string_view> get_by(TableId id, uint32_t index, std::string_view key) const override {
    auto cursor = scan(id, index, KeyRange::exactly(key));
    if (!cursor->valid()) return std::nullopt;
    return cursor->row();
  }
  std::unique_ptr<drover::Cursor> scan(TableId id, uint32_t index, const KeyRange& range,
                                       Order order = Order::forward) const override {
    const MemoryTable& table = tables_[id.value];
    auto cursor = std::make_unique<Cursor>();
    const auto& entries = index == kPrimary ? table.rows : table.indexes[index - 1];
    for (const auto& [key, row] : entries) {
      if (key >= range.first && (range.end.empty() || key < range.end)) cursor->entries.emplace_back(key, row);
    }
    if (order == Order::reverse) std::ranges::reverse(cursor->entries);
    return cursor;
  }
  uint64_t row_count(TableId id) const override { return tables_[id.value].rows.size(); }
  uint64_t table_index(TableId id) const override { return tables_[id.value].changed; }
  Status put(TableId id, std::string row) override {
    MemoryTable& table = tables_[id.value];
    erase(id, table.spec.key(row));
    auto shared = std::make_shared<const std::string>(std::move(row));
    table.rows[table.spec.key(*shared)] = shared;
    for (size_t i = 0; i < table.spec.indexes.size(); ++i) {
      std::vector<std::string> keys;
      table.spec.indexes[i].keys(*shared, keys);
      for (std::string& key : keys) table.indexes[i][std::move(key)] = shared;
    }
    table.changed = index_;
    return ok_status();
  }
  bool erase(TableId id, std::string_view key) override {
    MemoryTable& table = tables_[id.value];
    auto at = table.rows.find(std::string(key));
    if (at == table.rows.end()) return false;
    for (auto& index : table.indexes) {
      std::erase_if(index, [&](const auto& entry) { return entry.second == at->second; });
    }
    table.rows.erase(at);
    table.changed = index_;
    return true;
  }
  Status replace_all(ByteSource&) override { return unimplemented("rows in memory are not replaced"); }

  // Declarations
  Result<TableId> table(TableSpec spec) override { return add_table(std::move(spec)); }
  Result<TableId> other_table(std::string_view name) override {
    for (size_t i = 0; i < tables_.size(); ++i) {
      if (tables_[i].spec.name == name) return TableId{static_cast<uint32_t>(i)};
    }
    return not_found(std::string(name));
  }
  Status command(std::string name, ApplyFunction apply) override {
    commands_[std::move(name)] = std::move(apply);
    return ok_status();
  }
  using Declarations::command;
  Status service(std::string_view, std::vector<MethodBinding>) override { return ok_status(); }
  Status configuration(std::string, ConfigSchema) override { return ok_status(); }
  Status extension(std::string, std::string, void*) override { return ok_status(); }

 private:
  using Row = std::shared_ptr<const std::string>;
  struct MemoryTable {
    TableSpec spec;
    std::map<std::string, Row> rows;
    std::vector<std::map<std::string, Row>> indexes;
    uint64_t changed = 0;
  };
  struct Cursor final : drover::Cursor {
    std::vector<std::pair<std::string, Row>> entries;
    size_t at = 0;
    bool valid() const override { return at < entries.size(); }
    void next() override { ++at; }
    std::string_view key() const override { return entries[at].first; }
    std::string_view row() const override { return *entries[at].second; }
  };

  // ApplyContext
  WriteTransaction& rows() override { return *this; }
  Status also(std::string_view name, std::string_view payload) override {
    if (name != v1::JobStatusChanged::descriptor()->full_name()) return not_found(std::string(name));
    v1::JobStatusChanged message;
    message.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
    told.push_back(std::move(message));
    return ok_status();
  }

  std::vector<MemoryTable> tables_;
  std::map<std::string, ApplyFunction> commands_;
  uint64_t index_ = 0;
};

}  // namespace drover::scheduler::testing
