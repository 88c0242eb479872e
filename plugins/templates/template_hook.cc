#include "template_hook.h"

#include <algorithm>
#include <random>
#include <vector>

#include "drover/log.h"
#include "drover/mutex.h"
#include "drover/pause.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "task_templates.h"

namespace drover::templates {
namespace {

constexpr auto kLookAgain = std::chrono::seconds(1);   // for what is missing
constexpr auto kTellAfter = std::chrono::seconds(3);   // that something is missing
constexpr auto kScriptTime = std::chrono::seconds(5);  // for a script that says no timeout
constexpr size_t kNamesShown = 3;

std::string missing_text(const std::set<std::string>& names) {
  std::string text = "Missing: ";
  size_t shown = 0;
  for (const std::string& name : names) {
    if (shown == kNamesShown) return text + ", and " + std::to_string(names.size() - shown) + " more";
    text += (shown++ > 0 ? ", " : "") + name;
  }
  return text;
}

// A script's side of an exec: nothing to say, and only the end to hear.
class ScriptRun final : public ExecStream {
 public:
  explicit ScriptRun(std::chrono::nanoseconds time)
      : timer_([this, time](const std::stop_token& done) {
          if (pause_for(time, done)) over_.request_stop();
        }) {}

  std::optional<driver::ExecTaskStreamingRequest> receive(std::stop_token) override { return std::nullopt; }
  bool send(const driver::ExecTaskStreamingResponse& response) override {
    if (response.exited()) exit_code_ = response.result().exit_code();
    return !over_.stop_requested();
  }
  std::stop_token stop() const override { return over_.get_token(); }

  std::optional<int> exit_code() const { return exit_code_; }
  bool is_late() const { return over_.stop_requested(); }

 private:
  std::stop_source over_;
  std::optional<int> exit_code_;
  std::jthread timer_;
};

class TemplatesPart final : public TaskHook::Part, public Watched {
 public:
  TemplatesPart(Host& host, const Config& config, Watcher& watcher, ServerWatches& servers, const Sources& sources,
                HookedTask& task)
      : host_(host),
        config_(config),
        watcher_(watcher),
        servers_(servers),
        sources_(sources),
        task_(task),
        doing_(std::make_shared<Doing>()) {
    doing_->part = this;
  }
  ~TemplatesPart() override { end(); }

  Status prestart(TaskPrestart& start) override {
    DROVER_RETURN_IF_ERROR(make(start));
    has_started_ = has_started_ || start.recovered;
    DROVER_RETURN_IF_ERROR(start.recovered ? look_once() : render_all(start.stop));
    Result<Variables> variables = read_environment();
    if (!variables) return variables.status().with_context("Template failed to read environment variables");
    start.adds.mutable_env()->insert(variables->begin(), variables->end());
    return ok_status();
  }

  Status poststart() override {
    act_later();  // on what has changed while no agent looked
    run_first_scripts();
    if (is_watched()) watcher_.add(*this);
    return ok_status();
  }

  Status stop() override { return end(), ok_status(); }
  void shutdown() override { end(); }

  void look() override {
    const Result<bool> is_news = look_for_changes();
    if (!is_news) return fail("Template failed: " + is_news.status().message());
    if (*is_news) act_later();
  }

 private:
  // What later calls hold of the part: they may come when it is gone.
  struct Doing {
    Mutex mutex;  // held while the part acts
    TemplatesPart* part DROVER_GUARDED_BY(mutex) = nullptr;
  };

  bool is_watched() {
    const MutexLock lock(mutex_);
    return templates_ && templates_->is_watched();
  }
  int64_t now() const { return host_.clock().wall_ns(); }

  Status make(const TaskPrestart& start) {
    const MutexLock lock(mutex_);
    if (templates_) return ok_status();
    const AllocSpecPtr spec = task_.spec();
    const TaskFileFolders folders = task_file_folders(task_.alloc_folders(), task_.folders(), start.environment);
    DROVER_TRY(TaskTemplates made, TaskTemplates::make({.task = *spec->task(task_.name()),
                                                        .files = TaskFiles(folders, config_.is_sandboxed),
                                                        .config = config_,
                                                        .environment = start.environment,
                                                        .node = start.node,
                                                        .watch = watch(),
                                                        .reader = reader_of(*spec),
                                                        .region = host_.agent().region,
                                                        .hooked = &task_,
                                                        .sources = &sources_}));
    templates_.emplace(std::move(made));
    return ok_status();
  }

  ServerReads::Watch watch() {
    return [&all = servers_, allocation = task_.allocation()](const ServerQuestion& question) {
      return all.use(allocation, question);
    };
  }
  // Children of periodic and dispatched jobs are who they are: the servers know their parent.
  VariableReader reader_of(const AllocSpec& spec) const {
    return {.name_space = spec.allocation->namespace_(),
            .job = spec.allocation->job_id(),
            .group = spec.allocation->task_group(),
            .task = task_.name()};
  }

  // Waits until every template has been written once.
  Status render_all(const std::stop_token& stop) {
    const SteadyTime tell_at = host_.clock().steady() + kTellAfter;
    std::set<std::string> told;
    while (true) {
      std::set<std::string> missing;
      {
        const MutexLock lock(mutex_);
        changed_.clear();  // the task starts with the newest
        DROVER_TRY(TaskTemplates::Pass pass, templates_->render(now()));
        missing = std::move(pass.missing);
      }
      if (missing.empty()) return ok_status();
      if (host_.clock().steady() >= tell_at && missing != told) {
        task_.tell(task_event(now(), "Template", missing_text(missing)));
        told = std::move(missing);
      }
      if (!pause_for(kLookAgain, stop)) return cancelled("the task is to end");
    }
  }

  // The task runs already: what came out otherwise is acted on in poststart.
  Status look_once() {
    const MutexLock lock(mutex_);
    DROVER_TRY(const TaskTemplates::Pass pass, templates_->render(now()));
    changed_.insert(changed_.end(), pass.changed.begin(), pass.changed.end());
    return ok_status();
  }

  Result<Variables> read_environment() {
    const MutexLock lock(mutex_);
    return templates_->environment();
  }

  // True when something is to be acted on that was not before.
  Result<bool> look_for_changes() {
    const MutexLock lock(mutex_);
    DROVER_TRY(const TaskTemplates::Pass pass, templates_->render_due(host_.clock().steady(), now()));
    const bool acts_already = !changed_.empty();
    changed_.insert(changed_.end(), pass.changed.begin(), pass.changed.end());
    return !acts_already && !changed_.empty();
  }

  // At a moment that the splay spreads; what changes until then is acted on with it.
  void act_later() {
    std::chrono::nanoseconds splay{};
    {
      const MutexLock lock(mutex_);
      if (changed_.empty()) return;
      splay = actions_for(changed_).splay;
    }
    thread_local std::mt19937_64 random{std::random_device{}()};
    const auto most = static_cast<uint64_t>(splay.count());
    const std::chrono::nanoseconds delay(most == 0 ? 0 : static_cast<int64_t>(random() % most));
    host_.post_after(delay, [doing = doing_] {
      const MutexLock lock(doing->mutex);
      if (doing->part) doing->part->act();
    });
  }

  // [a thread that may wait]
  void act() {
    Actions actions;
    std::vector<v1::ChangeScript> scripts;
    {
      const MutexLock lock(mutex_);
      actions = actions_for(std::exchange(changed_, {}));
      for (const v1::ChangeScript* script : actions.scripts) scripts.push_back(*script);
    }
    if (actions.restart) {
      (void)task_.restart("Template with change_mode restart re-rendered");  // one that does not run starts with it
      return;
    }
    for (const std::string& name : actions.signals) send(name);
    for (const v1::ChangeScript& script : scripts) run(script);
  }

  void send(const std::string& name) {
    const Status status = task_.signal(name);
    if (status.ok() || status.code() == Code::failed_precondition) return;
    fail("Template failed to send signals [" + name + "]: " + status.message());
  }

  void run(const v1::ChangeScript& script) {
    std::vector<std::string> command{script.command()};
    command.insert(command.end(), script.args().begin(), script.args().end());
    std::string arguments;
    for (const std::string& one : script.args()) arguments += (arguments.empty() ? "" : " ") + one;
    const std::string what = "script " + script.command() + " with arguments [" + arguments + "]";
    ScriptRun call(script.timeout() > 0 ? std::chrono::nanoseconds(script.timeout()) : kScriptTime);
    const Status status = task_.exec(std::move(command), /*tty=*/false, call);
    const auto code = call.exit_code();
    if (status.ok() && code == 0) {
      return task_.tell(task_event(now(), "Task hook message", "Template successfully ran " + what + ". Exit code: 0"));
    }
    std::string text;
    if (status.code() == Code::unimplemented) {
      text = "Template failed to run " + what + " because task driver doesn't support the exec operation";
    } else if (call.is_late()) {
      text = "Template failed to run " + what + " on change: it took longer than its timeout";
    } else if (!status.ok() || !code) {
      text = "Template failed to run " + what + " on change: " + status.message();
    } else {
      text = "Template ran " + what + " on change but it exited with code: " + std::to_string(*code);
    }
    task_.tell(task_event(now(), "Task hook failed", text));
    if (script.fail_on_error()) fail("Template script failed, task is being killed");
  }

  // Those that also run when the task has just started.
  void run_first_scripts() {
    if (std::exchange(has_started_, true)) return;
    for (const v1::Template& block : task_.spec()->task(task_.name())->templates()) {
      if (block.change_mode() != "script" || !block.change_script().run_on_first_render()) continue;
      host_.post([doing = doing_, script = block.change_script()] {
        const MutexLock acting(doing->mutex);
        if (doing->part) doing->part->run(script);
      });
    }
  }

  void fail(const std::string& why) {
    v1::TaskEvent event = task_event(now(), "Killing", why);
    event.set_kill_reason(why);
    event.set_fails_task(true);
    (*event.mutable_details())["kill_reason"] = why;
    (*event.mutable_details())["fails_task"] = "true";
    task_.fail(std::move(event));
  }

  // Nothing is looked at or done any more, and nobody is asked for its sake.
  void end() {
    watcher_.remove(*this);
    {
      const MutexLock lock(doing_->mutex);
      doing_->part = nullptr;
    }
    const MutexLock lock(mutex_);
    changed_.clear();
    templates_.reset();
  }

  Host& host_;
  const Config& config_;
  Watcher& watcher_;
  ServerWatches& servers_;
  const Sources& sources_;
  HookedTask& task_;
  const std::shared_ptr<Doing> doing_;
  bool has_started_ = false;
  Mutex mutex_;
  std::optional<TaskTemplates> templates_ DROVER_GUARDED_BY(mutex_);  // from the first prestart on
  // Written anew and not acted on; of templates_.
  std::vector<const v1::Template*> changed_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<TaskHook::Part> TemplateHook::attach(HookedTask& task, HookState&) {
  if (task.spec()->task(task.name())->templates_size() == 0) return nullptr;
  return std::make_unique<TemplatesPart>(*host_, config_, watcher_, servers_, sources_, task);
}

}  // namespace drover::templates
