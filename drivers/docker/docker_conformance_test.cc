// The whole conformance kit over this driver and a real engine, and over the driver as a program.
#include <unistd.h>

#include "drover/plugin_programs/handshake.h"
#include "sdk/testing/driver_conformance.h"
#include "testing/real_engine.h"

namespace drover::docker {
namespace {

using namespace std::chrono_literals;

conformance::TaskSpec shell(const std::string& script) {
  return {.config = hcl::Value(hcl::Object{
              {"image", "bb:t"}, {"command", "/bin/sh"}, {"args", hcl::List{hcl::Value("-c"), hcl::Value(script)}}})};
}

conformance::Setup setup_for(const RealEngine& engine) {
  conformance::Setup setup;
  setup.config = hcl::Value(hcl::Object{
      {"endpoint", "unix://" + engine.socket()}, {"state_dir", engine.folder() + "/state"}, {"infra_image", "bb:t"}});
  setup.is_sdk = true;
  setup.limit = 60s;  // fifty containers at once take their time
  setup.tasks["endless"] = shell("trap 'exit 0' TERM INT; while :; do sleep 1 & wait $!; done");
  setup.tasks["deaf"] = shell("trap : TERM CONT; while :; do sleep 1 & wait $!; done");
  conformance::TaskSpec ending = shell("exit 7");
  ending.exit_code = 7;
  setup.tasks["ending"] = ending;
  conformance::TaskSpec talking =
      shell("echo this is out; echo this is err >&2; while :; do echo more; sleep 0.05; done");
  talking.out = "this is out\n";
  talking.err = "this is err\n";
  setup.tasks["talking"] = talking;
  setup.tasks["invalid"] =
      conformance::TaskSpec{.config = hcl::Value(hcl::Object{{"image", "bb:t"}, {"command", "/no/such/program"}})};
  return setup;
}

// Docker, or what the environment says: ENGINE_KIND=podman.
RealEngine& tried_engine() {
  const char* kind = std::getenv("ENGINE_KIND");
  return RealEngine::of(kind ? kind : "docker");
}

// The kit's cases, skipped where no engine can run.
class EngineConformance : public ::testing::TestWithParam<const conformance::Check*> {
 protected:
  static conformance::Outcomes run(const std::function<conformance::SubjectFactory(RealEngine&)>& subject) {
    RealEngine& engine = tried_engine();
    if (!engine.why_not().empty()) return {};
    return conformance::run_cases(subject(engine), setup_for(engine));
  }
  static void expect_holds(const conformance::Outcomes& outcomes) {
    const std::string& why_not = tried_engine().why_not();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    conformance::expect_holds(*GetParam(), outcomes);
  }
};

class DockerConformance : public EngineConformance {
 protected:
  static void SetUpTestSuite() {
    outcomes = run([](RealEngine& engine) {
      return conformance::driver_subject([&engine] { return engine.driver({{"infra_image", "bb:t"}}); });
    });
  }
  static inline conformance::Outcomes outcomes;
};

class DockerProgramConformance : public EngineConformance {
 protected:
  static void SetUpTestSuite() {
    outcomes = run([](RealEngine&) {
      return conformance::program_subject(
          {.file = DOCKER_PROGRAM, .arguments = {}, .environment = plugin_programs::plugin_environment(environ)});
    });
  }
  static inline conformance::Outcomes outcomes;
};

TEST_P(DockerConformance, Holds) { expect_holds(outcomes); }
TEST_P(DockerProgramConformance, Holds) { expect_holds(outcomes); }

std::string name_of(const ::testing::TestParamInfo<const conformance::Check*>& one) {
  return conformance::case_name(one.param->name);
}
INSTANTIATE_TEST_SUITE_P(Driver, DockerConformance, ::testing::ValuesIn(conformance::select(TaskDriver::kKind, "")),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Driver, DockerProgramConformance,
                         ::testing::ValuesIn(conformance::select(TaskDriver::kKind, "")), name_of);

}  // namespace
}  // namespace drover::docker
