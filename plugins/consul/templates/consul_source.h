// Functions of templates that ask Consul: key, ls, service and their like. [any]
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "drover/mutex.h"
#include "drover/template_source.h"
#include "templates/watch.h"

namespace drover::consul {

class ConsulSource final : public TemplateSource {
 public:
  // The token of a task for Consul; empty: the agent's counts.
  using TokenOf = std::function<std::string(const HookedTask& task)>;

  // Once, where Consul is configured; without it each call is refused.
  void start(std::shared_ptr<const ConsulClient> client, TokenOf token_of);
  void stop();

  std::vector<std::string> functions() const override;
  Result<text_template::Value> call(std::string_view name, std::span<const text_template::Value> arguments,
                                    TemplateLooks& looks) override;

 private:
  // The client's namespace and the token are whose it is asked for.
  using WatchName = std::tuple<std::string, std::string, std::string>;  // path, namespace, token
  std::shared_ptr<TemplateWatch> watch(const Question& question, const std::string& name_space,
                                       const std::string& token);

  std::shared_ptr<const ConsulClient> client_;  // constant after start
  TokenOf token_of_;
  Mutex mutex_;
  bool is_stopped_ DROVER_GUARDED_BY(mutex_) = false;
  std::map<WatchName, std::weak_ptr<Watch>> watches_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::consul
