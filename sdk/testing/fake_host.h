// A server's kernel in memory, for tests of handlers and of what a plugin does while it leads: tables, log, change
// feed, a clock that the test moves. Handlers are called as the router would, without its stages.
//
//   FakeHost host;
//   declare_tables(host.rows(), tables);   // before anything runs
//   rpc.declare(host.rows()); rpc.start(host);
//   host.commit([&](WriteTransaction& rows) { return jobs.put(rows, job); });
//   auto answer = host.answer<v1::JobResponse>("/drover.v1.Jobs/Get", request);
//
// May be derived from, by whoever owns the clock. [any], but for rows().
#pragma once

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drover/metrics.h"
#include "drover/options.pb.h"
#include "drover/plugin.h"
#include "sdk/testing/memory_rows.h"

namespace drover::testing {

// The machine's clocks, put forward by what the test says.
class ForwardClock final : public Clock {
 public:
  int64_t wall_ns() const override { return SystemClock().wall_ns() + ahead(); }
  SteadyTime steady() const override { return SystemClock().steady() + std::chrono::nanoseconds(ahead()); }
  void advance(std::chrono::nanoseconds by) {
    std::lock_guard lock(mutex_);
    ahead_ += by.count();
  }

 private:
  int64_t ahead() const {
    std::lock_guard lock(mutex_);
    return ahead_;
  }
  mutable std::mutex mutex_;
  int64_t ahead_ = 0;  // guarded by mutex_
};

class FakeCall final : public Call {
 public:
  // The caller is the management identity, where the context names none. `view`: null for methods that act.
  FakeCall(CallContext context, std::shared_ptr<const ReadView> view)
      : context_(with_identity(std::move(context))), view_(std::move(view)) {}
  const CallContext& context() const override { return context_; }
  const ReadView& view() const override {
    DROVER_CHECK(view_ != nullptr);
    return *view_;
  }

 private:
  static CallContext with_identity(CallContext context) {
    if (!context.identity.permissions) context.identity.permissions = all_permissions();
    return context;
  }

  const CallContext context_;
  const std::shared_ptr<const ReadView> view_;
};

class FakeHost : public Host, private Caller {
 public:
  static constexpr std::chrono::seconds kPatience{30};

  MemoryRows& rows() {
    std::lock_guard lock(mutex_);
    copy_.reset();  // what is declared now is part of the next one
    return rows_;
  }
  ForwardClock& forward_clock() { return clock_; }
  // Before anything runs.
  AgentInfo& agent_info() { return info_; }

  // Writes rows as one commit, as the apply functions of other plugins do. Returns its index.
  uint64_t commit(const std::function<void(WriteTransaction&)>& write) {
    std::lock_guard lock(mutex_);
    copy_.reset();
    rows_.begin(++index_);
    write(rows_);
    publish();
    return index_;
  }
  // Proposals of that command are answered with an error from now on; ok: they are applied again.
  void refuse(const std::string& command, Status status) {
    std::lock_guard lock(mutex_);
    refused_[command] = std::move(status);
  }
  // This server leads again, after another that nobody has noticed: what was decided before is refused.
  void begin_term() {
    std::lock_guard lock(mutex_);
    ++term_;
  }
  // From now on the log takes the proposals of those who do not wait for the answer, and commits none.
  void hold() {
    std::lock_guard lock(mutex_);
    holds_ = true;
  }
  // From now on tasks that are posted for later wait for run_delayed().
  void delay_tasks() {
    std::lock_guard lock(mutex_);
    delays_ = true;
  }
  void run_delayed() {
    std::vector<std::function<void()>> tasks;
    {
      std::lock_guard lock(mutex_);
      tasks.swap(delayed_);
    }
    for (const auto& task : tasks) task();
  }
  // Commits the oldest of them, in order; without a number all, and holds no more.
  void release(size_t count) {
    std::vector<Told> told;
    {
      std::lock_guard lock(mutex_);
      for (; count > 0 && !held_.empty(); --count) {
        Held next = std::move(held_.front());
        held_.pop_front();
        told.push_back({std::move(next.done), append(next.command, next.payload)});
      }
    }
    tell(told);
  }
  void release() {
    {
      std::lock_guard lock(mutex_);
      holds_ = false;
    }
    release(std::numeric_limits<size_t>::max());
  }
  // Another server led for a moment: it committed the oldest `kept` of them, the others are gone, and nobody is told
  // which. What was decided before is refused.
  void lose(size_t kept) {
    std::vector<Told> told;
    {
      std::lock_guard lock(mutex_);
      for (Held& next : held_) {
        if (kept > 0) (void)append(next.command, next.payload);
        kept -= kept > 0;
        told.push_back({std::move(next.done), deadline_exceeded("leadership ended while the command was in the log")});
      }
      held_.clear();
      ++term_;
    }
    tell(told);
  }
  // Tells the proposers of all of them that their time is over. The entries stay in the log.
  void time_out() {
    std::vector<Told> told;
    {
      std::lock_guard lock(mutex_);
      for (Held& next : held_) {
        told.push_back({std::exchange(next.done, [](const Result<Applied>&) {}), deadline_exceeded("nobody answered")});
      }
    }
    tell(told);
  }
  // Waits until so many are held. False when that takes too long.
  bool wait_until_held(size_t count, std::chrono::milliseconds patience = kPatience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return held_.size() >= count; });
  }
  // Waits until so many proposals were refused. False when that takes too long.
  bool wait_until_refused(int count, std::chrono::milliseconds patience = kPatience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return refusals_ >= count; });
  }
  // Waits until the state is as wanted. False when that takes too long.
  bool eventually(const std::function<bool(const ReadView&)>& holds) {
    const SteadyTime deadline = SystemClock().steady() + kPatience;
    auto view = snapshot();
    while (!holds(*view)) {
      auto next = snapshot_at(view->index() + 1, deadline, {});
      if (!next) return false;
      view = *std::move(next);
    }
    return true;
  }
  // The names of all commands that were applied.
  std::vector<std::string> proposed() const {
    std::lock_guard lock(mutex_);
    return proposed_;
  }
  // Answers calls that the plugin makes, of methods that were not declared here.
  void answer_calls_with(std::function<Result<std::string>(const CallContext&, const std::string& request)> answer) {
    answer_call_ = std::move(answer);
  }
  // Subscriptions that exist now are told to begin anew.
  void resync() {
    std::lock_guard lock(mutex_);
    for (auto& feed : feeds_) {
      if (auto open = feed.lock()) open->lost = true;
    }
    changed_.notify_all();
  }

  // Names the caller from now on; without: the management identity.
  void call_as(Identity identity) { identity_ = std::move(identity); }

  template <typename Response, typename Request>
  Result<Response> answer(const std::string& method, const Request& request, QueryOptions query = {},
                          ReplyMeta* meta = nullptr) {
    CallContext context;
    context.method = method;
    context.query = std::move(query);
    DROVER_TRY(Reply reply, call_and_wait(std::move(context), serialize(request)));
    if (meta) *meta = reply.meta;
    return parse_message<Response>(reply.body);
  }

  // Host
  const AgentInfo& agent() const override { return info_; }
  Clock& clock() override { return clock_; }
  Caller& caller() override { return *this; }
  Metrics& metrics() override { return metrics_; }
  LocalStore& local_store() override { std::terminate(); }
  const ConfigBlock* configuration(std::string_view block) const override {
    return block == "plugin" && own_block_ ? &*own_block_ : nullptr;
  }
  // The plugin's own block of the agent's configuration. Before anything runs.
  void configure(ConfigBlock block) { own_block_ = std::move(block); }
  std::string configuration_json() const override { return "{}"; }

  using Host::propose;
  Result<Applied> propose(std::string_view command, std::string payload, SteadyTime, uint64_t only_in_term) override {
    std::lock_guard lock(mutex_);
    DROVER_RETURN_IF_ERROR(refusal_of(std::string(command), only_in_term));
    return append(std::string(command), payload);
  }
  void propose(std::string_view command, std::string payload, SteadyTime, uint64_t only_in_term,
               std::function<void(Result<Applied>)> done) override {
    std::vector<Told> told;
    {
      std::lock_guard lock(mutex_);
      Status refused = refusal_of(std::string(command), only_in_term);
      if (!refused.ok()) {
        told.push_back({std::move(done), std::move(refused)});
      } else if (holds_) {
        held_.push_back({std::string(command), std::move(payload), std::move(done)});
        changed_.notify_all();
      } else {
        told.push_back({std::move(done), append(std::string(command), payload)});
      }
    }
    tell(told);
  }
  uint64_t term() const override {
    std::lock_guard lock(mutex_);
    return term_;
  }

  std::shared_ptr<const ReadView> snapshot() override {
    std::lock_guard lock(mutex_);
    return copy();
  }
  Result<std::shared_ptr<const ReadView>> snapshot_at(uint64_t index, SteadyTime deadline,
                                                      std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, stop, deadline, [&] { return index_ >= index; })) {
      if (stop.stop_requested()) return cancelled("stopped");
      return deadline_exceeded("the index did not come");
    }
    return copy();
  }
  std::pair<std::shared_ptr<const ReadView>, std::unique_ptr<ChangeSubscription>> follow(
      std::vector<TableId> tables) override {
    std::lock_guard lock(mutex_);
    auto feed = std::make_shared<Feed>();
    feed->tables = std::move(tables);
    feeds_.push_back(feed);
    return {copy(), std::make_unique<Subscription>(*this, std::move(feed))};
  }
  Result<TableId> find_table(std::string_view name) const override { return rows_.find_table(name); }

  RaftInfo raft() const override {
    std::lock_guard lock(mutex_);
    RaftInfo info;
    info.is_leader = true;
    info.term = term_;
    info.commit_index = info.applied_index = index_;
    info.last_index = index_ + held_.size();
    return info;
  }
  RaftControl* raft_control() override { return nullptr; }
  void identify_node(Uuid, std::string) override {}
  std::optional<Uuid> local_node() const override { return std::nullopt; }
  void post(std::function<void()> task) override { task(); }
  void post_after(std::chrono::nanoseconds, std::function<void()> task) override {
    {
      std::lock_guard lock(mutex_);
      if (delays_) return delayed_.push_back(std::move(task));
    }
    task();
  }
  std::vector<std::string> methods() const override { return {}; }
  // Finds what was declared to rows().
  void* find_extension(std::string_view point, std::string_view name) const override {
    const auto at = rows_.extensions().find({std::string(point), std::string(name)});
    return at == rows_.extensions().end() ? nullptr : at->second;
  }
  std::vector<std::string> extension_names(std::string_view point) const override {
    std::vector<std::string> names;
    for (const auto& [key, implementation] : rows_.extensions()) {
      if (key.first == point) names.push_back(key.second);
    }
    return names;
  }

 private:
  struct Batch final : ChangeBatch {
    uint64_t at = 0;
    std::string name;
    std::vector<MemoryRows::RowChange> kept;
    std::vector<Change> views;
    uint64_t index() const override { return at; }
    std::string_view command() const override { return name; }
    const std::vector<Change>& changes() const override { return views; }
  };
  struct Feed {  // guarded by mutex_
    std::vector<TableId> tables;  // empty: all
    bool wants(const Batch& batch) const {
      return tables.empty() || std::ranges::any_of(batch.views, [&](const Change& change) {
               return std::ranges::find(tables, change.table) != tables.end();
             });
    }
    std::deque<std::shared_ptr<const ChangeBatch>> batches;
    bool lost = false;
  };
  class Subscription final : public ChangeSubscription {
   public:
    Subscription(FakeHost& host, std::shared_ptr<Feed> feed) : host_(host), feed_(std::move(feed)) {}
    Event next(SteadyTime deadline, std::stop_token stop) override {
      std::unique_lock lock(host_.mutex_);
      host_.changed_.wait_until(lock, stop, deadline, [&] { return feed_->lost || !feed_->batches.empty(); });
      if (feed_->lost) return Resync{};
      if (feed_->batches.empty()) return Timeout{};
      auto batch = std::move(feed_->batches.front());
      feed_->batches.pop_front();
      return batch;
    }

   private:
    FakeHost& host_;
    std::shared_ptr<Feed> feed_;
  };

  struct Held {  // in the log, not committed
    std::string command, payload;
    std::function<void(Result<Applied>)> done;
  };
  struct Told {
    std::function<void(Result<Applied>)> done;
    Result<Applied> answer;
  };
  static void tell(std::vector<Told>& told) {
    for (Told& one : told) one.done(std::move(one.answer));
  }

  // Requires: mutex_ is held, as by all that follow.
  Status refusal_of(const std::string& command, uint64_t only_in_term) {
    if (only_in_term != 0 && only_in_term != term_) return aborted("the term is another one");
    const auto at = refused_.find(command);
    if (at == refused_.end() || at->second.ok()) return ok_status();
    ++refusals_;
    changed_.notify_all();
    return at->second;
  }
  Result<Applied> append(const std::string& command, const std::string& payload) {
    copy_.reset();
    DROVER_TRY(std::string answer, rows_.apply(command, payload, ++index_));
    proposed_.emplace_back(command);
    publish(command);
    return Applied{index_, std::move(answer)};
  }
  std::shared_ptr<const ReadView> copy() {
    if (!copy_) copy_ = std::make_shared<MemoryRows>(rows_);
    return copy_;
  }
  void publish(std::string_view command = {}) {
    auto batch = std::make_shared<Batch>();
    batch->at = index_;
    batch->name = command;
    batch->kept = rows_.changes();
    for (const auto& row : batch->kept) {
      Change& change = batch->views.emplace_back(Change{.table = row.table, .key = row.key, .before = {}, .after = {}});
      if (row.before) change.before.emplace(*row.before);
      if (row.after) change.after.emplace(*row.after);
    }
    for (auto& feed : feeds_) {
      if (auto open = feed.lock(); open && open->wants(*batch)) open->batches.push_back(batch);
    }
    changed_.notify_all();
  }

  // Caller
  void call(CallContext context, std::string request, std::function<void(Result<Reply>)> done) override {
    done(call_and_wait(std::move(context), std::move(request)));
  }
  Result<Reply> call_and_wait(CallContext context, std::string request) override {
    auto at = rows_.methods().find(context.method);
    if (at == rows_.methods().end()) {
      if (!answer_call_) return unimplemented("unknown method " + context.method);
      DROVER_TRY(std::string body, answer_call_(context, request));
      return Reply{std::move(body), {}};
    }
    context.identity = identity_;
    const auto* method = declared(context.method);
    context.access = method ? &method->options().GetExtension(drover::access) : nullptr;
    const bool acts = method && method->options().GetExtension(drover::route).kind() == Route::ACT;
    FakeCall one(std::move(context), acts ? nullptr : snapshot());
    if (at->second.write) {
      DROVER_TRY(Decision decision, at->second.write(request, one));
      Applied applied;
      if (!decision.command.empty()) {
        DROVER_TRY(applied, propose(decision.command, std::move(decision.payload), SteadyTime::max(), 0));
      }
      DROVER_TRY(std::string body, decision.answer(applied));
      ReplyMeta meta = one.meta();
      if (applied.index > 0) meta.index = applied.index;
      return Reply{std::move(body), std::move(meta)};
    }
    DROVER_TRY(std::string body, at->second.unary(request, one));
    return Reply{std::move(body), one.meta()};
  }
  Result<std::unique_ptr<StreamCall>> open(CallContext, std::string, StreamReceiver) override {
    return unimplemented("no streams here");
  }

  // Null for a method without a declaration.
  static const google::protobuf::MethodDescriptor* declared(std::string name) {
    name.erase(0, 1);
    std::ranges::replace(name, '/', '.');
    return google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
  }

  AgentInfo info_;
  Identity identity_{Identity::Kind::management, "test", all_permissions()};
  std::optional<ConfigBlock> own_block_;
  ForwardClock clock_;
  Metrics metrics_;
  std::function<Result<std::string>(const CallContext&, const std::string&)> answer_call_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  MemoryRows rows_;                       // guarded by mutex_ once anything runs, like the following
  std::shared_ptr<const ReadView> copy_;  // of the newest state; null: nobody has asked yet
  uint64_t index_ = 0;
  uint64_t term_ = 1;
  std::map<std::string, Status> refused_;
  int refusals_ = 0;
  std::vector<std::string> proposed_;
  bool holds_ = false;
  std::deque<Held> held_;
  bool delays_ = false;
  std::vector<std::function<void()>> delayed_;
  std::vector<std::weak_ptr<Feed>> feeds_;
};

}  // namespace drover::testing
