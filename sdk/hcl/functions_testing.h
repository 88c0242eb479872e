// Shared by the tests of functions: one call as text, its result as JSON or its error.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "drover/hcl.h"

namespace drover::hcl {

struct FunctionCase {
  const char* text;
  const char* result;  // JSON, or the message of the first problem
};

inline std::string result_of(const std::string& text, const EvalContext& context) {
  Diagnostics diagnostics;
  Value value = evaluate(parse_expression("t", text, diagnostics), context, diagnostics);
  return diagnostics.has_errors() ? diagnostics[0].message : to_json(value);
}

inline std::string result_of(const std::string& text) {
  EvalContext context;
  context.functions = standard_functions();
  return result_of(text, context);
}

inline void expect_results(std::span<const FunctionCase> cases) {
  for (const FunctionCase& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(c.result, result_of(c.text));
  }
}

}  // namespace drover::hcl
