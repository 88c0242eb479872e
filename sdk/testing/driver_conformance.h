// The conformance kit (drover/conformance.h) as GoogleTest cases, one for each check of a driver:
//
//   conformance::SubjectFactory acme() { return conformance::driver_subject([] { return std::make_unique<Acme>(); }); }
//   DROVER_DRIVER_CONFORMANCE(Acme, acme());
//
// Tasks are guessed from the driver's schema. A check that does not apply is skipped, with the reason.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "drover/conformance.h"
#include "drover/task_driver.h"

namespace drover::conformance {

// "stop.after-crash" as "StopAfterCrash".
inline std::string case_name(const ::testing::TestParamInfo<const Check*>& info) {
  std::string out;
  bool is_first = true;
  for (const char c : info.param->name) {
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

inline void expect_holds(const Check& check, const SubjectFactory& factory, const Setup& setup) {
  const Outcome outcome = run(check, factory, setup);
  if (outcome.verdict == Outcome::Verdict::not_applicable) GTEST_SKIP() << "not applicable: " << outcome.detail;
  EXPECT_EQ(Outcome::Verdict::passed, outcome.verdict)
      << check.sentence << "\n  found:   " << outcome.detail << "\n  look at: " << check.remedy;
}

}  // namespace drover::conformance

// At namespace scope. FACTORY is an expression that gives the same factory each time.
#define DROVER_DRIVER_CONFORMANCE(NAME, FACTORY) DROVER_DRIVER_CONFORMANCE_OF(NAME, FACTORY, FACTORY)
// Where the tasks must be guessed from another form of the driver.
#define DROVER_DRIVER_CONFORMANCE_OF(NAME, FACTORY, GUESSED_FROM)                                               \
  class NAME##Conformance : public ::testing::TestWithParam<const ::drover::conformance::Check*> {};            \
  TEST_P(NAME##Conformance, Holds) {                                                                            \
    static const auto setup = ::drover::conformance::sdk_setup(GUESSED_FROM);                                   \
    ::drover::conformance::expect_holds(*GetParam(), FACTORY, setup);                                           \
  }                                                                                                             \
  INSTANTIATE_TEST_SUITE_P(Driver, NAME##Conformance,                                                           \
                           ::testing::ValuesIn(::drover::conformance::select(::drover::TaskDriver::kKind, "")), \
                           ::drover::conformance::case_name)
