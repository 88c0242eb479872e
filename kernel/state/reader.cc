#include "kernel/state/reader.h"

#include "drover/keys.h"

namespace drover::state {
namespace {

class TreeCursor final : public Cursor {
 public:
  TreeCursor(const Reader& reader, TableId table, uint32_t index, const KeyRange& range, Order order)
      : reader_(reader),
        table_(table),
        index_(index),
        root_(reader.schema->root(table, index)),
        range_(range),
        forward_(order == Order::forward) {
    // Entries of a non-unique index end with the primary key: "exactly k" means all entries that begin with k and
    // whose index key is no longer than k. A full entry key, as used to resume, stands for itself.
    if (!reader.schema->roots[root_].unique && is_exactly(range)) {
      exact_ = range.first.size();
      range_.end = prefix_successor(range.first);
    }
    if (range_.end.empty() || range_.first < range_.end) place(nullptr);
    skip_others();
  }

  bool valid() const override { return entry_ != nullptr; }

  void next() override {
    advance();
    skip_others();
  }

  std::string_view key() const override { return entry_->key(); }

  std::string_view row() const override {
    if (row_ == nullptr) row_ = reader_.row_of(table_, index_, entry_);
    return row_ == nullptr ? std::string_view() : row_->value();
  }

 private:
  void advance() {
    if (reader_.edits != nullptr && *reader_.edits != edits_) return place(entry_);
    if (!forward_ && position_.same(limit_)) return stand_on(nullptr);
    if (forward_) {
      position_.next();
    } else {
      position_.prev();
    }
    stand_on_position();
  }

  void skip_others() {
    while (exact_ != kAny && entry_ != nullptr && entry_->primary_offset != exact_ && entry_->key_length != exact_) {
      advance();
    }
  }

  // Stands on the first entry in scan order, or on the one behind `after`.
  void place(const Item* after) {
    const Node* root = reader_.version->roots[root_];
    if (reader_.edits != nullptr) edits_ = *reader_.edits;
    if (forward_) {
      limit_ = {};
      if (!range_.end.empty()) limit_.seek(root, range_.end);
      position_.seek(root, after == nullptr ? std::string_view(range_.first) : after->key());
      if (after != nullptr && position_.valid() && position_.item()->key() == after->key()) position_.next();
      return stand_on_position();
    }
    limit_.seek(root, range_.first);
    const bool bounded = after != nullptr || !range_.end.empty();
    if (bounded) position_.seek(root, after == nullptr ? std::string_view(range_.end) : after->key());
    if (!limit_.valid() || (bounded && position_.same(limit_))) return stand_on(nullptr);
    if (bounded && position_.valid()) {
      position_.prev();
    } else {
      position_.seek_last(root);
    }
    stand_on_position();
  }

  void stand_on_position() {
    const bool done = !position_.valid() || (forward_ && position_.same(limit_));
    stand_on(done ? nullptr : position_.item());
  }

  void stand_on(const Item* entry) {
    entry_ = entry;
    row_ = index_ == kPrimary ? entry : nullptr;
    // In a transaction the row may be replaced while the cursor stands on it: fetch it now.
    if (reader_.edits != nullptr && entry != nullptr && row_ == nullptr) row_ = reader_.row_of(table_, index_, entry);
  }

  static constexpr size_t kAny = SIZE_MAX;
  const Reader reader_;
  const TableId table_;
  const uint32_t index_;
  const uint32_t root_;
  KeyRange range_;
  const bool forward_;
  size_t exact_ = kAny;
  uint64_t edits_ = 0;
  tree::Position position_;
  tree::Position limit_;  // forward: the first place beyond the range; reverse: the last place in it
  const Item* entry_ = nullptr;
  mutable const Item* row_ = nullptr;
};

}  // namespace

bool is_exactly(const KeyRange& range) {
  return range.end.size() == range.first.size() + 1 && range.end.back() == '\0' && range.end.starts_with(range.first);
}

const Item* Reader::find(TableId table, uint32_t index, std::string_view key) const {
  const uint32_t root = schema->root(table, index);
  DROVER_CHECK(schema->roots[root].unique);
  const Item* entry = tree::find(version->roots[root], key);
  return entry == nullptr ? nullptr : row_of(table, index, entry);
}

const Item* Reader::row_of(TableId table, uint32_t index, const Item* entry) const {
  if (index == kPrimary) return entry;
  return tree::find(version->roots[schema->table(table).first_root], entry->primary_key());
}

std::unique_ptr<Cursor> Reader::scan(TableId table, uint32_t index, const KeyRange& range, Order order) const {
  return std::make_unique<TreeCursor>(*this, table, index, range, order);
}

uint64_t Reader::count(TableId table, uint32_t index, const KeyRange& range) const {
  const Node* root = version->roots[schema->root(table, index)];
  const bool exact = !schema->roots[schema->root(table, index)].unique && is_exactly(range);
  const std::string last = exact ? prefix_successor(range.first) : range.end;
  const uint64_t end = last.empty() ? tree::rows(root) : tree::rank(root, last);
  const uint64_t first = tree::rank(root, range.first);
  return end > first ? end - first : 0;
}

}  // namespace drover::state
