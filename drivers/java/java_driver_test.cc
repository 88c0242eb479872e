// Tasks of a script that stands in for Java, and of the machine's own Java where it has one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "drover/program.h"
#include "drover/plugin_programs/handshake.h"
#include "nomad/plugins/driver.pb.h"
#include "sdk/testing/driver_conformance.h"
#include "testing/java_files.h"
#include "testing/java_node.h"

namespace drover::java {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

const std::string kMachinesPath = std::getenv("PATH");  // before a test had another

// A node whose Java is the script.
struct FakeJavaNode : Node {
  FakeJavaNode() { fake_java(); }
};
using Shared = RootedNode<FakeJavaNode>;
const ::testing::Environment* const kShared = ::testing::AddGlobalTestEnvironment(new Shared);

conformance::TaskSpec running(const std::string& script) {
  return {.config = hcl::Value(hcl::Object{{"class", "Main"}, {"args", hcl::List{hcl::Value(script)}}})};
}

conformance::Setup setup() {
  conformance::Setup all;
  all.is_sdk = true;
  all.programs = {Shared::get().java()};
  all.config = hcl::Value(hcl::Object{{"launcher_dir", hcl::Value(Shared::get().path("program"))}});
  all.tasks["endless"] = all.tasks["deaf"] = running("exec sleep 3600");
  all.tasks["ending"] = running("exit 7");
  all.tasks["ending"].exit_code = 7;
  all.tasks["talking"] = running("echo this is out; echo this is err >&2; while :; do echo more; sleep 0.02; done");
  all.tasks["talking"].out = "this is out\n";
  all.tasks["talking"].err = "this is err\n";
  all.tasks["invalid"] = {.config = hcl::Value(hcl::Object{{"class_path", "nothing to run"}})};
  return all;
}

conformance::SubjectFactory object() {
  return conformance::driver_subject([] { return Shared::get().another_driver(); });
}
conformance::SubjectFactory program() {
  (void)Shared::get();  // its Java is in the environment
  return conformance::program_subject(
      {.file = JAVA_PROGRAM, .arguments = {}, .environment = plugin_programs::plugin_environment(environ)});
}
DROVER_DRIVER_CONFORMANCE_WITH(Java, object(), setup());
DROVER_DRIVER_CONFORMANCE_WITH(JavaProgram, program(), setup());

TEST(JavaDriver, RunsJavaByItsRealPathWithItsArguments) {
  Node node;
  node.fake_java();
  const std::string script =
      "exec > /local/said; printf '%s\\n' \"$@\"; id -u; pwd; grep -E '^(CapEff|NoNewPrivs|Seccomp):' "
      "/proc/self/status";
  const Json options = {
      {"jvm_options", {"-Xmx16m"}}, {"class_path", "/local/classes"}, {"class", "Main"}, {"args", {"a b", script}}};
  EXPECT_EQ("-Xmx16m\n-cp\n/local/classes\nMain\na b\n" + script +
                "\n65534\n/\nCapEff:\t00000000a8040531\nNoNewPrivs:\t1\nSeccomp:\t2\n",
            node.said(node.task("a", options)));
}

TEST(JavaDriver, SharesWhatTheJobSays) {
  Node node;
  node.fake_java();
  node.start(node.task("a", {{"class", "Main"}, {"args", {"exec sleep 3600"}}, {"pid_mode", "host"}}));
  EXPECT_EQ(std::filesystem::read_symlink("/proc/self/ns/pid").string() + "\n",
            node.said_beside("a", {"readlink", "/proc/self/ns/pid"}));
  EXPECT_TRUE(node.driver().destroy_task("a", true).ok());
}

TEST(JavaDriver, SaysWhatItLacks) {
  Node node;
  EXPECT_EQ("jar_path or class must be specified",
            node.driver().start_task(node.task("a", Json::object())).status().message());
  auto path = std::make_optional<SearchPath>(node.path("nowhere"));
  const std::string none =
      "failed to find java binary: failed to resolve path to \"java\" executable: exec: \"java\": executable file not "
      "found in $PATH";
  EXPECT_EQ(invalid_argument(none), node.driver().start_task(node.task("a", {{"class", "Main"}})).status());
  const driver::FingerprintResponse print = node.driver().fingerprint();
  EXPECT_EQ(driver::FingerprintResponse::UNDETECTED, print.health());
  EXPECT_EQ(none, print.health_description());
  EXPECT_TRUE(print.attributes().empty());
  path.reset();
  node.fake_java();
  std::filesystem::remove(node.root() + node.java());
  EXPECT_EQ("failed to launch command with executor: file " + node.java() + " not found under path " + node.root(),
            node.driver().start_task(node.task("a", {{"class", "Main"}})).status().message());
}

TEST(JavaDriver, TellsItsVersion) {
  Node node;
  node.fake_java();
  const driver::FingerprintResponse print = node.driver().fingerprint();
  EXPECT_EQ(driver::FingerprintResponse::HEALTHY, print.health());
  std::string all;
  for (const auto& [name, value] : std::map(print.attributes().begin(), print.attributes().end()))
    all += name + "=" + value.string_val() + "\n";
  EXPECT_EQ(
      "driver.java=1\n"
      "driver.java.runtime=OpenJDK Runtime Environment (build 17.0.9+9)\n"
      "driver.java.version=17.0.9\n"
      "driver.java.vm=OpenJDK 64-Bit Server VM (build 17.0.9+9, mixed mode)\n",
      all);
}

// The machine's own Java, in a root that shows what an agent shows by default.
class RealJava : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_machine_program("java")) GTEST_SKIP() << "missing: java (the package openjdk-17-jre-headless)";
    std::ofstream(node_.root() + "/local/Hello.class") << printing_class("Hello");
    std::ofstream(node_.root() + "/local/Waits.class") << printing_class("Waits", 3'600'000);
    std::ofstream(node_.root() + "/local/app.jar") << jar_of("Hello", printing_class("Hello"));
  }
  driver::TaskConfig task(Json options) const {
    options["jvm_options"] = {"-Xmx16m", "-XX:+UseSerialGC"};
    driver::TaskConfig config = node_.task("a", options);
    for (const char* folder : {"/bin", "/etc", "/lib", "/lib64", "/usr"}) {
      if (!std::filesystem::exists(folder)) continue;
      driver::Mount& mount = *config.add_mounts();
      mount.set_task_path(folder);
      mount.set_host_path(folder);
      mount.set_readonly(true);
    }
    config.set_stdout_path(out_.path());
    return config;
  }
  // For a task that ends by itself.
  std::string printed_by(const Json& options) {
    (void)node_.said(task(options));
    return out_.text();
  }

  const SearchPath path_{kMachinesPath};
  Node node_;
  OutputFifo out_{node_.path("out")};
};

TEST_F(RealJava, RunsAClass) {
  EXPECT_EQ("hello from Java\n",
            printed_by({{"class", "Hello"}, {"class_path", "/local"}, {"args", {"hello from Java"}}}));
}

TEST_F(RealJava, RunsAJar) {
  EXPECT_EQ("from a jar\n", printed_by({{"jar_path", "local/app.jar"}, {"args", {"from a jar"}}}));
}

TEST_F(RealJava, EndsInOrderAtASignal) {
  node_.start(task({{"class", "Waits"}, {"class_path", "local"}, {"args", {"started"}}}));
  ASSERT_TRUE(eventually([&] { return out_.text() == "started\n"; })) << out_.text();
  EXPECT_TRUE(node_.driver().stop_task("a", 60s, "SIGTERM").ok());
  EXPECT_EQ(143, node_.wait("a").exit_code());
  EXPECT_EQ(0, node_.wait("a").signal());
  EXPECT_TRUE(node_.driver().destroy_task("a", false).ok());
}

TEST_F(RealJava, TellsItsVersion) {
  const driver::FingerprintResponse print = node_.driver().fingerprint();
  for (const char* name : {"driver.java.version", "driver.java.runtime", "driver.java.vm"}) {
    const auto at = print.attributes().find(name);
    EXPECT_TRUE(at != print.attributes().end() && !at->second.string_val().empty()) << name;
  }
}

}  // namespace
}  // namespace drover::java
