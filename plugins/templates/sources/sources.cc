#include "sources/sources.h"

#include "drover/keys.h"

namespace drover::templates {

Status Sources::start(const Host& host) {
  for (const std::string& name : host.extensions<TemplateSource>()) {
    auto* source = host.extension<TemplateSource>(name);
    for (std::string& function : source->functions()) {
      const auto [known, is_new] = functions_.try_emplace(std::move(function), Found{.name = name, .source = source});
      if (!is_new)
        return failed_precondition("the templates' function " + known->first + " is brought by " + known->second.name +
                                   " and by " + name + "; one of these plugins must go");
    }
  }
  return ok_status();
}

const Sources::Found* Sources::find(std::string_view function) const {
  const auto found = functions_.find(function);
  return found == functions_.end() ? nullptr : &found->second;
}

TemplateAnswer SourceLooks::at(const std::string& name,
                               const std::function<std::shared_ptr<TemplateWatch>()>& begin) {
  return reads_.at(KeyBuilder().text("source").text(source_).text(name).take(), begin);
}

}  // namespace drover::templates
