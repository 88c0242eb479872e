#include "kernel/host/command_table.h"

#include "drover/log.h"

namespace drover::host {
namespace {

constexpr int kMaxNesting = 8;

// Lets a plugin write the tables it declared and read all others.
class OwnedTransaction final : public WriteTransaction {
 public:
  OwnedTransaction(WriteTransaction& inner, const std::set<uint32_t>& owned) : inner_(inner), owned_(owned) {}
  uint64_t index() const override { return inner_.index(); }
  std::optional<std::string_view> get(TableId table, std::string_view key) const override {
    return inner_.get(table, key);
  }
  std::optional<std::string_view> get_by(TableId table, uint32_t index, std::string_view key) const override {
    return inner_.get_by(table, index, key);
  }
  std::unique_ptr<Cursor> scan(TableId table, uint32_t index, const KeyRange& range, Order order) const override {
    return inner_.scan(table, index, range, order);
  }
  uint64_t row_count(TableId table) const override { return inner_.row_count(table); }
  uint64_t table_index(TableId table) const override { return inner_.table_index(table); }
  Status put(TableId table, std::string row, const KnownKeys& known) override {
    if (!owned_.contains(table.value)) return permission_denied("an apply function wrote a table of another plugin");
    return inner_.put(table, std::move(row), known);
  }
  bool erase(TableId table, std::string_view key) override {
    DROVER_CHECK(owned_.contains(table.value));
    return inner_.erase(table, key);
  }
  Status replace_all(ByteSource& snapshot) override { return inner_.replace_all(snapshot); }

 private:
  WriteTransaction& inner_;
  const std::set<uint32_t>& owned_;
};

}  // namespace

class CommandTable::Context final : public ApplyContext {
 public:
  Context(const CommandTable& table, uint64_t index, WriteTransaction& transaction, const std::set<uint32_t>& owned,
          int depth)
      : table_(table), index_(index), transaction_(transaction), owned_(transaction, owned), depth_(depth) {}

  uint64_t index() const override { return index_; }
  WriteTransaction& rows() override { return owned_; }
  Status also(std::string_view command, std::string_view payload) override {
    if (depth_ >= kMaxNesting) return internal_error("commands are nested deeper than " + std::to_string(kMaxNesting));
    Status status = table_.run(command, payload, index_, transaction_, depth_ + 1).status();
    if (!status.ok() && failure_.ok()) failure_ = status;
    return status;
  }
  // The first error of also(): its half-done writes may not stay, even if the apply function ignores it.
  const Status& failure() const { return failure_; }

 private:
  const CommandTable& table_;
  const uint64_t index_;
  WriteTransaction& transaction_;
  OwnedTransaction owned_;
  const int depth_;
  Status failure_;
};

Status CommandTable::add_command(std::string_view plugin, std::string name, ApplyFunction apply) {
  auto [at, is_new] = commands_.try_emplace(name, Command{std::string(plugin), std::move(apply)});
  if (!is_new) return already_exists("command " + name + " is already declared by plugin " + at->second.plugin);
  return ok_status();
}

std::vector<std::string> CommandTable::names() const {
  std::vector<std::string> names;
  for (const auto& [name, command] : commands_) names.push_back(name);
  return names;
}

Result<std::string> CommandTable::apply(std::string_view name, std::string_view payload, uint64_t index,
                                        WriteTransaction& transaction) const {
  return run(name, payload, index, transaction, 0);
}

Result<std::string> CommandTable::run(std::string_view name, std::string_view payload, uint64_t index,
                                      WriteTransaction& transaction, int depth) const {
  static const std::set<uint32_t> kNone;
  auto at = commands_.find(name);
  if (at == commands_.end()) return unimplemented("no loaded plugin declares the command " + std::string(name));
  auto owned = tables_.find(at->second.plugin);
  Context context(*this, index, transaction, owned == tables_.end() ? kNone : owned->second, depth);
  Result<std::string> answer = at->second.apply(payload, context);
  if (!context.failure().ok()) return context.failure();
  return answer;
}

std::string encode_command(std::string_view name, std::string_view payload) {
  std::string entry;
  entry.reserve(1 + name.size() + payload.size());
  DROVER_CHECK(name.size() < 256);
  entry += static_cast<char>(name.size());
  entry += name;
  entry += payload;
  return entry;
}

Result<CommandView> decode_command(std::string_view entry) {
  if (entry.empty() || entry.size() < 1 + static_cast<size_t>(static_cast<uint8_t>(entry[0]))) {
    return data_loss("a log entry does not hold a command");
  }
  const size_t length = static_cast<uint8_t>(entry[0]);
  return CommandView{entry.substr(1, length), entry.substr(1 + length)};
}

}  // namespace drover::host
