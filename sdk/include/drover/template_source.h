// Functions of templates that ask somebody else: a registry, a store of secrets.
//
// Registered as declare.extend<TemplateSource>(name, source), on node agents. The plugin templates parses a call of one
// of its functions, and carries it out here at each run of the template. What the source does not know yet it begins to
// watch; the template is run again when an answer changes.
//
//   call ──▶ looks.at(key, begin) ──▶ an answer as it is now ──▶ the function's value
//                       └ the first time: begin() ──▶ a TemplateWatch, held while the template uses it
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/task_environment.h"
#include "drover/task_hook.h"
#include "drover/text_template.h"

namespace drover {

// An answer to what a template asks.
struct TemplateAnswer {
  uint64_t change = 0;           // grows when what follows changes; 0: nobody has answered yet
  text_template::Value value{};  // null: it answers that there is none
  Status error{};                // it refuses; nothing else is set then
};

// A template's hold on an answer that is kept up to date. Its end is the end of the template's interest. [any]
class TemplateWatch {
 public:
  virtual ~TemplateWatch() = default;
  virtual TemplateAnswer now() const = 0;
  // Waits for the first answer, at most so long.
  virtual TemplateAnswer wait(std::chrono::nanoseconds patience) const = 0;
};

// One run of one template. One thread.
class TemplateLooks {
 public:
  virtual ~TemplateLooks() = default;
  virtual const HookedTask& task() const = 0;          // that the template is of
  virtual const Variables& environment() const = 0;    // of the task
  // What the answer of that name is now. `begin` makes the watch where this template has none of that name yet; names
  // are the source's own. A first answer is waited for as long as the run may wait.
  virtual TemplateAnswer at(const std::string& name,
                            const std::function<std::shared_ptr<TemplateWatch>()>& begin) = 0;
  // The template is not written before what is named is there, "kv.block(PATH)": for people to see.
  virtual void miss(std::string name) = 0;
};

class TemplateSource {
 public:
  static constexpr std::string_view kExtensionPoint = "template_source";
  virtual ~TemplateSource() = default;

  // The names of its functions, which no other source has. Constant.
  virtual std::vector<std::string> functions() const = 0;
  // Requires: `name` is one of functions(). Errors: as those of text_template::Functions; they fail the task.
  virtual Result<text_template::Value> call(std::string_view name, std::span<const text_template::Value> arguments,
                                            TemplateLooks& looks) = 0;
};

}  // namespace drover
