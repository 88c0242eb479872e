// The author's commands, over the reference plugins of the conformance kit and their faults.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "commands.h"
#include "report.h"
#include "storage_kit.h"

namespace drover::author {
namespace {

class Host final : public CommandHost {
 public:
  explicit Host(const std::string& input) : in_(input) {}
  std::ostream& out() override { return out_; }
  std::ostream& err() override { return out_; }
  std::istream& in() override { return in_; }
  void* find_extension(std::string_view, std::string_view) const override { return nullptr; }
  std::vector<std::pair<std::string, std::string>> commands() const override { return {}; }
  std::string version() const override { return "test"; }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
  std::istringstream in_;
};

struct Ran {
  int exit_code = 0;
  std::string text;
};
template <typename Tried>
Ran run(const std::vector<std::string>& arguments, const std::string& input = "") {
  Host host(input);
  Tried command;
  const int exit_code = command.run(arguments, host);
  return {exit_code, host.text()};
}
Ran test(const std::vector<std::string>& arguments) { return run<TestCommand>(arguments); }

bool says(const Ran& ran, std::string_view text) { return ran.text.find(text) != std::string::npos; }

// The tasks that the reference driver runs.
constexpr const char* kTasks = R"(task "endless" {
  config {
    kind = "endless"
  }
}
)";

class AuthorCommands : public ::testing::Test {
 protected:
  AuthorCommands() {
    char name[] = "/tmp/drover-author-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~AuthorCommands() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  std::string folder_;
};

TEST(CommandAgain, RepeatsWhateverBearsOnTheCheckQuotedForAShell) {
  const std::vector<Option> known = {{"task", "F"}, {"config", "F"},  {"arg", "W"},
                                     {"run", "P"},  {"timeout", "T"}, {"verbose"}};
  const std::vector<std::string> words = {"-verbose",     "-run",    "stop*",   "-task",
                                          "my tasks.hcl", "-arg",    "-a it's", "-timeout",
                                          "300ms",        "-config", "c.hcl",   "build/acme-plugin"};
  const auto options = Options::parse(words, known);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(
      "drover plugin test -run stop.unknown -config c.hcl -task 'my tasks.hcl' -arg '-a it'\\''s' -timeout 300ms "
      "build/acme-plugin",
      command_again("stop.unknown", *options));
}

TEST(StorageWords, AreTheKitsOwnWithoutTheKind) {
  using Words = std::vector<std::string>;
  struct Case {
    Words arguments, words;
  };
  for (const auto& [arguments, words] :
       {Case{{"-kind", "csi", "prog"}, {"prog"}},
        Case{{"-json", "--kind=csi", "prog", "--", "-kind", "x"}, {"-json", "prog", "--", "-kind", "x"}},
        Case{{"-run", "clean", "prog", "-kind", "csi"}, {"-run", "clean", "prog"}}}) {
    const auto found = storage_words(arguments);
    ASSERT_TRUE(found.ok() && *found);
    EXPECT_EQ(**found, words);
  }
  EXPECT_FALSE(storage_words(Words{"prog", "--", "-kind", "csi"})->has_value());
  EXPECT_FALSE(storage_words(Words{"-sdk", "prog"})->has_value());
  EXPECT_EQ(storage_words(Words{"-kind", "driver", "prog"}).status().code(), Code::invalid_argument);
  EXPECT_EQ(storage_words(Words{"prog", "-kind"}).status().code(), Code::invalid_argument);
}

TEST_F(AuthorCommands, AFailureSaysHowItIsRepeated) {
  const std::string tasks = file("tasks.hcl", kTasks);
  const Ran first = test({"-arg", "stop.known", "-task", tasks, "-run", "recover.known", FAULTY_PLUGIN});
  EXPECT_EQ(0, first.exit_code) << first.text;
  EXPECT_TRUE(says(first, "1 checks of ")) << "the name of a check is that check alone: " << first.text;

  const Ran failed = test({"-arg", "recover.known", "-task", tasks, "-run", "recover.known", FAULTY_PLUGIN});
  EXPECT_EQ(1, failed.exit_code) << failed.text;
  EXPECT_TRUE(says(failed, "again:   drover plugin test -run recover.known -task " + tasks + " -arg recover.known " +
                               FAULTY_PLUGIN + "\n"))
      << failed.text;
}

TEST_F(AuthorCommands, NothingTestedIsNoSuccess) {
  const Ran ran = test({"-run", "stop.idempotent", FAULTY_PLUGIN});
  EXPECT_EQ(2, ran.exit_code) << ran.text;
  EXPECT_TRUE(says(ran, "nothing was tested")) << ran.text;

  const std::string empty = file("empty.hcl", "# nothing\n");
  const Ran refused = test({"-task", empty, FAULTY_PLUGIN});
  EXPECT_EQ(2, refused.exit_code) << refused.text;
  EXPECT_TRUE(says(refused, empty + ": says nothing")) << refused.text;
}

TEST_F(AuthorCommands, WhatDoesNotFitThePluginsSchemasIsOneErrorWithItsPlace) {
  const std::string wrong = file("wrong.hcl", std::string(kTasks) + "task \"ending\" {\n  config { kid = 1 }\n}\n");
  const Ran tasks = test({"-task", wrong, FAULTY_PLUGIN});
  EXPECT_EQ(2, tasks.exit_code) << tasks.text;
  EXPECT_TRUE(tasks.text.starts_with("Error: " + wrong + ":6: task \"ending\": config: ")) << tasks.text;
  EXPECT_TRUE(says(tasks, "kid")) << tasks.text;

  const std::string config = file("config.hcl", "salute = \"hi\"\n");
  const Ran own = test({"-config", config, FAULTY_PLUGIN});
  EXPECT_EQ(2, own.exit_code) << own.text;
  EXPECT_TRUE(own.text.starts_with("Error: " + config + ": the plugin's configuration: ")) << own.text;

  const std::string checks =
      file("checks.hcl", "check \"passing\" {\n  type = \"told\"\n  options { resolt = \"x\" }\n}\n");
  const Ran options = test({"-arg", "check", "-task", checks, FAULTY_PLUGIN});
  EXPECT_EQ(2, options.exit_code) << options.text;
  EXPECT_TRUE(options.text.starts_with("Error: " + checks + ":1: check \"passing\": options: ")) << options.text;

  // Without the configuration that it needs, and with it.
  const Ran without = test({"-arg", "service", "-run", "crash.idle", FAULTY_PLUGIN});
  EXPECT_EQ(2, without.exit_code) << without.text;
  EXPECT_TRUE(without.text.starts_with("Error: the plugin's configuration (-config): ")) << without.text;
  const std::string good = file("good.hcl", "folder = \"" + folder_ + "\"\n");
  EXPECT_EQ(0, test({"-arg", "service", "-config", good, "-run", "crash.idle", FAULTY_PLUGIN}).exit_code);
}

TEST_F(AuthorCommands, ATaskDescribedTwiceIsAnError) {
  const std::string twice = file("twice.hcl", std::string(kTasks) + kTasks);
  const Ran ran = test({"-task", twice, FAULTY_PLUGIN});
  EXPECT_EQ(2, ran.exit_code) << ran.text;
  EXPECT_EQ("Error: " + twice + ":6: task \"endless\": is described twice\n", ran.text);
}

TEST_F(AuthorCommands, ErrorCodesAreHeldWhereTheSdkIsSaid) {
  const std::string tasks = file("tasks.hcl", kTasks);
  const std::vector<std::string> quiet = {"-task",          tasks,        "-run", "codes.known-id", "-arg",
                                          "codes.known-id", FAULTY_PLUGIN};
  EXPECT_EQ(2, test(quiet).exit_code);
  std::vector<std::string> said = quiet;
  said.insert(said.begin(), "-sdk");
  const Ran failed = test(said);
  EXPECT_EQ(1, failed.exit_code) << failed.text;
  EXPECT_TRUE(says(failed, " -sdk " FAULTY_PLUGIN "\n")) << failed.text;
}

TEST_F(AuthorCommands, TheClassOfANewPluginIsNoneOfTheSdks) {
  struct Case {
    const char *kind, *name, *class_name;
  };
  for (const auto& [kind, name, class_name] :
       {Case{"driver", "command", "CommandDriver"}, Case{"driver", "process-driver", "ProcessDriverDriver"},
        Case{"driver", "result", "ResultDriver"}, Case{"driver", "status", "StatusDriver"},
        Case{"driver", "options", "OptionsDriver"}, Case{"driver", "task-config", "TaskConfigDriver"},
        Case{"driver", "main", "MainDriver"}, Case{"device", "device-plugin", "DevicePluginDevices"},
        Case{"check", "check", "CheckChecks"}, Case{"service", "service", "ServiceServices"},
        Case{"auth", "auth-method", "AuthMethodLogins"}}) {
    const std::string folder = folder_ + "/" + kind + "-" + name;
    ASSERT_EQ(0, run<NewCommand>({"-dir", folder, kind, name}).exit_code) << name;
    std::ifstream source(folder + "/" + name + ".cc");
    const std::string text{std::istreambuf_iterator<char>(source), {}};
    EXPECT_NE(std::string::npos, text.find(std::string("class ") + class_name + " final")) << text;
  }
  for (const char* name : {"process", "task"}) {
    const Ran ran = run<NewCommand>({"-dir", folder_ + "/" + name, "driver", name});
    EXPECT_EQ(1, ran.exit_code);
    EXPECT_TRUE(says(ran, "choose another name")) << ran.text;
  }
}

TEST_F(AuthorCommands, ANewProjectSaysHowItIsOptimisedAndWhatItsCiNeeds) {
  for (const char* kind : {"driver", "device", "check", "service", "auth", "csi"}) {
    const std::string folder = folder_ + "/" + kind;
    ASSERT_EQ(0, run<NewCommand>({"-dir", folder, kind, "acme"}).exit_code) << kind;
    const auto has = [&](const char* name, const char* what) {
      std::ifstream in(folder + "/" + name);
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      EXPECT_NE(std::string::npos, text.find(what)) << kind << ": " << name << ": " << what;
    };
    has("CMakeLists.txt", "set(CMAKE_BUILD_TYPE RelWithDebInfo)");
    for (const char* what :
         {" cmake ", " g++ ", " make\n", "$DROVER_PACKAGES", "${{ vars.DROVER_PACKAGES }}", "./ci.sh"})
      has(".github/workflows/test.yml", what);
  }
}

TEST_F(AuthorCommands, ANewStoragePluginHasANameInDomainStyle) {
  const Ran refused = run<NewCommand>({"-dir", folder_ + "/web_cam", "csi", "web_cam"});
  EXPECT_EQ(1, refused.exit_code);
  EXPECT_TRUE(says(refused, "the name of a storage plugin has no _")) << refused.text;
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/web_cam"));
  EXPECT_EQ(0, run<NewCommand>({"-dir", folder_ + "/web-cam", "csi", "web-cam"}).exit_code);
}

TEST_F(AuthorCommands, APluginThatCannotBeTriedEndsTheShellWithTwo) {
  const std::string config = file("config.hcl", "salute = \"hi\"\n");
  const Ran unusable = run<RunCommand>({"-config", config, FAULTY_PLUGIN}, "info\n");
  EXPECT_EQ(2, unusable.exit_code) << unusable.text;
  EXPECT_TRUE(unusable.text.starts_with("Error: " + config + ": the plugin's configuration: ")) << unusable.text;

  const Ran mute = run<RunCommand>({"/bin/true"}, "info\n");
  EXPECT_EQ(2, mute.exit_code) << mute.text;
  EXPECT_TRUE(says(mute, "before the handshake")) << mute.text;

  const std::string task = file("task.hcl", "kid = 1\n");
  const Ran failed = run<RunCommand>({FAULTY_PLUGIN}, "start " + task + "\n");
  EXPECT_EQ(1, failed.exit_code) << failed.text;
  EXPECT_FALSE(says(failed, "-task")) << failed.text;
  EXPECT_EQ(0, run<RunCommand>({FAULTY_PLUGIN}, "info\n").exit_code);
}

}  // namespace
}  // namespace drover::author
