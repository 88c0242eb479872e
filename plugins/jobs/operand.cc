#include "operand.h"

#include <re2/re2.h>

#include <algorithm>

namespace drover::jobs {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// Numbers with points between them, then what a pre-release and a build are named by.
bool is_version(std::string_view text, bool is_semantic) {
  if (text.starts_with('v')) text.remove_prefix(1);
  for (;;) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0) return false;
    text.remove_prefix(digits);
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  if (text.empty()) return true;
  const bool has_mark = text[0] == '-' || text[0] == '+';
  const bool begins = has_mark ? text.size() > 1 : !is_semantic && (is_letter(text[0]) || text[0] == '~');
  const auto may_follow = [](char c) {
    return is_digit(c) || is_letter(c) || c == '-' || c == '.' || c == '~' || c == '+';
  };
  return begins && std::ranges::all_of(text, may_follow);
}

bool is_requirement(std::string_view text, bool is_semantic) {
  text = trimmed(text);
  for (std::string_view sign : {"!=", ">=", "<=", "~>", ">", "<", "="}) {
    if (!text.starts_with(sign)) continue;
    if (is_semantic && sign == "~>") return false;
    text.remove_prefix(sign.size());
    break;
  }
  return is_version(trimmed(text), is_semantic);
}

bool are_requirements(std::string_view list, bool is_semantic) {
  for (;;) {
    const size_t comma = list.find(',');
    if (!is_requirement(list.substr(0, comma), is_semantic)) return false;
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

// What is wrong with it; RE2's syntax, as the scheduler has it.
std::string problem_of_pattern(const std::string& text) {
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 expression(text, options);
  return expression.error();
}

}  // namespace

std::string problem_of_operand(std::string_view operand, const std::string& value) {
  const std::string shown = "\"" + value.substr(0, 80) + "\"";
  if (operand == "is_set" || operand == "is_not_set") {
    return value.empty() ? "" : std::string(operand) + " takes no value, not " + shown;
  }
  if (value.find("${") != std::string::npos) return {};
  if (operand == "regexp") {
    const std::string problem = problem_of_pattern(value);
    return problem.empty() ? "" : shown + " is no regular expression: " + problem;
  }
  if (operand == "version" || operand == "semver") {
    const bool is_good = are_requirements(value, operand == "semver");
    return is_good ? "" : shown + " is no constraint on versions, such as \">= 1.2.3, < 2.0.0\"";
  }
  return {};
}

}  // namespace drover::jobs
