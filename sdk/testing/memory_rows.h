// Tables in memory and a context to apply commands in, for tests of apply functions and of handlers.
//
//   MemoryRows rows;                       // a Declarations that keeps what is declared
//   declare_tables(rows, tables);
//   rows.apply(command, 7);                // as the entry with index 7
//   tables.allocs.get(rows, id);
//
// A copy is a snapshot; it shares the tables until they change. One thread; FakeHost guards one for several.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drover/config.h"
#include "drover/plugin.h"

namespace drover::testing {

class MemoryRows final : public WriteTransaction, public Declarations, private ApplyContext {
 public:
  // The effect of one commit on one row; the row's bytes are shared with the tables.
  using Row = std::shared_ptr<const std::string>;
  struct RowChange {
    TableId table;
    std::string key;
    Row before, after;
  };

  // A table of another plugin; declare it before whoever reads it.
  TableId add_table(TableSpec spec) {
    auto table = std::make_shared<MemoryTable>();
    table->indexes.resize(spec.indexes.size());
    table->spec = std::move(spec);
    tables_.emplace_back(std::move(table));
    fill_in_later();
    return TableId{static_cast<uint32_t>(tables_.size() - 1)};
  }

  template <typename Command>
  Result<std::string> apply(const Command& command, uint64_t index) {
    return apply(Command::descriptor()->full_name(), serialize(command), index);
  }
  // Errors: not_found for a command that nobody declared; else what its apply function says, and nothing has changed.
  Result<std::string> apply(const std::string& name, std::string_view payload, uint64_t index) {
    auto at = declared_->commands.find(name);
    if (at == declared_->commands.end()) return not_found("no command " + name);
    index_ = index;
    changes_.clear();
    std::vector<uint64_t> changed_before;
    for (const Slot& table : tables_) changed_before.push_back(table->changed);
    auto answer = at->second(payload, *this);
    if (!answer) undo(changed_before);
    return answer;
  }
  // Begins a commit that the test writes itself.
  void begin(uint64_t index) {
    index_ = index;
    changes_.clear();
  }
  // Those of the last commit.
  const std::vector<RowChange>& changes() const { return changes_; }

  // The commands of one kind that other plugins were told with `also`, in order.
  template <typename Command>
  std::vector<Command> told() const {
    std::vector<Command> commands;
    for (const auto& [name, payload] : declared_->told) {
      if (name == Command::descriptor()->full_name()) {
        commands.emplace_back().ParseFromArray(payload.data(), static_cast<int>(payload.size()));
      }
    }
    return commands;
  }
  // The handlers that were declared, by "/drover.v1.Jobs/List".
  const std::map<std::string, MethodBinding>& methods() const { return declared_->methods; }

  // ReadView, WriteTransaction
  uint64_t index() const override { return index_; }
  std::optional<std::string_view> get(TableId id, std::string_view key) const override {
    const auto& rows = tables_[id.value]->rows;
    auto at = rows.find(key);
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
    const MemoryTable& table = *tables_[id.value];
    auto cursor = std::make_unique<Cursor>();
    const auto& entries = index == kPrimary ? table.rows : table.indexes[index - 1];
    const bool ends_with_primary = index != kPrimary && !table.spec.indexes[index - 1].unique;
    const bool is_exact = ends_with_primary && range.end == range.first + '\0';
    for (auto at = entries.lower_bound(range.first); at != entries.end(); ++at) {
      const auto& [key, row] = *at;
      if (is_exact ? !key.starts_with(range.first) : !range.end.empty() && key >= range.end) break;
      if (is_exact && key != range.first && key != range.first + keys_of(table.spec, *row).primary()) continue;
      cursor->entries.push_back(*at);
    }
    if (order == Order::reverse) std::ranges::reverse(cursor->entries);
    return cursor;
  }
  uint64_t row_count(TableId id) const override { return tables_[id.value]->rows.size(); }
  uint64_t table_index(TableId id) const override { return tables_[id.value]->changed; }
  // Always by the table's own function: keys that are said to be known must be the same.
  Status put(TableId id, std::string row, const KnownKeys& known = {}) override {
    MemoryTable& table = own(id);
    RowKeys keys = keys_of(table.spec, row);
    const std::string key = keys.primary();
    check_known(known.after, keys);
    if (auto at = table.rows.find(key); at != table.rows.end())
      check_known(known.before, keys_of(table.spec, *at->second));
    Row before = take(table, key);
    auto shared = std::make_shared<const std::string>(std::move(row));
    insert(table, key, keys, shared);
    table.changed = index_;
    changes_.push_back({id, key, std::move(before), std::move(shared)});
    return ok_status();
  }
  bool erase(TableId id, std::string_view key) override {
    if (!tables_[id.value]->rows.contains(key)) return false;
    MemoryTable& table = own(id);
    Row before = take(table, std::string(key));
    table.changed = index_;
    changes_.push_back({id, std::string(key), std::move(before), nullptr});
    return true;
  }
  Status replace_all(ByteSource&) override { return unimplemented("rows in memory are not replaced"); }

  // Declarations
  Result<TableId> table(TableSpec spec) override { return add_table(std::move(spec)); }
  Result<TableId> other_table(std::string_view name) override { return find_table(name); }
  Status later_table(std::string_view name, std::optional<TableId>& id) override {
    later_.emplace_back(std::string(name), &id);
    fill_in_later();
    return ok_status();
  }
  Result<TableId> find_table(std::string_view name) const {
    for (size_t i = 0; i < tables_.size(); ++i) {
      if (tables_[i]->spec.name == name) return TableId{static_cast<uint32_t>(i)};
    }
    return not_found(std::string(name));
  }
  Status command(std::string name, ApplyFunction apply) override {
    declared_->commands[std::move(name)] = std::move(apply);
    return ok_status();
  }
  using Declarations::command;
  Status service(std::string_view full_name, std::vector<MethodBinding> methods) override {
    for (MethodBinding& method : methods) {
      std::string name = "/" + std::string(full_name) + "/" + method.name;
      declared_->methods[std::move(name)] = std::move(method);
    }
    return ok_status();
  }
  Status configuration(std::string block, ConfigSchema schema) override {
    declared_->schemas[std::move(block)] = std::move(schema);
    return ok_status();
  }
  Status extension(std::string point, std::string name, void* implementation) override {
    declared_->extensions[{std::move(point), std::move(name)}] = implementation;
    return ok_status();
  }
  // The declarations: schemas by block, implementations by extension point and name.
  const std::map<std::string, ConfigSchema>& schemas() const { return declared_->schemas; }
  const std::map<std::pair<std::string, std::string>, void*>& extensions() const { return declared_->extensions; }

 private:
  struct MemoryTable {
    TableSpec spec;
    std::map<std::string, Row, std::less<>> rows;
    std::vector<std::map<std::string, Row, std::less<>>> indexes;
    uint64_t changed = 0;
  };
  // A table that copies share until one of them writes.
  class Slot {
   public:
    explicit Slot(std::shared_ptr<MemoryTable> table) : table_(std::move(table)) {}
    Slot(const Slot& other) : table_(other.table_), is_shared_(true) { other.is_shared_ = true; }
    Slot& operator=(const Slot& other) {
      table_ = other.table_;
      is_shared_ = other.is_shared_ = true;
      return *this;
    }
    Slot(Slot&&) noexcept = default;
    Slot& operator=(Slot&&) noexcept = default;
    ~Slot() = default;

    const MemoryTable* operator->() const { return table_.get(); }
    const MemoryTable& operator*() const { return *table_; }
    MemoryTable& own() {
      if (std::exchange(is_shared_, false)) table_ = std::make_shared<MemoryTable>(*table_);
      return *table_;
    }

   private:
    std::shared_ptr<MemoryTable> table_;
    mutable bool is_shared_ = false;
  };
  struct Cursor final : drover::Cursor {
    std::vector<std::pair<std::string, Row>> entries;
    size_t at = 0;
    bool valid() const override { return at < entries.size(); }
    void next() override { ++at; }
    std::string_view key() const override { return entries[at].first; }
    std::string_view row() const override { return *entries[at].second; }
  };

  static RowKeys keys_of(const TableSpec& spec, std::string_view row) {
    RowKeys keys;
    keys.reset(spec.indexes.size());
    spec.keys(row, keys);
    keys.arrange();
    return keys;
  }
  static void check_known(const RowKeys* known, const RowKeys& keys) { DROVER_CHECK(!known || *known == keys); }
  // The row, which the table and its indexes no longer have.
  static Row take(MemoryTable& table, const std::string& key) {
    auto at = table.rows.find(key);
    if (at == table.rows.end()) return nullptr;
    Row row = std::move(at->second);
    table.rows.erase(at);
    const RowKeys keys = keys_of(table.spec, *row);
    for (uint32_t i = 1; i <= table.spec.indexes.size(); ++i) {
      for (const std::string& each : keys.of(i)) table.indexes[i - 1].erase(entry_of(table, i, each, key));
    }
    return row;
  }
  // Keys of an index that is not unique end with the primary key, as in the store.
  static std::string entry_of(const MemoryTable& table, uint32_t index, std::string key, const std::string& primary) {
    return table.spec.indexes[index - 1].unique ? std::move(key) : std::move(key) + primary;
  }

  static void insert(MemoryTable& table, const std::string& key, RowKeys& keys, const Row& row) {
    table.rows[key] = row;
    for (uint32_t i = 1; i <= table.spec.indexes.size(); ++i) {
      for (std::string& each : keys.of(i)) table.indexes[i - 1][entry_of(table, i, std::move(each), key)] = row;
    }
  }
  // Takes back what the commit has changed, the newest first.
  void undo(const std::vector<uint64_t>& changed_before) {
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
      MemoryTable& table = own(change->table);
      (void)take(table, change->key);
      table.changed = changed_before[change->table.value];
      if (!change->before) continue;
      RowKeys keys = keys_of(table.spec, *change->before);
      insert(table, change->key, keys, change->before);
    }
    changes_.clear();
  }

  // ApplyContext
  WriteTransaction& rows() override { return *this; }
  Status also(std::string_view name, std::string_view payload) override {
    declared_->told.emplace_back(name, payload);
    auto at = declared_->commands.find(std::string(name));
    return at == declared_->commands.end() ? ok_status() : at->second(payload, *this).status();
  }

  // The table, for writing: whoever looks at a copy goes on seeing what was there.
  MemoryTable& own(TableId id) { return tables_[id.value].own(); }

  struct Declared {
    std::map<std::string, ApplyFunction> commands;
    std::map<std::string, MethodBinding> methods;
    std::map<std::string, ConfigSchema> schemas;
    std::map<std::pair<std::string, std::string>, void*> extensions;
    std::vector<std::pair<std::string, std::string>> told;
  };
  void fill_in_later() {
    for (const auto& [name, id] : later_) {
      if (const auto found = find_table(name)) *id = *found;
    }
  }

  std::vector<Slot> tables_;
  std::vector<std::pair<std::string, std::optional<TableId>*>> later_;
  std::shared_ptr<Declared> declared_ = std::make_shared<Declared>();  // of all copies
  std::vector<RowChange> changes_;
  uint64_t index_ = 0;
};

}  // namespace drover::testing
