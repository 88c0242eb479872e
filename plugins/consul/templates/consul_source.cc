#include "templates/consul_source.h"

#include <nlohmann/json.hpp>

#include "drover/resolved_service.h"
#include "drover/sha256.h"
#include "drover/v1/job.pb.h"

namespace drover::consul {
namespace {

using text_template::Value;

bool is_nothing(const Value& value) {
  return !value || value->is_null() || ((value->is_array() || value->is_object()) && value->empty());
}

// Another token is another question: its answer may be another.
std::string name_of(const Question& question, const std::string& name_space, const std::string& token) {
  return question.path + (name_space.empty() ? "" : " in " + name_space) +
         (token.empty() ? "" : " by " + to_hex(sha256(token).substr(0, 8)));
}

// Empty: the agent's.
std::string namespace_of(const HookedTask& task) {
  const AllocSpecPtr spec = task.spec();
  const v1::Task* described = spec->task(task.name());
  return described ? consul_namespace(*spec->group, *described) : std::string();
}

}  // namespace

void ConsulSource::start(std::shared_ptr<const ConsulClient> client, TokenOf token_of) {
  client_ = std::move(client);
  token_of_ = std::move(token_of);
}

void ConsulSource::stop() {
  std::map<WatchName, std::weak_ptr<Watch>> all;
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
    all.swap(watches_);
  }
  for (const auto& [key, known] : all) {
    if (const auto watch = known.lock()) watch->end();
  }
}

std::vector<std::string> ConsulSource::functions() const { return {function_names().begin(), function_names().end()}; }

std::shared_ptr<TemplateWatch> ConsulSource::watch(const Question& question, const std::string& name_space,
                                                   const std::string& token) {
  const MutexLock lock(mutex_);
  std::weak_ptr<Watch>& known = watches_[{question.path, name_space, token}];
  if (auto there = known.lock()) return there;
  auto made = std::make_shared<Watch>(std::make_shared<const ConsulClient>(client_->in(name_space)), question, token);
  if (is_stopped_) made->end();
  known = made;
  std::erase_if(watches_, [](const auto& row) { return row.second.expired(); });
  return made;
}

Result<Value> ConsulSource::call(std::string_view name, std::span<const Value> arguments, TemplateLooks& looks) {
  DROVER_TRY(const Question question, question_of(name, arguments));
  if (!client_) return failed_precondition("needs Consul: the agent's configuration has no block \"consul\"");
  if (question.path.empty()) return question.otherwise;
  const std::string token = token_of_(looks.task());
  const std::string name_space = namespace_of(looks.task());
  const TemplateAnswer answer =
      looks.at(name_of(question, name_space, token), [&] { return watch(question, name_space, token); });
  if (!answer.error.ok()) return answer.error;
  const bool is_there = answer.change != 0 && answer.value && !answer.value->is_null();
  Value value = question.otherwise;
  if (is_there) value = question.pick ? text_template::value_of(question.pick(*answer.value)) : answer.value;
  if (answer.change == 0 || (question.waits && (!is_there || is_nothing(value)))) looks.miss(question.name);
  return value;
}

}  // namespace drover::consul
