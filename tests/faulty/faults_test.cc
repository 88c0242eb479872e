// Every check of the conformance kit can fail: for each there is a plugin with a fault that it notices.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include "drover/plugin_programs/handshake.h"
#include "instance.h"

extern char** environ;

namespace drover::faulty {
namespace {

using namespace std::chrono_literals;
using conformance::Check;
using conformance::Outcome;
using Verdict = Outcome::Verdict;

// A world for each subject, and for the instances that follow in it.
conformance::SubjectFactory object(std::string_view kind, const Fault* fault) {
  return [kind, fault]() {
    auto world = std::make_shared<World>();
    return conformance::instance_subject(
        [kind, world, fault] { return std::make_unique<FaultyInstance>(kind, fault, world); })();
  };
}

conformance::SubjectFactory program(std::string_view kind, const Fault* fault) {
  std::vector<std::string> arguments{std::string(kind)};
  for (size_t i = 0; fault && arguments.size() == 1; ++i) {
    if (fault_of(kind, fault->checks[0], i) == fault)
      arguments.insert(arguments.end(), {fault->checks[0], std::to_string(i)});
  }
  return conformance::program_subject(
      {.file = FAULTY_PLUGIN, .arguments = arguments, .environment = plugin_programs::plugin_environment(environ)});
}

const Check* check_named(const PluginKind& kind, std::string_view name) {
  const auto checks = conformance::checks(kind);
  const auto found = std::ranges::find(checks, name, &Check::name);
  return found == checks.end() ? nullptr : &*found;
}

std::string failures(const std::vector<const Check*>& checks, const std::vector<Outcome>& outcomes) {
  std::string text;
  for (size_t i = 0; i < checks.size(); ++i) {
    if (outcomes[i].verdict == Verdict::failed) text += std::string(checks[i]->name) + ": " + outcomes[i].detail + "\n";
  }
  return text;
}

class Conformance : public ::testing::TestWithParam<PluginKind> {
 protected:
  Conformance() {
    char name[] = "/tmp/drover-kinds-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~Conformance() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  static std::string_view word() { return GetParam().word; }
  conformance::Setup setup() const { return reference_setup(GetParam(), folder_); }
  conformance::Setup impatient() const {
    conformance::Setup out = setup();
    out.limit = 1s;
    return out;
  }

  std::string folder_;
};

TEST_P(Conformance, HasChecksWithNamesOfTheirOwnAndEachGroupInOnePiece) {
  std::set<std::string_view> names, sentences, groups;
  std::string_view last;
  for (const Check& check : conformance::checks(GetParam())) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name;
    EXPECT_TRUE(sentences.insert(check.sentence).second) << check.sentence;
    EXPECT_FALSE(check.remedy.empty()) << check.name;
    EXPECT_TRUE(check.group() == last || groups.insert(check.group()).second)
        << check.name << " is apart from its group";
    last = check.group();
  }
}

TEST_P(Conformance, HasEnoughChecksOfItsOwn) {
  const auto drivers = conformance::checks(TaskDriver::kKind);
  const auto is_own = [&](const Check& check) {
    return GetParam() == TaskDriver::kKind ||
           std::ranges::find(drivers, check.sentence, &Check::sentence) == drivers.end();
  };
  const std::map<std::string_view, int> least{
      {"driver", 120}, {"device", 30}, {"check", 20}, {"service", 15}, {"auth", 20}};
  EXPECT_GE(std::ranges::count_if(conformance::checks(GetParam()), is_own), least.at(word()));
}

// A check that several kinds have is proven with one of them.
TEST_P(Conformance, HasAFaultForEveryCheck) {
  for (const Check& check : conformance::checks(GetParam())) {
    const Check* shared = check_named(TaskDriver::kKind, check.name);
    const bool is_shared = shared && shared->run == check.run;
    EXPECT_TRUE(fault_of(word(), check.name) || (is_shared && fault_of("driver", check.name)))
        << check.name << " has no fault that proves it";
  }
}

TEST_P(Conformance, IsWhatItsFaultsSpeakOf) {
  for (const Fault& fault : faults()) {
    for (const std::string& check : fault.checks)
      EXPECT_TRUE(!fault.is_for(word()) || check_named(GetParam(), check))
          << fault.place << ": " << check << " is no check";
  }
}

TEST_P(Conformance, APluginWithoutFaultPassesInThisProcess) {
  const auto checks = conformance::select(GetParam(), "");
  const auto outcomes = conformance::run_all(checks, object(word(), nullptr), setup(), 16, {});
  EXPECT_EQ("", failures(checks, outcomes));
  if (word() == "driver" || word() == "device") return;
  for (size_t i = 0; i < checks.size(); ++i) {
    if (!(checks[i]->needs & (Check::program | Check::schema)) && checks[i]->name != "login.lacking") {
      EXPECT_NE(Verdict::not_applicable, outcomes[i].verdict) << checks[i]->name << ": " << outcomes[i].detail;
    }
  }
}

TEST_P(Conformance, APluginWithoutFaultPassesAsAProgram) {
  const auto checks = conformance::select(GetParam(), "");
  EXPECT_EQ("", failures(checks, conformance::run_all(checks, program(word(), nullptr), setup(), 6, {})));
}

// A fault and one of the checks that must notice it.
struct Trying {
  const Fault& fault;
  const Check* check;
  Outcome outcome{};
};

// Some faults are a matter of moments, which come while others are tried beside them: what a check did not notice it
// tries again, alone.
constexpr int kMoreTries = 3;

TEST_P(Conformance, NoticesEveryFault) {
  std::vector<Trying> all;
  for (const Fault& fault : faults()) {
    for (const std::string& check : fault.checks) {
      if (fault.is_for(word())) all.push_back({fault, check_named(GetParam(), check)});
    }
  }
  const conformance::Setup setup = impatient();
  const auto try_one = [&](Trying& one) {
    const auto factory = one.fault.is_for("program") ? program(word(), &one.fault) : object(word(), &one.fault);
    one.outcome = conformance::run(*one.check, factory, setup);
  };
  // Most of the time they wait: several at once.
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> threads(16);
  for (std::jthread& thread : threads) {
    thread = std::jthread([&] {
      for (size_t mine = next++; mine < all.size(); mine = next++) try_one(all[mine]);
    });
  }
  threads.clear();
  for (Trying& one : all) {
    for (int tries = 0; tries < kMoreTries && one.outcome.verdict != Verdict::failed; ++tries) try_one(one);
    EXPECT_EQ(Verdict::failed, one.outcome.verdict) << one.fault.place << ": " << one.check->name << " passes";
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Conformance, ::testing::ValuesIn(plugin_kinds().begin(), plugin_kinds().end()),
                         [](const auto& kind) { return std::string(kind.param.word); });

TEST(ConformanceOfDrivers, PassesWithoutCommandsAndNetworks) {
  const Fault none{.kinds = {"driver", "bare"}};
  const auto checks = conformance::select(TaskDriver::kKind, "");
  EXPECT_EQ("", failures(checks, conformance::run_all(checks, object("driver", &none),
                                                      reference_setup(TaskDriver::kKind, ""), 16, {})));
}

TEST(ConformanceOfDrivers, NoticesATaskThatRunsAndIsSaidToBeGone) {
  size_t noticed = 0;
  conformance::Setup setup = reference_setup(TaskDriver::kKind, "");
  setup.limit = 1s;
  for (const Fault& fault : faults()) {
    if (fault.checks[0] != "recover.after-crash" || !fault.is_for("program")) continue;
    std::vector<const Check*> checks;
    for (const std::string& check : fault.checks) checks.push_back(check_named(TaskDriver::kKind, check));
    for (const Outcome& outcome : conformance::run_all(checks, program("driver", &fault), setup, 4, {})) {
      EXPECT_TRUE(outcome.detail.starts_with("RecoverTask says not found, and the task still runs (process "))
          << checks[noticed]->name << ": " << outcome.detail;
      ++noticed;
    }
  }
  EXPECT_EQ(8u, noticed);
}

TEST(ConformanceOfDevices, FindsSamplesOfNoDeviceNotApplicable) {
  const Fault none{.kinds = {"device"},
                   .rules = {{.phase = "on", .methods = {"Stats"}, .actions = {{.what = "answer"}}}}};
  for (const char* name : {"stats.known", "stats.timestamp", "stats.summary"}) {
    const Outcome outcome = conformance::run(*check_named(DevicePlugin::kKind, name), object("device", &none), {});
    EXPECT_EQ(Verdict::not_applicable, outcome.verdict) << name << ": " << outcome.detail;
    EXPECT_EQ("the samples are of no instance", outcome.detail) << name;
  }
}

}  // namespace
}  // namespace drover::faulty
