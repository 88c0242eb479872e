#include "variables/variable_watch.h"

#include <nlohmann/json.hpp>

#include "drover/keys.h"
#include "drover/v1/node_variables.pb.h"

namespace drover::templates {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto kWait = 5min;
constexpr auto kCallTime = kWait + 1min;
constexpr std::chrono::nanoseconds kFirstPause = 500ms, kLongestPause = 30s;

json described(const v1::VariableMetadata& variable) {
  return {{"Namespace", variable.namespace_()},     {"Path", variable.path()},
          {"CreateIndex", variable.create_index()}, {"ModifyIndex", variable.modify_index()},
          {"CreateTime", variable.create_time()},   {"ModifyTime", variable.modify_time()}};
}

Result<VariableSeen> read_one(std::string_view bytes) {
  DROVER_TRY(const auto response, parse_message<v1::NodeVariableResponse>(bytes));
  VariableSeen seen;
  seen.is_found = response.has_variable();
  json items = json::parse(response.items(), nullptr, /*allow_exceptions=*/false);
  seen.value = std::make_shared<const json>(items.is_object() ? std::move(items) : json::object());
  seen.metadata = std::make_shared<const json>(described(response.variable()));
  return seen;
}

Result<VariableSeen> read_list(std::string_view bytes) {
  DROVER_TRY(const auto response, parse_message<v1::NodeVariablesResponse>(bytes));
  json list = json::array();
  for (const v1::VariableMetadata& variable : response.variables()) list.push_back(described(variable));
  VariableSeen seen;
  seen.is_found = !list.empty();
  seen.value = std::make_shared<const json>(std::move(list));
  return seen;
}

}  // namespace

class VariableWatch : public std::enable_shared_from_this<VariableWatch> {
 public:
  VariableWatch(Host& host, VariableReader reader, VariableQuery query, std::stop_token all)
      : host_(host), reader_(std::move(reader)), query_(std::move(query)), all_(std::move(all)) {}
  ~VariableWatch() { stop_.request_stop(); }

  void enter(const Uuid& allocation) {
    const MutexLock lock(mutex_);
    users_.insert(allocation);
  }
  void leave(const Uuid& allocation) {
    const MutexLock lock(mutex_);
    users_.erase(users_.find(allocation));
  }
  VariableSeen seen() {
    const MutexLock lock(mutex_);
    return seen_;
  }
  VariableSeen wait(std::chrono::nanoseconds patience) {
    MutexLock lock(mutex_);
    answered_.wait_until(lock, stop_.get_token(), std::chrono::steady_clock::now() + patience,
                         [&]() DROVER_REQUIRES(mutex_) { return seen_.change > 0; });
    return seen_;
  }

  // Asks the servers, and again when they have answered.
  void ask() {
    if (all_.stop_requested()) return;
    const auto* calls = host_.extension<NodeCalls>("agent");
    const auto proof = calls ? calls->proof() : std::nullopt;
    if (!proof) return ask_later(kFirstPause);
    v1::NodeVariableRequest request;
    request.set_node_id(proof->id.bytes());
    request.set_secret_id(proof->secret);
    request.set_task(reader_.task);
    request.set_namespace_(query_.name_space);
    request.set_path(query_.path);
    CallContext context = calls->context(query_.is_list ? "/drover.v1.NodeVariables/List" : "/drover.v1.NodeVariables/Read",
                                         kCallTime, stop_.get_token());
    context.query.max_wait = kWait;
    {
      const MutexLock lock(mutex_);
      if (users_.empty()) return;
      request.set_alloc_id(users_.begin()->bytes());
      context.query.min_index = index_;
    }
    host_.caller().call(std::move(context), serialize(request), [weak = weak_from_this()](const Result<Reply>& reply) {
      if (const auto self = weak.lock()) self->took(reply);
    });
  }

 private:
  // [a thread of the router]
  void took(const Result<Reply>& reply) {
    auto seen = reply ? query_.is_list ? read_list(reply->body) : read_one(reply->body) : Result<VariableSeen>(reply.status());
    std::chrono::nanoseconds pause{};
    {
      const MutexLock lock(mutex_);
      if (seen) {
        pause_ = kFirstPause;
        // An index that goes back is that of a restored state.
        index_ = reply->meta.index < index_ ? 0 : reply->meta.index;
        show(*std::move(seen));
      } else {
        if (seen.status().code() == Code::permission_denied && seen_.change == 0) {
          VariableSeen refused;
          refused.error = seen.status();
          show(std::move(refused));
        }
        pause = pause_;
        pause_ = std::min(pause_ * 2, kLongestPause);
      }
    }
    ask_later(pause);
  }

  // What is known already stays as it is while the servers cannot be asked.
  void show(VariableSeen seen) DROVER_REQUIRES(mutex_) {
    const auto is_same = [](const auto& one, const auto& other) { return one == other || (one && other && *one == *other); };
    const bool is_news = seen_.change == 0 || seen.is_found != seen_.is_found || seen.error != seen_.error ||
                         !is_same(seen.value, seen_.value) || !is_same(seen.metadata, seen_.metadata);
    if (!is_news) return;
    seen.change = seen_.change + 1;
    seen_ = std::move(seen);
    answered_.notify_all();
  }

  void ask_later(std::chrono::nanoseconds pause) {
    host_.post_after(pause, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->ask();
    });
  }

  Host& host_;
  const VariableReader reader_;
  const VariableQuery query_;
  const std::stop_token all_;
  std::stop_source stop_;
  Mutex mutex_;
  CondVarAny answered_;
  std::multiset<Uuid> users_ DROVER_GUARDED_BY(mutex_);  // allocations
  VariableSeen seen_ DROVER_GUARDED_BY(mutex_);
  uint64_t index_ DROVER_GUARDED_BY(mutex_) = 0;
  std::chrono::nanoseconds pause_ DROVER_GUARDED_BY(mutex_) = kFirstPause;
};

VariableUse::VariableUse(std::shared_ptr<VariableWatch> watch, Uuid allocation)
    : watch_(std::move(watch)), allocation_(allocation) {
  watch_->enter(allocation_);
}
VariableUse::~VariableUse() { watch_->leave(allocation_); }
VariableSeen VariableUse::seen() const { return watch_->seen(); }
VariableSeen VariableUse::wait(std::chrono::nanoseconds patience) const { return watch_->wait(patience); }

std::shared_ptr<VariableUse> VariableWatches::use(const VariableReader& reader, const VariableQuery& query) {
  const std::string key = KeyBuilder()
                              .text(reader.name_space).text(reader.job).text(reader.group).text(reader.task)
                              .text(query.name_space).text(query.path).byte(query.is_list).take();
  std::shared_ptr<VariableWatch> watch, begun;
  {
    const MutexLock lock(mutex_);
    std::erase_if(watches_, [](const auto& each) { return each.second.expired(); });
    watch = watches_[key].lock();
    if (!watch) {
      watch = begun = std::make_shared<VariableWatch>(*host_, reader, query, stop_.get_token());
      watches_[key] = watch;
    }
  }
  auto use = std::make_shared<VariableUse>(watch, reader.allocation);
  if (begun) begun->ask();
  return use;
}

}  // namespace drover::templates
