#include "templates/watch.h"

#include <pthread.h>

#include <nlohmann/json.hpp>

#include "drover/log.h"
#include "drover/pause.h"

namespace drover::consul {
namespace {

constexpr auto kLeastTime = std::chrono::seconds(1);  // of a round in which nothing changed

}  // namespace

Watch::Watch(std::shared_ptr<const ConsulClient> client, Question question, std::string token)
    : client_(std::move(client)), question_(std::move(question)), token_(std::move(token)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

Watch::~Watch() {
  thread_.request_stop();
  thread_.join();
}

TemplateAnswer Watch::now() const {
  const MutexLock lock(mutex_);
  return answer_;
}

TemplateAnswer Watch::wait(std::chrono::nanoseconds patience) const {
  MutexLock lock(mutex_);
  answered_.wait_for(lock, patience, [this]() DROVER_REQUIRES(mutex_) { return answer_.change != 0; });
  return answer_;
}

Result<std::string> Watch::path(const std::stop_token& stop) const {
  if (!question_.is_about_own_node) return question_.path;
  DROVER_TRY(const AgentSelf self, client_->self(stop));
  return question_.path + http_client::encoded(self.name);
}

void Watch::take(const Result<nlohmann::json>& value) {
  const MutexLock lock(mutex_);
  const bool is_same = answer_.change != 0 && answer_.value && *answer_.value == *value;
  if (is_same) return;
  answer_.value = text_template::value_of(*value);
  ++answer_.change;
  answered_.notify_all();
}

// `index`: of the last answer; 0: there is none.
Status Watch::ask(uint64_t& index, const std::stop_token& stop) {
  DROVER_TRY(const std::string full, path(stop));
  const SteadyTime begun = SystemClock().steady();
  auto watched = client_->watch(full, index, token_, stop);
  if (!watched) return watched.status();
  DROVER_TRY(auto value, value_in(question_.form, watched->body, watched->is_there));
  take(std::move(value));
  const bool is_held = question_.form != Form::texts;
  if (!is_held) return (void)pause_for(kPoll, stop), ok_status();
  // An index that goes back means that Consul begins anew; one that stays means that its time was over.
  const bool is_other = watched->index != index;
  index = watched->index < index ? 0 : watched->index;
  if (!is_other) pause_until(begun + kLeastTime, stop);
  return ok_status();
}

void Watch::work(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "consul-watch");
  uint64_t index = 0;
  std::chrono::nanoseconds retry = kFirstRetry;
  while (!stop.stop_requested()) {
    const Status status = ask(index, stop);
    if (status.ok()) {
      retry = kFirstRetry;
      continue;
    }
    if (stop.stop_requested()) return;
    log::warn("consul", "a template's question is not answered",
              {{"question", question_.name}, {"error", status.message()}});
    pause_for(retry, stop);
    retry = std::min<std::chrono::nanoseconds>(retry * 2, kLastRetry);
    index = 0;
  }
}

}  // namespace drover::consul
