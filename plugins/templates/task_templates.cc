#include "task_templates.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "drover/v1/task.pb.h"
#include "env_file.h"
#include "job_functions.h"

namespace drover::templates {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(500);  // before a task starts; it is tried again

// For the parser, which only asks for names.
class Names final : public text_template::Functions {
 public:
  explicit Names(const Sources* sources) : sources_(sources) {}
  bool has(std::string_view name) const override { return is_job_function(name, sources_); }
  Result<Value> call(std::string_view, Arguments) override { return unimplemented("only names"); }

 private:
  const Sources* sources_;
};

Wait wait_for(const v1::Template& block, const Config& config) {
  Wait wait = config.wait;
  if (block.has_wait()) {
    wait.min = std::chrono::nanoseconds(block.wait().min());
    wait.max = std::max(wait.min, std::chrono::nanoseconds(block.wait().max()));
    if (!block.wait().has_max()) wait.max = wait.min * 4;
  }
  if (!config.bounds) return wait;
  return {.min = std::clamp(wait.min, config.bounds->min, config.bounds->max),
          .max = std::clamp(wait.max, config.bounds->min, config.bounds->max)};
}

Result<TaskFiles::Ownership> owner_of(const v1::Template& block) {
  TaskFiles::Ownership owner;
  if (!block.perms().empty()) {
    if (block.perms().find_first_not_of("01234567") != std::string::npos || block.perms().size() > 5) {
      return invalid_argument("Failed to parse \"" + block.perms() + "\" as octal");
    }
    owner.mode = static_cast<mode_t>(std::stoul(block.perms(), nullptr, 8)) & 07777;
  }
  if (block.has_uid() && block.uid() >= 0) owner.user = static_cast<uid_t>(block.uid());
  if (block.has_gid() && block.gid() >= 0) owner.group = static_cast<gid_t>(block.gid());
  return owner;
}

}  // namespace

Result<TaskTemplates::Entry> TaskTemplates::entry_of(const v1::Template& block, const Setup& setup) {
  const auto resolved = [&](const std::string& path) { return interpolate(path, setup.environment, setup.node); };
  std::string text = block.embedded_tmpl();
  std::string source = "(dynamic)";
  if (!block.source_path().empty()) {
    source = resolved(block.source_path());
    DROVER_TRY(text, setup.files.read(source).with_context("source"));
  }
  const Names names(setup.sources);
  text_template::Syntax syntax{.functions = &names};
  if (!block.left_delim().empty()) syntax.left = block.left_delim();
  if (!block.right_delim().empty()) syntax.right = block.right_delim();
  DROVER_TRY(text_template::Template form, text_template::Template::parse(text, syntax).with_context(source));
  DROVER_TRY(const TaskFiles::Ownership owner, owner_of(block));
  return Entry{.block = std::make_shared<const v1::Template>(block),
               .source = std::move(source),
               .destination = resolved(block.dest_path()),
               .form = std::move(form),
               .owner = owner,
               .wait = wait_for(block, setup.config),
               .text = std::nullopt};
}

Result<TaskTemplates> TaskTemplates::make(const Setup& setup) {
  TaskTemplates templates(setup);
  for (const v1::Template& block : setup.task.templates()) {
    DROVER_TRY(Entry entry, entry_of(block, setup));
    templates.entries_.push_back(std::move(entry));
  }
  return templates;
}

Status TaskTemplates::render_one(Entry& entry, int64_t now_ns, std::chrono::nanoseconds patience, Pass& pass) {
  std::map<std::string, std::optional<TaskFiles::Mark>> files;
  const World world{.environment = environment_,
                    .node = node_,
                    .now_ns = now_ns,
                    .read_file =
                        [&](const std::string& path) {
                          files[path] = task_files_.mark(path);  // before: a change meanwhile is seen the next time
                          return task_files_.read(path);
                        },
                    .watch = watch_,
                    .reader = reader_,
                    .region = region_,
                    .patience = patience,
                    .task = hooked_,
                    .sources = sources_,
                    .held = &entry.reads};
  JobFunctions functions(world, denied_);
  auto text =
      entry.form.run(nullptr, {.functions = &functions, .missing_key_is_error = entry.block->err_missing_key()});
  if (!text) return text.status().with_context(entry.source);
  entry.reads = functions.reads();
  entry.files = std::move(files);
  entry.quiescence.acted();
  std::set<std::string> missing = functions.missing();
  const bool is_whole = missing.empty();
  pass.missing.merge(missing);
  if (!is_whole) return ok_status();
  DROVER_TRY(const bool is_new, task_files_.write(entry.destination, *text, entry.owner).with_context("destination"));
  if (is_new) pass.changed.push_back(entry.block.get());
  entry.text = *std::move(text);
  if (entry.block->once()) {  // nobody looks at them any more
    entry.files.clear();
    entry.reads.clear();
  }
  return ok_status();
}

Result<TaskTemplates::Pass> TaskTemplates::render(int64_t now_ns) {
  Pass pass;
  for (Entry& entry : entries_) DROVER_RETURN_IF_ERROR(render_one(entry, now_ns, kPatience, pass));
  return pass;
}

Result<TaskTemplates::Pass> TaskTemplates::render_due(SteadyTime now, int64_t now_ns) {
  Pass pass;
  for (Entry& entry : entries_) {
    if (entry.block->once() && entry.text) continue;
    for (auto& [path, mark] : entry.files) {
      const auto found = task_files_.mark(path);
      if (found == mark) continue;
      mark = found;
      entry.quiescence.changed(now);
    }
    for (auto& [name, used] : entry.reads) {
      const uint64_t change = used.use->now().change;
      if (change != used.change) entry.quiescence.changed(now);
      used.change = change;
    }
    if (const auto due = entry.quiescence.due(entry.wait); due && *due <= now) {
      DROVER_RETURN_IF_ERROR(render_one(entry, now_ns, {}, pass));
    }
  }
  return pass;
}

Result<Variables> TaskTemplates::environment() const {
  Variables all;
  for (const Entry& entry : entries_) {
    if (!entry.block->envvars() || !entry.text) continue;
    auto own = parse_env_file(*entry.text);
    if (!own) return own.status().with_context("error parsing env template \"" + entry.destination + "\"");
    for (auto& [name, value] : *own) all.insert_or_assign(name, std::move(value));
  }
  return all;
}

bool TaskTemplates::is_watched() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) {
    return !entry.files.empty() || !entry.reads.empty();
  });
}

}  // namespace drover::templates
