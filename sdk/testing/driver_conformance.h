// The conformance kit (drover/conformance.h) as GoogleTest cases, one for each check of a driver:
//
//   conformance::SubjectFactory acme() { return conformance::driver_subject([] { return std::make_unique<Acme>(); }); }
//   DROVER_DRIVER_CONFORMANCE(Acme, acme());
//
// Tasks are guessed from the driver's schema. A check that does not apply is skipped, with the reason. The cases that
// the filter lets run are run together before the first of them, several at once, for most of the time they wait: the
// factory is called on several threads.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drover/conformance.h"
#include "drover/task_driver.h"

namespace drover::conformance {

constexpr int kChecksAtOnce = 6;

// "stop.after-crash" as "StopAfterCrash".
inline std::string case_name(std::string_view check) {
  std::string out;
  bool is_first = true;
  for (const char c : check) {
    const bool is_letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_letter) out += is_first ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    is_first = !is_letter;
  }
  return out;
}

inline Setup sdk_setup(const SubjectFactory& factory) {
  Setup setup;
  setup.is_sdk = true;
  const Status guessed = guess_tasks(factory, setup);
  EXPECT_TRUE(guessed.ok()) << guessed.to_string();
  return setup;
}

using Outcomes = std::map<const Check*, Outcome>;

// Runs the checks whose cases of the current suite will run.
inline Outcomes run_cases(const SubjectFactory& factory, const Setup& setup) {
  const ::testing::TestSuite& suite = *::testing::UnitTest::GetInstance()->current_test_suite();
  std::vector<const Check*> checks;
  for (const Check* check : select(TaskDriver::kKind, "")) {
    for (int i = 0; i < suite.total_test_count(); ++i) {
      const ::testing::TestInfo& info = *suite.GetTestInfo(i);
      if (info.should_run() && info.name() == "Holds/" + case_name(check->name)) checks.push_back(check);
    }
  }
  const std::vector<Outcome> all = run_all(checks, factory, setup, kChecksAtOnce, {});
  Outcomes outcomes;
  for (size_t i = 0; i < checks.size(); ++i) outcomes[checks[i]] = all[i];
  return outcomes;
}

inline void expect_holds(const Check& check, const Outcomes& outcomes) {
  const Outcome& outcome = outcomes.at(&check);
  if (outcome.verdict == Outcome::Verdict::not_applicable) GTEST_SKIP() << "not applicable: " << outcome.detail;
  EXPECT_EQ(Outcome::Verdict::passed, outcome.verdict)
      << check.sentence << "\n  found:   " << outcome.detail << "\n  look at: " << check.remedy;
}

}  // namespace drover::conformance

// At namespace scope. FACTORY is an expression that gives the same factory each time.
#define DROVER_DRIVER_CONFORMANCE(NAME, FACTORY) DROVER_DRIVER_CONFORMANCE_OF(NAME, FACTORY, FACTORY)
// Where the tasks must be guessed from another form of the driver.
#define DROVER_DRIVER_CONFORMANCE_OF(NAME, FACTORY, GUESSED_FROM) \
  DROVER_DRIVER_CONFORMANCE_WITH(NAME, FACTORY, ::drover::conformance::sdk_setup(GUESSED_FROM))
// Where they cannot be guessed.
#define DROVER_DRIVER_CONFORMANCE_WITH(NAME, FACTORY, SETUP)                                                    \
  class NAME##Conformance : public ::testing::TestWithParam<const ::drover::conformance::Check*> {              \
   protected:                                                                                                   \
    static void SetUpTestSuite() { outcomes = ::drover::conformance::run_cases(FACTORY, SETUP); }               \
    static inline ::drover::conformance::Outcomes outcomes;                                                     \
  };                                                                                                            \
  TEST_P(NAME##Conformance, Holds) { ::drover::conformance::expect_holds(*GetParam(), outcomes); }              \
  INSTANTIATE_TEST_SUITE_P(Driver, NAME##Conformance,                                                           \
                           ::testing::ValuesIn(::drover::conformance::select(::drover::TaskDriver::kKind, "")), \
                           [](const auto& one) { return ::drover::conformance::case_name(one.param->name); })
