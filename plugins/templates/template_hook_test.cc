// The hook's part in one task that lives in the test's memory.
#include "template_hook.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "drover/api/services.pb.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "sdk/testing/fake_hooks.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/fake_node.h"

namespace drover::templates {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// Answers with what a test has put, and counts who holds an answer.
class FakeSource final : public TemplateSource {
 public:
  std::vector<std::string> functions() const override { return {"kept"}; }
  Result<text_template::Value> call(std::string_view, std::span<const text_template::Value> arguments,
                                    TemplateLooks& looks) override {
    const auto key = arguments[0]->get<std::string>();
    const TemplateAnswer answer = looks.at(key, [&] { return std::make_shared<Watch>(*this); });
    if (!answer.error.ok()) return answer.error;
    if (!answer.value) looks.miss("kept(" + looks.task().name() + "/" + key + ")");
    return answer.value ? answer.value : text_template::value_of("");
  }

  void put(const std::string& text) {
    const MutexLock lock(mutex_);
    answer_ = {.change = answer_.change + 1, .value = text_template::value_of(text)};
  }
  void refuse(Status why) {
    const MutexLock lock(mutex_);
    answer_ = {.change = answer_.change + 1, .error = std::move(why)};
  }
  std::atomic<int> begun{0}, held{0};

 private:
  class Watch final : public TemplateWatch {
   public:
    explicit Watch(FakeSource& source) : source_(source) { ++source_.begun, ++source_.held; }
    ~Watch() override { --source_.held; }
    TemplateAnswer now() const override {
      const MutexLock lock(source_.mutex_);
      return source_.answer_;
    }
    TemplateAnswer wait(std::chrono::nanoseconds) const override { return now(); }

   private:
    FakeSource& source_;
  };
  Mutex mutex_;
  TemplateAnswer answer_ DROVER_GUARDED_BY(mutex_);
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
    task_.emplace(folder_, "web", std::make_shared<AllocSpec>(allocation, std::make_shared<v1::Job>(job)));
    EXPECT_TRUE(hook_.start(host_, {.wait = {0s, 0s}, .bounds = std::nullopt}).ok());
    part_ = hook_.attach(*task_, state_);
  }
  Status prestart(bool recovered = false) { return start_.prestart(*part_, recovered); }
  void put(const std::string& below, const std::string& text) {
    std::ofstream(folder_ + "/web/local/" + below + ".new") << text;
    fs::rename(folder_ + "/web/local/" + below + ".new", folder_ + "/web/local/" + below);
  }
  std::string content(const std::string& below) const {
    std::ifstream file(folder_ + "/web/local/" + below);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string folder_ = fs::path(::testing::TempDir()) / ("templates." + std::to_string(::getpid()));
  drover::testing::FakeStart start_{.environment = {{"NOMAD_TASK_DIR", "/local"}, {"PORT", "8080"}}};
  drover::testing::FakeHost host_;
  drover::testing::FakeState state_;
  v1::Task task_block_;
  std::optional<drover::testing::FakeTask> task_;
  TemplateHook hook_{5ms};
  std::unique_ptr<TaskHook::Part> part_;
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
  EXPECT_EQ(start_.adds.env().at("A"), "2");
  EXPECT_EQ(start_.adds.env().at("B"), "8080");
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
  start_.stop.request_stop();
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
  drover::testing::FakeNode node;
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

TEST_F(HookTest, FunctionsOfASourceAreWatchedWhileTheTaskIsThere) {
  FakeSource source;
  ASSERT_TRUE(host_.rows().extend<TemplateSource>("store", source).ok());
  add("[{{ kept \"a\" }}]", "local/out");
  attach();
  source.put("one");
  ASSERT_EQ(prestart(), ok_status());
  ASSERT_EQ(part_->poststart(), ok_status());
  EXPECT_EQ(content("out"), "[one]");
  source.put("two");
  EXPECT_EQ(task_->next(), "restart: Template with change_mode restart re-rendered");
  EXPECT_EQ(content("out"), "[two]");
  EXPECT_EQ(source.begun, 1);
  ASSERT_EQ(part_->stop(), ok_status());
  EXPECT_EQ(source.held, 0);
}

TEST_F(HookTest, WaitsForWhatASourceDoesNotHaveYet) {
  FakeSource source;
  ASSERT_TRUE(host_.rows().extend<TemplateSource>("store", source).ok());
  add("[{{ kept \"a\" }}]", "local/out");
  attach();
  std::thread writer([&] { source.put("late"); });
  EXPECT_EQ(prestart(), ok_status());
  writer.join();
  EXPECT_EQ(content("out"), "[late]");
}

TEST_F(HookTest, ASourceMayRefuse) {
  FakeSource source;
  ASSERT_TRUE(host_.rows().extend<TemplateSource>("store", source).ok());
  add("[{{ kept \"a\" }}]", "local/out");
  attach();
  source.refuse(permission_denied("no right to a"));
  const Status refused = prestart();
  EXPECT_EQ(refused.code(), Code::permission_denied);
  EXPECT_EQ(refused.message(), "(dynamic): template 1:5: kept: no right to a");
}

TEST(Sources, BringEachFunctionOnce) {
  drover::testing::FakeHost host;
  FakeSource one, other;
  ASSERT_TRUE(host.rows().extend<TemplateSource>("one", one).ok());
  ASSERT_TRUE(host.rows().extend<TemplateSource>("other", other).ok());
  Sources sources;
  EXPECT_EQ(sources.start(host).message(),
            "the templates' function kept is brought by one and by other; one of these plugins must go");
}

}  // namespace
}  // namespace drover::templates
