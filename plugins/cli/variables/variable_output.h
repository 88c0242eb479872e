// A variable as the commands print it: table, json, hcl, go-template, none.
#pragma once

#include <optional>
#include <string>

#include "cli_command.h"

namespace drover::v1 {
class Variable;
}  // namespace drover::v1

namespace drover::cli {

inline constexpr const char* kNoWildcard = "The wildcard namespace (\"*\") is not valid for this command.";

// The flags -out and -template; `forms` for people.
std::vector<Flag> variable_output_flags(const std::string& forms);
// -out, or what is usual: `for_people` on a terminal, json elsewhere. Errors: invalid_argument.
Result<std::string> output_form(const Run& run, std::initializer_list<std::string_view> forms, std::string for_people);

std::string variable_table(const v1::Variable& variable);
std::string variable_hcl(const v1::Variable& variable);
// Prints what the agent sent, as json or go-template asks, which stand before all others; the exit code. Nothing for
// any other form.
std::optional<int> print_as_sent(Run& run, const std::string& form, const Response& answer);
// Prints it in that form, "none" with nothing; the exit code. `answer`: as the agent sent it.
int print_variable(Run& run, const std::string& form, const v1::Variable& variable, const Response& answer);

// The variable that stands in the way, of an answer with status 409; nothing for any other error.
std::optional<v1::Variable> conflict_of(const Status& status);
// Says what the conflict is; the exit code.
int print_conflict(Run& run, const v1::Variable& found, uint64_t given);

}  // namespace drover::cli
