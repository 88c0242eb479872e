#include "templates/watch.h"

#include <pthread.h>

#include <nlohmann/json.hpp>

#include "drover/log.h"
#include "drover/pause.h"

namespace drover::consul {
namespace {

constexpr auto kLeastTime = std::chrono::seconds(1);  // of a round in which nothing changed

bool is_same_value(const TemplateAnswer& known, const TemplateAnswer& answer) {
  return known.value && *known.value == *answer.value;
}

}  // namespace

Watch::Watch(std::shared_ptr<const ConsulClient> client, Question question, std::string token)
    : client_(std::move(client)), question_(std::move(question)), token_(std::move(token)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

Watch::~Watch() {
  thread_.request_stop();
  thread_.join();
}

Result<std::string> Watch::path(const std::stop_token& stop) const {
  if (!question_.is_about_own_node) return question_.path;
  DROVER_TRY(const AgentSelf self, client_->self(stop));
  return question_.path + http_client::encoded(self.name);
}

Status Watch::ask(NextQuestion& next, const std::stop_token& stop) {
  DROVER_TRY(const std::string full, path(stop));
  const SteadyTime begun = SystemClock().steady();
  auto watched = client_->watch(full, next.index(), token_, stop);
  if (!watched) return watched.status();
  DROVER_TRY(auto value, value_in(question_.form, watched->body, watched->is_there));
  answer_.take({.value = text_template::value_of(std::move(value))}, is_same_value);
  const bool is_other = next.answered(watched->index);
  const bool is_held = question_.form != Form::texts;
  if (!is_held) {
    next.begin_anew();
    pause_for(kPoll, stop);
  } else if (!is_other) {  // the time of the question was over
    pause_until(begun + kLeastTime, stop);
  }
  return ok_status();
}

void Watch::work(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "consul-watch");
  NextQuestion next(kLongestPause);
  while (!stop.stop_requested()) {
    const Status status = ask(next, stop);
    if (status.ok()) continue;
    if (stop.stop_requested()) return;
    log::warn("consul", "a template's question is not answered",
              {{"question", question_.name}, {"error", status.message()}});
    next.begin_anew();
    pause_for(next.failed(), stop);
  }
}

}  // namespace drover::consul
