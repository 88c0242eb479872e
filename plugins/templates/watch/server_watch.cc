#include "watch/server_watch.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "drover/kept_answer.h"
#include "drover/keys.h"
#include "drover/log.h"

namespace drover::templates {
namespace {

using namespace std::chrono_literals;

constexpr auto kWait = 5min;
constexpr auto kCallTime = kWait + 1min;
constexpr std::chrono::nanoseconds kPace = 100ms;  // between two answers to one question
constexpr std::chrono::nanoseconds kLongestPause = 30s;  // between two questions that failed
constexpr std::chrono::nanoseconds kUnprovenPause = 250ms;  // until the node can prove itself

std::string name_of(const ServerQuestion& question) {
  return KeyBuilder().text(question.method).text(question.key).take();
}

TemplateAnswer answer_of(const Seen& seen) {
  return {.change = seen.change, .value = seen.is_found ? seen.value : nullptr, .error = seen.error};
}

bool says_the_same(const Seen& known, const Seen& seen) {
  const auto are_same = [](const auto& one, const auto& other) {
    return one == other || (one && other && *one == *other);
  };
  return seen.is_found == known.is_found && seen.error == known.error && are_same(seen.value, known.value) &&
         are_same(seen.metadata, known.metadata);
}

}  // namespace

class ServerWatch : public std::enable_shared_from_this<ServerWatch> {
 public:
  ServerWatch(Host& host, ServerQuestion question) : host_(host), question_(std::move(question)) {}
  ~ServerWatch() { stop(); }
  void stop() { stop_.request_stop(); }

  void enter(const Uuid& allocation) {
    const MutexLock lock(mutex_);
    users_.insert(allocation);
  }
  void leave(const Uuid& allocation) {
    const MutexLock lock(mutex_);
    users_.erase(users_.find(allocation));
  }
  Seen seen() const { return seen_.now(); }
  Seen wait(std::chrono::nanoseconds patience) const { return seen_.wait(patience, stop_.get_token()); }

  // Asks the servers, and again when they have answered.
  void ask() {
    if (stop_.stop_requested()) return;
    const auto* calls = host_.extension<NodeCalls>("agent");
    const auto proof = calls ? calls->proof() : std::nullopt;
    if (!proof) return ask_later(kUnprovenPause);
    CallContext context = calls->context(question_.method, kCallTime, stop_.get_token());
    std::string request;
    {
      const MutexLock lock(mutex_);
      if (users_.empty()) return;
      request = question_.request(*proof, *users_.begin(), context.query);
      context.query.min_index = next_.index();
    }
    context.query.max_wait = kWait;
    host_.caller().call(std::move(context), std::move(request), [weak = weak_from_this()](const Result<Reply>& reply) {
      if (const auto self = weak.lock()) self->took(reply);
    });
  }

 private:
  // [a thread of the router]
  void took(const Result<Reply>& reply) {
    if (stop_.stop_requested()) return;
    auto seen = reply ? question_.read(reply->body) : Result<Seen>(reply.status());
    std::chrono::nanoseconds pause = kPace;
    {
      const MutexLock lock(mutex_);
      if (seen) {
        next_.answered(reply->meta.index);
      } else {
        pause = next_.failed();
      }
    }
    if (seen) {
      seen_.take(*std::move(seen), says_the_same);
    } else {
      log::warn("templates", "the servers are not read",
                {{"method", question_.method}, {"error", seen.status().message()}});
      if (question_.may_be_refused && seen.status().code() == Code::permission_denied) {
        Seen refused;
        refused.error = seen.status();
        seen_.take(std::move(refused), [](const Seen&, const Seen&) { return true; });  // what is known stays
      }
    }
    ask_later(pause);
  }

  void ask_later(std::chrono::nanoseconds pause) {
    host_.post_after(pause, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->ask();
    });
  }

  Host& host_;
  const ServerQuestion question_;
  std::stop_source stop_;
  Mutex mutex_;
  std::multiset<Uuid> users_ DROVER_GUARDED_BY(mutex_);  // allocations
  NextQuestion next_ DROVER_GUARDED_BY(mutex_){kLongestPause};
  KeptAnswer<Seen> seen_;
};

ServerUse::ServerUse(std::shared_ptr<ServerWatch> watch, Uuid allocation)
    : watch_(std::move(watch)), allocation_(allocation) {
  watch_->enter(allocation_);
}
ServerUse::~ServerUse() { watch_->leave(allocation_); }
Seen ServerUse::seen_within(std::chrono::nanoseconds patience) const { return watch_->wait(patience); }
TemplateAnswer ServerUse::now() const { return answer_of(watch_->seen()); }
TemplateAnswer ServerUse::wait(std::chrono::nanoseconds patience) const { return answer_of(seen_within(patience)); }

void ServerWatches::stop() {
  std::vector<std::shared_ptr<ServerWatch>> all;  // ended without the lock: a call that is given up may answer at once
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
    for (const auto& [name, weak] : watches_) all.push_back(weak.lock());
  }
  for (const auto& watch : all) {
    if (watch) watch->stop();
  }
}

std::shared_ptr<ServerUse> ServerWatches::use(const Uuid& allocation, const ServerQuestion& question) {
  std::shared_ptr<ServerWatch> watch, begun;
  {
    const MutexLock lock(mutex_);
    std::erase_if(watches_, [](const auto& each) { return each.second.expired(); });
    auto& known = watches_[name_of(question)];
    watch = known.lock();
    if (!watch) {
      watch = begun = std::make_shared<ServerWatch>(*host_, question);
      known = watch;
      if (is_stopped_) watch->stop();
    }
  }
  auto use = std::make_shared<ServerUse>(watch, allocation);
  if (begun) begun->ask();
  return use;
}

Seen ServerReads::look(const ServerQuestion& question) {
  if (!watch_) return {};
  const auto use = watch_(question);
  Seen seen = use->seen_within(patience_);
  all_[name_of(question)] = {.use = use, .change = seen.change};
  return seen;
}

TemplateAnswer ServerReads::at(const std::string& name,
                               const std::function<std::shared_ptr<TemplateWatch>()>& begin) {
  Used& used = all_[name];
  if (!used.use && held_) {
    if (const auto before = held_->find(name); before != held_->end()) used.use = before->second.use;
  }
  if (!used.use) used.use = begin();
  TemplateAnswer answer = used.use->wait(patience_);
  used.change = answer.change;
  return answer;
}

}  // namespace drover::templates
