// Tables of the replicated state, as a plugin sees them.
//
// A table is declared once, with its indexes and one pure function that gives all keys of a row (TableSpec). A row is
// the serialized protobuf message; keys are order-preserving byte strings (keys.h has the encoder). Rows are read
// through a ReadView: a snapshot that never changes, or the transaction of the entry being applied. Rows are written
// only by apply functions, through WriteTransaction.
//
// Threads: a ReadView belongs to one thread at a time; different views are independent. Bytes returned by a view or a
// cursor stay valid as long as that view lives.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/messages.h"
#include "drover/result.h"

namespace drover {

class ByteSource;  // drover/byte_stream.h

struct IndexSpec {
  std::string name;
  bool unique = false;
};

// The keys of one row: the primary one, and for each index none (the row is not in it), one or several.
class RowKeys {
 public:
  // Once for each row.
  void primary(std::string key) { primary_ = std::move(key); }
  // `index` is its number: index i of the spec has number i + 1. Requires: the table has it.
  void add(uint32_t index, std::string key) {
    DROVER_CHECK(index > 0 && index <= used_);
    indexes_[index - 1].push_back(std::move(key));
  }

  // --- for whoever makes and stores rows
  // Forgets all keys, for a row of a table with so many indexes; memory is kept.
  void reset(size_t indexes) {
    primary_.clear();
    if (indexes_.size() < indexes) indexes_.resize(indexes);
    for (size_t i = 0; i < indexes; ++i) indexes_[i].clear();
    used_ = indexes;
  }
  // Brings the keys of each index into order, each once. Stored keys are so.
  void arrange() {
    for (size_t i = 0; i < used_; ++i) {
      std::vector<std::string>& own = indexes_[i];
      if (own.size() < 2) continue;
      std::ranges::sort(own);
      own.erase(std::unique(own.begin(), own.end()), own.end());
    }
  }
  std::string& primary() { return primary_; }
  const std::string& primary() const { return primary_; }
  std::vector<std::string>& of(uint32_t index) { return indexes_[index - 1]; }
  const std::vector<std::string>& of(uint32_t index) const { return indexes_[index - 1]; }
  friend bool operator==(const RowKeys&, const RowKeys&) = default;

 private:
  std::string primary_;
  std::vector<std::vector<std::string>> indexes_;
  size_t used_ = 0;
};

struct TableSpec {
  std::string name;     // "jobs"; unique in a cluster, never renamed once released
  std::string message;  // full protobuf name of the row, for inspection: "drover.v1.Job"
  std::vector<IndexSpec> indexes;
  // All keys of a row, so that it is decoded once for all of them. Pure.
  std::function<void(std::string_view row, RowKeys& keys)> keys;
};

// Names a declared table, or one of its indexes. Cheap to copy; valid for the life of the process.
struct TableId {
  uint32_t value = UINT32_MAX;
  bool valid() const { return value != UINT32_MAX; }
  friend bool operator==(TableId, TableId) = default;
};
inline constexpr uint32_t kPrimary = 0;  // number of the primary index; index i of the spec has number i + 1

// Keys from `first` (included) to `end` (excluded; empty means no upper bound).
struct KeyRange {
  std::string first;
  std::string end;

  static KeyRange all() { return {}; }
  static KeyRange prefix(std::string_view prefix);
  static KeyRange exactly(std::string_view key);
};

enum class Order : uint8_t { forward, reverse };

// Walks one range in one direction. [owner of the view]
class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual bool valid() const = 0;
  virtual void next() = 0;                   // Requires: valid().
  virtual std::string_view key() const = 0;  // the key in the scanned index
  virtual std::string_view row() const = 0;
};

class ReadView {
 public:
  virtual ~ReadView() = default;
  // The log index that this view reflects.
  virtual uint64_t index() const = 0;
  virtual std::optional<std::string_view> get(TableId table, std::string_view key) const = 0;
  // The row with this key in a unique index.
  virtual std::optional<std::string_view> get_by(TableId table, uint32_t index, std::string_view key) const = 0;
  virtual std::unique_ptr<Cursor> scan(TableId table, uint32_t index, const KeyRange& range,
                                       Order order = Order::forward) const = 0;
  virtual uint64_t row_count(TableId table) const = 0;
  // The last log index that changed the table; 0 when nothing ever did.
  virtual uint64_t table_index(TableId table) const = 0;
};

// Keys of a write that are known already, arranged, so that no row is decoded for them. Those that are null are made
// from the row's bytes.
struct KnownKeys {
  const RowKeys* before = nullptr;  // of the row that stands there now
  const RowKeys* after = nullptr;   // of the row that is written
};

class WriteTransaction : public ReadView {
 public:
  // Inserts or replaces the row under its primary key. Errors: already_exists when another row holds a unique index
  // key. Requires: known keys are what the table's function gives for those rows.
  virtual Status put(TableId table, std::string row, const KnownKeys& known = {}) = 0;
  // True when the row existed.
  virtual bool erase(TableId table, std::string_view key) = 0;
  // Replaces the rows of every table, of whichever plugin, by those of a state snapshot (storage/state_snapshot.h),
  // read and verified to its end first. The only thing that its entry does. Errors: data_loss; unimplemented for a
  // table that no loaded plugin declares; nothing has changed then.
  virtual Status replace_all(ByteSource& snapshot) = 0;
};

// A row of a change. Whoever asks first decodes it; all who follow the changes of this process share the message. [any]
class ChangedRow {
 public:
  explicit ChangedRow(std::string_view bytes) : bytes_(bytes) {}
  ChangedRow(ChangedRow&& other) noexcept : bytes_(other.bytes_), decoded_(other.decoded_.exchange(nullptr)) {}
  ChangedRow& operator=(ChangedRow&&) = delete;
  ~ChangedRow();

  std::string_view bytes() const { return bytes_; }
  // The message, which lives as long as the batch. Requires: everybody asks for the type of the table's rows.
  template <typename Message>
  const Message& as() const {
    const google::protobuf::MessageLite* shared = decoded_.load();
    if (shared == nullptr) {
      auto own = std::make_unique<Message>();
      own->ParseFromArray(bytes_.data(), static_cast<int>(bytes_.size()));
      if (decoded_.compare_exchange_strong(shared, own.get())) return *own.release();
    }
    return static_cast<const Message&>(*shared);
  }

 private:
  std::string_view bytes_;
  mutable std::atomic<const google::protobuf::MessageLite*> decoded_{nullptr};  // owned; set once
};

// The effect of one committed transaction on one row. Empty `before`: inserted. Empty `after`: deleted.
struct Change {
  TableId table;
  std::string_view key;
  std::optional<ChangedRow> before;
  std::optional<ChangedRow> after;
};

// One published commit. Immutable; the bytes live as long as the batch.
class ChangeBatch {
 public:
  virtual ~ChangeBatch() = default;
  virtual uint64_t index() const = 0;
  // The full name of the log entry's command, though others may have been part of it; empty: the entry held none.
  virtual std::string_view command() const = 0;
  virtual const std::vector<Change>& changes() const = 0;
};

// A row table with its message type. Decodes at the edge, nothing is cached.
//
//   DROVER_TRY(jobs, declare.table<v1::Job>("jobs", {}, [](const v1::Job& job, RowKeys& keys) { … }));
//   std::optional<v1::Job> job = jobs.get(view, key);
template <typename Message>
class Table {
 public:
  using Keys = std::function<void(const Message&, RowKeys&)>;

  Table() = default;
  // A table of another plugin, which only reads it here.
  explicit Table(TableId id) : id_(id) {}
  // A table with so many indexes, by the function that gives all keys of a message.
  Table(TableId id, size_t indexes, Keys keys)
      : id_(id), keys_(std::make_shared<const OwnKeys>(OwnKeys{indexes, std::move(keys)})) {}

  TableId id() const { return id_; }

  std::optional<Message> get(const ReadView& view, std::string_view key) const { return decode(view.get(id_, key)); }
  std::optional<Message> get_by(const ReadView& view, uint32_t index, std::string_view key) const {
    return decode(view.get_by(id_, index, key));
  }
  // `before` are the keys of the row that stands there now, from keys(), where they are known: else that row is decoded
  // for them.
  Status put(WriteTransaction& transaction, const Message& row, const RowKeys* before = nullptr) const {
    if (!keys_) return transaction.put(id_, serialize(row));
    const RowKeys after = keys_->of(row);
    return transaction.put(id_, serialize(row), {.before = before, .after = &after});
  }
  // Requires: the table is this plugin's own.
  RowKeys keys(const Message& row) const { return keys_->of(row); }
  bool erase(WriteTransaction& transaction, std::string_view key) const { return transaction.erase(id_, key); }

  // Calls visit(message, key) for each row of the range; visit returns false to stop early.
  template <typename Visit>
  void scan(const ReadView& view, uint32_t index, const KeyRange& range, Visit&& visit,
            Order order = Order::forward) const {
    for (auto cursor = view.scan(id_, index, range, order); cursor->valid(); cursor->next()) {
      Message row;
      row.ParseFromArray(cursor->row().data(), static_cast<int>(cursor->row().size()));
      if (!visit(row, cursor->key())) return;
    }
  }
  std::vector<Message> list(const ReadView& view, uint32_t index, const KeyRange& range,
                            Order order = Order::forward) const {
    std::vector<Message> rows;
    scan(
        view, index, range, [&](Message& row, std::string_view) { return rows.push_back(std::move(row)), true; },
        order);
    return rows;
  }

  // The declaration of such a table:
  //   Table<v1::Note>::spec("notes", {{"author"}}, [](const v1::Note& note, RowKeys& keys) {
  //     keys.primary(note.id());
  //     keys.add(kNotesByAuthor, note.author());
  //   });
  static TableSpec spec(std::string name, std::vector<IndexSpec> indexes, Keys keys) {
    return {.name = std::move(name),
            .message = Message::descriptor()->full_name(),
            .indexes = std::move(indexes),
            .keys = [keys = std::move(keys)](std::string_view row, RowKeys& out) { keys(parse(row), out); }};
  }

  static Message parse(std::string_view bytes) {
    Message row;
    row.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    return row;
  }

 private:
  struct OwnKeys {
    size_t indexes;
    Keys make;
    RowKeys of(const Message& row) const {
      RowKeys keys;
      keys.reset(indexes);
      make(row, keys);
      keys.arrange();
      return keys;
    }
  };
  static std::optional<Message> decode(std::optional<std::string_view> bytes) {
    if (!bytes) return std::nullopt;
    return parse(*bytes);
  }
  TableId id_;
  std::shared_ptr<const OwnKeys> keys_;  // null: only read here
};

}  // namespace drover
