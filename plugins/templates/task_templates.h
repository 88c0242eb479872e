// The templates of one task: made out, written, and looked at again when what they read has changed. One thread at a
// time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "changes.h"
#include "config.h"
#include "drover/task_files.h"
#include "drover/text_template.h"
#include "sources/sources.h"
#include "variables/variable_query.h"

namespace drover::v1 {
class Task;
class Template;
}  // namespace drover::v1

namespace drover::templates {

class TaskTemplates {
 public:
  struct Setup {
    const v1::Task& task;
    TaskFiles files;
    Config config;
    Variables environment;          // of the task, without what its templates add
    Variables node;                 // node_variables()
    ServerReads::Watch watch = {};  // how the task reads what the servers know; null: it cannot
    VariableReader reader = {};     // the task
    std::string region = {};        // of this agent
    const HookedTask* hooked = nullptr;  // the same task, for functions of sources; outlives the templates
    const Sources* sources = nullptr;    // null: there are none; outlive the templates
  };
  // Reads the sources, once. Errors: invalid_argument for a template that does not parse or a path that is not the
  // task's; not_found for a source that is not there.
  static Result<TaskTemplates> make(const Setup& setup);

  struct Pass {
    std::vector<const v1::Template*> changed;  // those that have been written anew
    std::set<std::string> missing;             // "file(PATH)", "nomad.service(NAME)" …: templates that are not written
  };
  // All of them. Errors: invalid_argument, with the template's source, for one that cannot be made out; else those of
  // writing.
  Result<Pass> render(int64_t now_ns);
  // Those for which a file or an answer of the servers has changed, and has then stayed as it is for their wait.
  Result<Pass> render_due(SteadyTime now, int64_t now_ns);

  // The variables of the templates with `env`, the later ones win. Errors: invalid_argument with the line.
  Result<Variables> environment() const;
  // Something may change: a template that is not written only once has read a file or asked the servers.
  bool is_watched() const;

 private:
  struct Entry {
    std::shared_ptr<const v1::Template> block;
    std::string source;       // for errors: its path, or "(dynamic)"
    std::string destination;  // with references resolved
    text_template::Template form;
    TaskFiles::Ownership owner;
    Wait wait;
    std::optional<std::string> text;                                // as it was written last
    std::map<std::string, std::optional<TaskFiles::Mark>> files{};  // that it has read, as they were then
    ServerReads::All reads{};                                       // likewise
    Quiescence quiescence{};
  };

  TaskTemplates(const Setup& setup)
      : task_files_(setup.files),
        denied_(setup.config.denied),
        environment_(setup.environment),
        node_(setup.node),
        watch_(setup.watch),
        reader_(setup.reader),
        region_(setup.region),
        hooked_(setup.hooked),
        sources_(setup.sources) {}
  static Result<Entry> entry_of(const v1::Template& block, const Setup& setup);
  // `patience`: how long servers may take to answer for the first time.
  Status render_one(Entry& entry, int64_t now_ns, std::chrono::nanoseconds patience, Pass& pass);

  TaskFiles task_files_;
  std::set<std::string, std::less<>> denied_;
  Variables environment_, node_;
  ServerReads::Watch watch_;
  VariableReader reader_;
  std::string region_;
  const HookedTask* hooked_;
  const Sources* sources_;
  std::vector<Entry> entries_;
};

}  // namespace drover::templates
