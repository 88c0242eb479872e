#include "kernel/rpc/handler.h"

#include <algorithm>

#include "kernel/state/store.h"

namespace drover::rpc {
namespace {

// Remembers the largest index of the tables a handler looked at: the index of its answer, unless it names a better one.
class IndexedView final : public ReadView {
 public:
  explicit IndexedView(const ReadView& inner) : inner_(inner) {}
  uint64_t index() const override { return inner_.index(); }
  std::optional<std::string_view> get(TableId table, std::string_view key) const override {
    look(table);
    return inner_.get(table, key);
  }
  std::optional<std::string_view> get_by(TableId table, uint32_t index, std::string_view key) const override {
    look(table);
    return inner_.get_by(table, index, key);
  }
  std::unique_ptr<Cursor> scan(TableId table, uint32_t index, const KeyRange& range, Order order) const override {
    look(table);
    return inner_.scan(table, index, range, order);
  }
  uint64_t row_count(TableId table) const override {
    look(table);
    return inner_.row_count(table);
  }
  uint64_t table_index(TableId table) const override { return inner_.table_index(table); }

  // Rows of a restored state bear older indexes than what callers have seen, so no answer is below the floor.
  ReplyMeta complete(ReplyMeta meta, const state::Snapshot& snapshot) const {
    if (meta.index == 0) {
      for (TableId table : tables_) meta.index = std::max(meta.index, snapshot.table_index(table));
    }
    meta.index = std::max(meta.index, snapshot.floor_index());
    return meta;
  }

 private:
  void look(TableId table) const {
    if (std::ranges::find(tables_, table) == tables_.end()) tables_.push_back(table);
  }
  const ReadView& inner_;
  mutable std::vector<TableId> tables_;
};

class HandlerCall final : public Call {
 public:
  HandlerCall(const CallContext& context, const ReadView* view) : context_(context), view_(view) {}
  const CallContext& context() const override { return context_; }
  const ReadView& view() const override {
    DROVER_CHECK(view_ != nullptr);
    return *view_;
  }

 private:
  const CallContext& context_;
  const ReadView* view_;
};

}  // namespace

Result<Reply> answer_once(const Method& method, state::Store* store, const CallContext& context,
                          std::string_view request, state::ReadSet* looked) {
  if (context.stop.stop_requested()) return cancelled("the caller has gone");
  if (!method.is_read() || !store) {
    HandlerCall call(context, nullptr);
    DROVER_TRY(std::string body, method.unary(request, call));
    return Reply{std::move(body), call.meta()};
  }
  const auto snapshot = store->snapshot("rpc");
  const auto recording = looked ? snapshot->recording(*looked) : nullptr;
  const IndexedView view(recording ? *recording : static_cast<const ReadView&>(*snapshot));
  HandlerCall call(context, &view);
  DROVER_TRY(std::string body, method.unary(request, call));
  return Reply{std::move(body), view.complete(call.meta(), *snapshot)};
}

Result<Decided> decide_once(const Method& method, state::Store& store, const CallContext& context,
                            std::string_view request) {
  if (context.stop.stop_requested()) return cancelled("the caller has gone");
  const auto snapshot = store.snapshot("rpc");
  const IndexedView view(*snapshot);
  HandlerCall call(context, &view);
  DROVER_TRY(Decision decision, method.write(request, call));
  return Decided{std::move(decision), view.complete(call.meta(), *snapshot)};
}

}  // namespace drover::rpc
