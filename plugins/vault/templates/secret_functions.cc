#include "templates/secret_functions.h"

#include <nlohmann/json.hpp>

#include "drover/v1/job.pb.h"
#include "templates/secret_watch.h"

namespace drover::vault {

Result<text_template::Value> SecretFunctions::call(std::string_view name,
                                                   std::span<const text_template::Value> arguments,
                                                   TemplateLooks& looks) {
  DROVER_TRY(const SecretQuestion question, read_question(name, arguments));
  if (!means_->config.is_enabled) {
    return failed_precondition(
        "Vault is not enabled on this node: its agent's configuration needs vault { enabled = true }");
  }
  const HookedTask& task = looks.task();
  const AllocSpecPtr spec = task.spec();
  if (const v1::Task* described = spec->task(task.name()); !described || !described->has_vault())
    return failed_precondition("the task has no block vault, which says with which rights it reads");
  const auto begin = [&]() -> std::shared_ptr<TemplateWatch> {
    const auto vault = means_->vaults.of(task.allocation(), task.name());
    const auto make = [&]() -> std::shared_ptr<TaskVault::Reader> {
      return std::make_shared<SecretWatch>(
          SecretWatch::Means{.host = means_->host, .client = means_->client, .stop = stop_.get_token()}, vault,
          question);
    };
    bool is_new = false;
    auto watch = std::static_pointer_cast<SecretWatch>(vault->reader(question.name(), make, is_new));
    if (is_new) watch->begin();
    return watch;
  };
  const TemplateAnswer answer = looks.at(question.name(), begin);
  if (answer.change == 0) {
    looks.miss(question.name());
  } else if (answer.error.code() == Code::not_found || (answer.error.ok() && answer.value->is_null())) {
    looks.miss(question.name() + ": no secret exists there");
  } else if (!answer.error.ok()) {
    looks.miss(question.name() + ": " + answer.error.message());
  } else {
    return answer.value;
  }
  return text_template::value_of(question.kind == SecretQuestion::Kind::list ? nlohmann::json::array()
                                                                             : nlohmann::json());
}

}  // namespace drover::vault
