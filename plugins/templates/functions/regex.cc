#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "table.h"

namespace drover::templates {
namespace {

Result<std::unique_ptr<RE2>> pattern_at(Arguments arguments) {
  DROVER_TRY(const std::string text, text_at(arguments, 0));
  RE2::Options options;
  options.set_log_errors(false);
  auto pattern = std::make_unique<RE2>(text, options);
  if (!pattern->ok()) return invalid_argument("error parsing regexp: " + pattern->error());
  return pattern;
}

Result<Value> regex_match(Arguments arguments) {
  DROVER_TRY(const auto pattern, pattern_at(arguments));
  DROVER_TRY(const std::string text, text_at(arguments, 1));
  return value_of(RE2::PartialMatch(text, *pattern));
}

bool is_of_name(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

// The group that a reference names, or none.
std::string_view group(const RE2& pattern, std::span<const re2::StringPiece> groups, const std::string& name) {
  size_t number = groups.size();
  if (!name.empty() && name.find_first_not_of("0123456789") == std::string::npos && name.size() < 6) {
    number = std::stoul(name);
  } else if (const auto known = pattern.NamedCapturingGroups().find(name);
             known != pattern.NamedCapturingGroups().end()) {
    number = static_cast<size_t>(known->second);
  }
  return number < groups.size() ? std::string_view(groups[number].data(), groups[number].size()) : std::string_view();
}

// Writes the replacement with $1, $name, ${name} and $$.
void expand(const RE2& pattern, std::span<const re2::StringPiece> groups, std::string_view form, std::string& out) {
  while (!form.empty()) {
    const size_t dollar = std::min(form.find('$'), form.size());
    out += form.substr(0, dollar);
    form.remove_prefix(dollar);
    if (form.empty()) return;
    if (form.starts_with("$$")) {
      out += '$';
      form.remove_prefix(2);
      continue;
    }
    const bool braces = form.starts_with("${");
    const size_t first = braces ? 2 : 1;
    size_t end = first;
    while (end < form.size() && is_of_name(form[end])) ++end;
    if (end == first || (braces && (end == form.size() || form[end] != '}'))) {
      out += '$';
      form.remove_prefix(1);
      continue;
    }
    out += group(pattern, groups, std::string(form.substr(first, end - first)));
    form.remove_prefix(braces ? end + 1 : end);
  }
}

Result<Value> regex_replace_all(Arguments arguments) {
  DROVER_TRY(const auto pattern, pattern_at(arguments));
  DROVER_TRY(const std::string form, text_at(arguments, 1));
  DROVER_TRY(const std::string text, text_at(arguments, 2));
  std::vector<re2::StringPiece> groups(static_cast<size_t>(pattern->NumberOfCapturingGroups()) + 1);
  std::string out;
  size_t at = 0, kept = 0;  // where the search goes on; what is written already
  while (at <= text.size() && pattern->Match(text, at, text.size(), RE2::UNANCHORED, groups.data(),
                                             static_cast<int>(groups.size()))) {
    const auto begin = static_cast<size_t>(groups[0].data() - text.data());
    const size_t end = begin + groups[0].size();
    out.append(text, kept, begin - kept);
    expand(*pattern, groups, form, out);
    kept = end;
    if (end > begin) {
      at = end;
      continue;
    }
    // An empty match: one character goes on as it stands.
    const size_t step = end < text.size() ? text_template::first_character(std::string_view(text).substr(end)).size : 1;
    if (end < text.size()) out.append(text, end, step);
    kept = std::min(end + step, text.size());
    at = end + step;
  }
  return value_of(out.append(text, kept));
}

}  // namespace

const FunctionTable& regex_functions() {
  static const FunctionTable kTable = {{"regexMatch", {2, 2, regex_match}},
                                       {"regexReplaceAll", {3, 3, regex_replace_all}}};
  return kTable;
}

}  // namespace drover::templates
