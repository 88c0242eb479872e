// The functions of templates that other plugins bring (drover/template_source.h).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "drover/plugin.h"
#include "drover/template_source.h"
#include "watch/server_watch.h"

namespace drover::templates {

// Constant after start. [any]
class Sources {
 public:
  // Errors: failed_precondition when two of them bring a function of one name.
  Status start(const Host& host);

  struct Found {
    std::string name;  // of the source
    TemplateSource* source;
  };
  // Null: no source has a function of that name.
  const Found* find(std::string_view function) const;

 private:
  std::map<std::string, Found, std::less<>> functions_;
};

// One run of one template, as a source sees it.
class SourceLooks final : public TemplateLooks {
 public:
  // All outlive the looks.
  SourceLooks(const std::string& source, const HookedTask& task, const Variables& environment, ServerReads& reads,
              std::set<std::string>& missing)
      : source_(source), task_(task), environment_(environment), reads_(reads), missing_(missing) {}

  const HookedTask& task() const override { return task_; }
  const Variables& environment() const override { return environment_; }
  TemplateAnswer at(const std::string& name,
                    const std::function<std::shared_ptr<TemplateWatch>()>& begin) override;
  void miss(std::string name) override { missing_.insert(std::move(name)); }

 private:
  const std::string& source_;
  const HookedTask& task_;
  const Variables& environment_;
  ServerReads& reads_;
  std::set<std::string>& missing_;
};

}  // namespace drover::templates
