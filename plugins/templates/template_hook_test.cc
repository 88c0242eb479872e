// The hook's part in one task that lives in the test's memory.
#include "template_hook.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "drover/api/services.pb.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "sdk/testing/fake_host.h"
#include "watch/fake_node.h"

namespace drover::templates {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class NoState final : public HookState {
 public:
  std::optional<std::string> get(std::string_view) const override { return std::nullopt; }
  Status put(std::string_view, std::string) override { return ok_status(); }
};

// Records what the hook asks of its task.
class FakeTask final : public HookedTask {
 public:
  FakeTask(std::string folder, AllocSpecPtr spec) : folder_(std::move(folder)), spec_(std::move(spec)) {
    fs::create_directories(tasks_.local);
    fs::create_directories(alloc_.shared);
  }
  Uuid allocation() const override { return Uuid(); }
  const std::string& name() const override { return name_; }
  AllocSpecPtr spec() const override { return spec_; }
  const AllocFolders& alloc_folders() const override { return alloc_; }
  const TaskFolders& folders() const override { return tasks_; }
  v1::NetworkStatus network_status() const override { return {}; }
  driver::NetworkOverride driver_network() const override { return {}; }
  void tell(v1::TaskEvent event) override { add(event.type() + ": " + event.display_message()); }
  Status restart(std::string reason) override { return add("restart: " + reason), ok_status(); }
  Status signal(const std::string& name) override { return add("signal " + name), signal_status; }
  Status exec(std::vector<std::string> command, bool, ExecStream& caller) const override {
    std::string text = "exec";
    for (const std::string& word : command) text += " " + word;
    add(text);
    driver::ExecTaskStreamingResponse end;
    end.set_exited(true);
    end.mutable_result()->set_exit_code(exit_code);
    (void)caller.send(end);
    return ok_status();
  }
  void fail(v1::TaskEvent event) override { add("fail: " + event.display_message()); }

  // The next thing that was asked; empty after a while.
  std::string next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, 20s, [&] { return !calls_.empty(); })) return {};
    std::string call = calls_.front();
    calls_.erase(calls_.begin());
    return call;
  }
  bool is_quiet() const {
    const std::lock_guard lock(mutex_);
    return calls_.empty();
  }

  Status signal_status;
  int exit_code = 0;

 private:
  void add(std::string call) const {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
    changed_.notify_all();
  }
  const std::string folder_, name_ = "web";
  const AllocFolders alloc_{.root = folder_, .shared = folder_ + "/alloc", .logs = folder_ + "/alloc/logs"};
  const TaskFolders tasks_{
      .root = folder_ + "/web", .local = folder_ + "/web/local", .secrets = folder_ + "/web/secrets"};
  const AllocSpecPtr spec_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::vector<std::string> calls_;
};

class HookTest : public ::testing::Test {
 protected:
  ~HookTest() override {
    part_.reset();
    hook_.stop();
    fs::remove_all(folder_);
  }

  v1::Template& add(const std::string& text, const std::string& destination, const std::string& mode = "restart") {
    v1::Template& block = *task_block_.add_templates();
    block.set_embedded_tmpl(text);
    block.set_dest_path(destination);
    block.set_change_mode(mode);
    return block;
  }
  void attach() {
    v1::Job job;
    v1::TaskGroup& group = *job.add_task_groups();
    group.set_name("front");
    task_block_.set_name("web");
    *group.add_tasks() = task_block_;
    v1::Allocation allocation;
    allocation.set_task_group("front");
    task_.emplace(folder_, std::make_shared<AllocSpec>(allocation, std::make_shared<v1::Job>(job)));
    hook_.start(host_, {.wait = {0s, 0s}, .bounds = std::nullopt});
    part_ = hook_.attach(*task_, state_);
  }
  Status prestart(bool recovered = false) {
    const driver::DriverCapabilities capabilities;
    adds_.Clear();
    TaskPrestart start{.capabilities = capabilities,
                       .environment = environment_,
                       .node = node_,
                       .recovered = recovered,
                       .stop = stop_.get_token(),
                       .adds = adds_};
    return part_->prestart(start);
  }
  void put(const std::string& below, const std::string& text) {
    std::ofstream(folder_ + "/web/local/" + below + ".new") << text;
    fs::rename(folder_ + "/web/local/" + below + ".new", folder_ + "/web/local/" + below);
  }
  std::string content(const std::string& below) const {
    std::ifstream file(folder_ + "/web/local/" + below);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string folder_ = fs::path(::testing::TempDir()) / ("templates." + std::to_string(::getpid()));
  const Variables environment_ = {{"NOMAD_TASK_DIR", "/local"}, {"PORT", "8080"}}, node_;
  drover::testing::FakeHost host_;
  NoState state_;
  v1::Task task_block_;
  std::optional<FakeTask> task_;
  TemplateHook hook_{5ms};
  std::unique_ptr<TaskHook::Part> part_;
  driver::TaskConfig adds_;
  std::stop_source stop_;
};

TEST_F(HookTest, HasNoPartInATaskWithoutTemplates) {
  attach();
  EXPECT_EQ(part_, nullptr);
}

TEST_F(HookTest, WritesFilesAndVariablesBeforeTheStart) {
  add("port = {{ env \"PORT\" }}\n", "local/app.conf");
  add("A=1\nB={{ env \"PORT\" }}", "secrets/env").set_envvars(true);
  add("A=2", "${NOMAD_TASK_DIR}/more.env").set_envvars(true);
  attach();
  ASSERT_EQ(prestart(), ok_status());
  EXPECT_EQ(content("app.conf"), "port = 8080\n");
  EXPECT_EQ(content("more.env"), "A=2");
  EXPECT_EQ(adds_.env().at("A"), "2");
  EXPECT_EQ(adds_.env().at("B"), "8080");
  EXPECT_TRUE(task_->is_quiet());
}

TEST_F(HookTest, AWrongTemplateSaysWhere) {
  add("{{ nope }}", "local/a");
  attach();
  EXPECT_EQ(prestart().message(), "(dynamic): template 1:4: there is no function nope");
}

TEST_F(HookTest, AWrongEnvFileSaysWhere) {
  add("A", "local/a").set_envvars(true);
  attach();
  EXPECT_EQ(prestart().message(),
            "Template failed to read environment variables: error parsing env template \"local/a\": error on line 1: "
            "missing =");
}

TEST_F(HookTest, WaitsForAFileThatIsMissing) {
  add("[{{ file \"local/late\" }}]", "local/a");
  attach();
  std::thread writer([&] { put("late", "here"); });
  EXPECT_EQ(prestart(), ok_status());
  writer.join();
  EXPECT_EQ(content("a"), "[here]");
}

TEST_F(HookTest, AStopEndsTheWait) {
  add("{{ file \"local/never\" }}", "local/a");
  attach();
  stop_.request_stop();
  EXPECT_EQ(prestart().code(), Code::cancelled);
}

TEST_F(HookTest, RestartsTheTaskWhenAFileChanges) {
  add("{{ file \"local/in\" }}", "local/out");
  attach();
  put("in", "one");
  ASSERT_EQ(prestart(), ok_status());
  ASSERT_EQ(part_->poststart(), ok_status());
  EXPECT_EQ(content("out"), "one");
  put("in", "two");
  EXPECT_EQ(task_->next(), "restart: Template with change_mode restart re-rendered");
  EXPECT_EQ(content("out"), "two");
}

TEST_F(HookTest, SignalsAndRunsScripts) {
  add("{{ file \"local/in\" }}", "local/out", "signal").set_change_signal("SIGHUP");
  v1::Template& script = add("{{ file \"local/in\" }}", "local/other", "script");
  script.mutable_change_script()->set_command("/bin/reload");
  script.mutable_change_script()->add_args("now");
  attach();
  put("in", "one");
  ASSERT_EQ(prestart(), ok_status());
  ASSERT_EQ(part_->poststart(), ok_status());
  put("in", "two");
  EXPECT_EQ(task_->next(), "signal SIGHUP");
  EXPECT_EQ(task_->next(), "exec /bin/reload now");
  EXPECT_EQ(task_->next(),
            "Task hook message: Template successfully ran script /bin/reload with arguments [now]. Exit code: 0");
}

TEST_F(HookTest, AScriptThatFailsMayEndTheTask) {
  v1::Template& script = add("{{ file \"local/in\" }}", "local/out", "script");
  script.mutable_change_script()->set_command("check");
  script.mutable_change_script()->set_fail_on_error(true);
  attach();
  task_->exit_code = 3;
  put("in", "one");
  ASSERT_EQ(prestart(), ok_status());
  ASSERT_EQ(part_->poststart(), ok_status());
  put("in", "two");
  EXPECT_EQ(task_->next(), "exec check");
  EXPECT_EQ(task_->next(),
            "Task hook failed: Template ran script check with arguments [] on change but it exited with code: 3");
  EXPECT_EQ(task_->next(), "fail: Template script failed, task is being killed");
}

TEST_F(HookTest, ASignalThatCannotBeSentEndsTheTask) {
  add("{{ file \"local/in\" }}", "local/out", "signal").set_change_signal("SIGHUP");
  attach();
  task_->signal_status = unavailable("the driver is gone");
  put("in", "one");
  ASSERT_EQ(prestart(), ok_status());
  ASSERT_EQ(part_->poststart(), ok_status());
  put("in", "two");
  EXPECT_EQ(task_->next(), "signal SIGHUP");
  EXPECT_EQ(task_->next(), "fail: Template failed to send signals [SIGHUP]: the driver is gone");
}

TEST_F(HookTest, ATaskThatRunsOnHearsOfWhatChangedMeanwhile) {
  add("{{ env \"PORT\" }}", "local/out");
  attach();
  put("out", "old");
  ASSERT_EQ(prestart(/*recovered=*/true), ok_status());
  ASSERT_EQ(part_->poststart(), ok_status());
  EXPECT_EQ(task_->next(), "restart: Template with change_mode restart re-rendered");
}

TEST_F(HookTest, NothingIsDoneOnceTheTaskStops) {
  add("{{ file \"local/in\" }}", "local/out");
  attach();
  put("in", "one");
  ASSERT_EQ(prestart(), ok_status());
  ASSERT_EQ(part_->poststart(), ok_status());
  ASSERT_EQ(part_->stop(), ok_status());
  host_.delay_tasks();
  put("in", "two");
  EXPECT_EQ(content("out"), "one");
  EXPECT_TRUE(task_->is_quiet());
}

TEST_F(HookTest, OnceMeansOnce) {
  add("{{ file \"local/in\" }}", "local/once").set_once(true);
  add("{{ file \"local/in\" }}", "local/out", "signal").set_change_signal("SIGHUP");
  attach();
  put("in", "one");
  ASSERT_EQ(prestart(), ok_status());
  ASSERT_EQ(part_->poststart(), ok_status());
  put("in", "two");
  EXPECT_EQ(task_->next(), "signal SIGHUP");
  EXPECT_EQ(content("once"), "one");
}

TEST_F(HookTest, TheServersAreAskedOnceForATemplateThatIsWrittenOnce) {
  FakeNode node;
  ASSERT_TRUE(host_.rows().extend<NodeCalls>("agent", node).ok());
  host_.delay_tasks();
  std::stop_token read;
  host_.answer_calls_with([&](const CallContext& context, const std::string&) -> Result<std::string> {
    read = context.stop;
    v1::ListServicesResponse answer;
    answer.add_namespaces()->add_services()->set_service_name("api");
    return serialize(answer);
  });
  add("{{ range nomadServices }}{{ .Name }}{{ end }}", "local/once").set_once(true);
  attach();
  ASSERT_EQ(prestart(), ok_status());
  EXPECT_EQ(content("once"), "api");
  EXPECT_TRUE(read.stop_requested());
}

TEST_F(HookTest, ScriptsThatWantItRunAfterTheFirstStart) {
  v1::ChangeScript& script = *add("x", "local/out", "script").mutable_change_script();
  script.set_command("init");
  script.set_run_on_first_render(true);
  attach();
  ASSERT_EQ(prestart(), ok_status());
  ASSERT_EQ(part_->poststart(), ok_status());
  EXPECT_EQ(task_->next(), "exec init");
  EXPECT_EQ(task_->next().substr(0, 17), "Task hook message");
  ASSERT_EQ(prestart(), ok_status());
  ASSERT_EQ(part_->poststart(), ok_status());
  EXPECT_TRUE(task_->is_quiet());
}

}  // namespace
}  // namespace drover::templates
