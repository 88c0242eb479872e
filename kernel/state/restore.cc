// Builds a whole new set of trees beside the old one and swaps it in as one version: from a snapshot outside the log
// (Store::restore), or as the effect of one log entry (Transaction::replace_all).

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "kernel/state/transaction.h"
#include "storage/state_snapshot.h"

namespace drover::state {
namespace {

// The rows and index records of a snapshot before they are trees. Frees what was not built.
class Staging final : public SnapshotVisitor {
 public:
  Staging(const Schema& schema, Memory& memory, uint64_t version)
      : schema_(schema),
        memory_(memory),
        version_(version),
        entries_(schema.roots.size()),
        table_indexes_(schema.tables.size()) {}
  ~Staging() override {
    for (const auto& entries : entries_) {
      for (const Item* item : entries) memory_.release(item);
    }
  }

  Status table(const SnapshotTable& table) override {
    const auto id = schema_.find(table.name);
    if (!id) {
      return failed_precondition("state snapshot: it has a table " + table.name + " of " + table.message +
                                 ", which no loaded plugin declares");
    }
    if (std::ranges::find(seen_, id->value) != seen_.end()) {
      return data_loss("state snapshot: it has the table " + table.name + " twice");
    }
    seen_.push_back(id->value);
    current_ = id->value;
    table_indexes_[current_] = table.last_index;
    return ok_status();
  }

  Status row(std::string_view bytes) override {
    const Schema::Entry& entry = schema_.tables[current_];
    const auto table = static_cast<uint16_t>(current_);
    keys_of(entry.spec, bytes, keys_);
    const std::string& primary = keys_.primary();
    const auto too_long = [&](const std::string& where) {
      return invalid_argument("state snapshot: table " + entry.spec.name + where + ": a key is too long");
    };
    if (primary.size() > kMaxKeyBytes) return too_long("");
    entries_[entry.first_root].push_back(memory_.make_item(version_, table, primary, {}, bytes));
    for (uint32_t i = 1; i <= entry.spec.indexes.size(); ++i) {
      const IndexSpec& spec = entry.spec.indexes[i - 1];
      for (const std::string& key : keys_.of(i)) {
        if (key.size() + primary.size() > kMaxKeyBytes) return too_long(", index " + spec.name);
        entries_[entry.first_root + i].push_back(spec.unique ? memory_.make_item(version_, table, key, {}, primary)
                                                             : memory_.make_item(version_, table, key, primary, {}));
      }
    }
    return ok_status();
  }

  // Brings everything into key order, one index per thread.
  Status arrange() {
    struct Work {
      uint32_t root;
      std::string place;
      Status status;
    };
    std::vector<Work> pieces;
    for (uint32_t t : seen_) {
      const Schema::Entry& entry = schema_.tables[t];
      const std::string place = "state snapshot: table " + entry.spec.name;
      pieces.push_back({entry.first_root, place, {}});
      for (uint32_t i = 0; i < entry.spec.indexes.size(); ++i)
        pieces.push_back({entry.first_root + 1 + i, place + ", index " + entry.spec.indexes[i].name, {}});
    }
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t at = next++; at < pieces.size(); at = next++)
        pieces[at].status = order(entries_[pieces[at].root], pieces[at].place);
    };
    {
      std::vector<std::jthread> helpers;
      for (size_t n = std::min<size_t>(std::thread::hardware_concurrency(), pieces.size()); n > 1; --n) {
        helpers.emplace_back(work);
      }
      work();
    }
    for (const Work& piece : pieces) DROVER_RETURN_IF_ERROR(piece.status);
    return ok_status();
  }

  void build(Version& version) {
    std::vector<Dead> none;
    for (uint32_t root = 0; root < entries_.size(); ++root) {
      tree::Edit edit{memory_, version_, static_cast<uint16_t>(schema_.roots[root].table), none};
      version.roots[root] = tree::build(edit, entries_[root]);
      entries_[root].clear();
    }
    version.table_indexes = table_indexes_;
  }

 private:
  // Sorts by the sixteen bytes that follow what all keys share; only ties look at the items.
  static Status order(std::vector<Item*>& items, const std::string& place) {
    struct Slot {
      std::array<uint64_t, 2> head;
      Item* item;
    };
    if (items.empty()) return ok_status();
    size_t common = items[0]->key_length;
    for (const Item* item : items) {
      common = tree::common_prefix(items[0]->key().substr(0, common), item->key());
    }
    std::vector<Slot> slots;
    slots.reserve(items.size());
    for (Item* item : items) {
      slots.push_back({{tree::head_of(item->key(), common), tree::head_of(item->key(), common + 8)}, item});
    }
    const auto less = [](const Slot& a, const Slot& b) {
      return a.head != b.head ? a.head < b.head : a.item->key() < b.item->key();
    };
    if (!std::ranges::is_sorted(slots, less)) std::ranges::sort(slots, less);
    for (size_t i = 0; i < slots.size(); ++i) {
      items[i] = slots[i].item;
      if (i > 0 && !less(slots[i - 1], slots[i])) return data_loss(place + ": two rows have the same key");
    }
    return ok_status();
  }

  const Schema& schema_;
  Memory& memory_;
  const uint64_t version_;
  std::vector<std::vector<Item*>> entries_;  // by root
  std::vector<uint64_t> table_indexes_;
  std::vector<uint32_t> seen_;
  uint32_t current_ = 0;
  RowKeys keys_;  // of the row in hand
};

}  // namespace

Status Store::restore(ByteSource& source) {
  DROVER_CHECK(!in_transaction_);
  std::unique_ptr<Version> version = versions_.next();
  std::vector<Dead> dead;
  Result<uint64_t> index = replace_all(source, *version, dead);
  if (!index) {
    versions_.discard(std::move(version));
    return index.status();
  }
  version->index = *index;
  has_data_ = true;
  publish_replaced(std::move(version), dead, WakeReason::abandoned);
  return ok_status();
}

// Returns the log index of the snapshot. On an error the version is as it was.
Result<uint64_t> Store::replace_all(ByteSource& source, Version& version, std::vector<Dead>& dead) {
  Staging staging(schema_, *memory_, version.number);
  DROVER_TRY(const SnapshotContent content, read_state_snapshot(source, staging));
  DROVER_RETURN_IF_ERROR(staging.arrange());
  for (Node* root : version.roots) {
    if (root != nullptr) dead.emplace_back(root, Dead::subtree);
  }
  staging.build(version);
  return content.index;
}

void Store::publish_replaced(std::unique_ptr<Version> version, std::vector<Dead>& dead, WakeReason reason) {
  const uint64_t number = version->number;
  const uint64_t index = version->index;
  versions_.publish(std::move(version), dead);
  index_.store(index, std::memory_order_release);
  feed_->reset(index);
  watches_->abandon_all(number, reason);
}

Status Transaction::replace_all(ByteSource& source) {
  if (!log_.empty()) return internal_error("an entry that has written rows cannot replace the state");
  DROVER_RETURN_IF_ERROR(store_.replace_all(source, *version_, dead_).status());
  std::ranges::fill(version_->table_indexes, version_->index);
  replaced_ = true;
  return ok_status();
}

}  // namespace drover::state
