#include "kernel/rpc/blocking_read.h"

#include <algorithm>

#include "drover/stopping.h"
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

  std::vector<TableId> tables;

 private:
  void look(TableId table) const {
    auto& seen = const_cast<IndexedView*>(this)->tables;
    if (std::ranges::find(seen, table) == seen.end()) seen.push_back(table);
  }
  const ReadView& inner_;
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

Result<Reply> run(const Method& method, const CallContext& context, std::string_view request, const ReadView& view,
                  const state::Snapshot& snapshot) {
  IndexedView indexed(view);
  HandlerCall call(context, &indexed);
  auto body = method.unary(request, call);
  ReplyMeta meta = call.meta();
  if (meta.index == 0) {
    for (TableId table : indexed.tables) meta.index = std::max(meta.index, snapshot.table_index(table));
  }
  // Rows of a restored state bear older indexes than what callers have seen.
  meta.index = std::max(meta.index, snapshot.floor_index());
  if (!body) return body.status();
  return Reply{*std::move(body), std::move(meta)};
}

}  // namespace

Result<Reply> answer_once(const Method& method, state::Store* store, const CallContext& context,
                          std::string_view request) {
  if (context.stop.stop_requested()) return cancelled("the caller has gone");
  if (method.is_read() && store) {
    auto snapshot = store->snapshot("rpc");
    return run(method, context, request, *snapshot, *snapshot);
  }
  HandlerCall call(context, nullptr);
  auto body = method.unary(request, call);
  if (!body) return body.status();
  return Reply{*std::move(body), call.meta()};
}

BlockingRead::BlockingRead(Setup setup) : setup_(std::move(setup)) {
  auto wait = setup_.context.query.max_wait;
  if (wait <= std::chrono::nanoseconds(0)) wait = setup_.default_wait;
  wait = std::min(wait, setup_.max_wait);
  // A little more than asked for, differing by caller, so that equal waits do not end in one moment.
  const auto spread = static_cast<int64_t>(std::hash<void*>()(this) % 1024);
  wait += wait / 16 * spread / 1024;
  until_ = std::min(setup_.clock.steady() + wait, setup_.context.deadline);
}

void BlockingRead::start(Setup setup) {
  auto self = std::shared_ptr<BlockingRead>(new BlockingRead(std::move(setup)));
  self->setup_.pool.post([self] { self->run(); });
}

void BlockingRead::run() {
  while (true) {
    const bool abandoned = [this] {
      std::lock_guard lock(mutex_);
      return abandoned_;
    }();
    if (abandoned) return finish(unavailable("the state was replaced or this server no longer leads; ask again"));
    if (setup_.stopping.stop_requested()) return finish(agent_is_stopping());
    if (setup_.context.stop.stop_requested()) return finish(cancelled("the caller has gone"));
    state::ReadSet looked;
    Result<Reply> reply = internal_error("not read yet");
    {
      auto snapshot = setup_.store.snapshot("rpc");
      auto view = snapshot->recording(looked);
      reply = drover::rpc::run(setup_.method, setup_.context, setup_.request, *view, *snapshot);
    }
    const bool is_new = !reply || reply->meta.index > setup_.context.query.min_index;
    if (is_new || setup_.clock.steady() >= until_ || looked.empty()) return finish(std::move(reply));

    // The watch calls back inside watch() when something has changed already: then the loop goes round at once.
    {
      std::lock_guard lock(mutex_);
      asleep_ = true;
      if (!on_caller_gone_ && setup_.context.stop.stop_possible()) {
        on_caller_gone_.emplace(setup_.context.stop, [weak = weak_from_this()] {
          if (auto self = weak.lock()) self->setup_.pool.post([self] { self->wake(false); });
        });
      }
      if (!on_stopping_) {
        on_stopping_.emplace(setup_.stopping, [weak = weak_from_this()] {
          if (auto self = weak.lock()) self->setup_.pool.post([self] { self->wake(false); });
        });
      }
      // What was asked for since the checks above found nobody asleep.
      if (setup_.stopping.stop_requested() || setup_.context.stop.stop_requested()) {
        asleep_ = false;
        continue;
      }
    }
    state::Watch watch = setup_.store.watch(looked, [weak = weak_from_this()](state::WakeReason reason) {
      auto self = weak.lock();
      if (self) self->setup_.pool.post([self, reason] { self->wake(reason == state::WakeReason::abandoned); });
    });
    // Holds this object while it sleeps: the watch and the callbacks know it weakly.
    const uint64_t timer = setup_.pool.post_at(until_, [self = shared_from_this()] { self->wake(false); });
    std::unique_lock lock(mutex_);
    timer_ = timer;
    if (asleep_) {
      watch_ = std::move(watch);
      return;
    }
    lock.unlock();  // woken meanwhile, and left to us
    watch.cancel();
    setup_.pool.cancel_timer(timer);
  }
}

void BlockingRead::wake(bool abandoned) {
  state::Watch watch;
  uint64_t timer = 0;
  {
    std::lock_guard lock(mutex_);
    abandoned_ = abandoned_ || abandoned;
    if (!asleep_ || finished_) return;
    asleep_ = false;
    if (timer_ == 0) return;  // run() is still setting up and goes round by itself
    watch = std::move(watch_);
    timer = std::exchange(timer_, 0);
  }
  watch.cancel();
  auto self = shared_from_this();  // the timer may hold the last reference
  setup_.pool.cancel_timer(timer);
  run();
}

void BlockingRead::finish(Result<Reply> reply) {
  {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
  }
  on_caller_gone_.reset();
  on_stopping_.reset();
  setup_.done(std::move(reply));
}

}  // namespace drover::rpc
