#include "drover/model/constraint.h"

#include <re2/re2.h>

#include <charconv>
#include <set>

#include "drover/trim.h"
#include "drover/uuid.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "version.h"

namespace drover {
namespace {

// In RE2's syntax, as Go has it, and in time linear in the text.
RE2::Options quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  return options;
}

// No value matches a pattern that is none.
bool regexp_matches(const std::string& text, const std::string& pattern) {
  const RE2 expression(pattern, quiet());
  return expression.ok() && RE2::PartialMatch(text, expression);
}

std::set<std::string, std::less<>> items_of(std::string_view list) {
  std::set<std::string, std::less<>> items;
  for (;;) {
    const size_t comma = list.find(',');
    items.emplace(trim(list.substr(0, comma), " \t\n"));
    if (comma == std::string_view::npos) return items;
    list.remove_prefix(comma + 1);
  }
}

bool contains_all(std::string_view list, std::string_view wanted) {
  const auto items = items_of(list);
  for (const std::string& item : items_of(wanted)) {
    if (!items.contains(item)) return false;
  }
  return true;
}

bool contains_any(std::string_view list, std::string_view wanted) {
  const auto items = items_of(list);
  for (const std::string& item : items_of(wanted)) {
    if (items.contains(item)) return true;
  }
  return false;
}

template <typename Number>
std::optional<Number> as_number(const std::string& text) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename Value>
bool in_order(std::string_view operand, const Value& a, const Value& b) {
  if (operand == "<") return a < b;
  if (operand == "<=") return a <= b;
  if (operand == ">") return a > b;
  return a >= b;
}

// As integers when both are, else as numbers, else as text.
bool compare_order(std::string_view operand, const std::string& left, const std::string& right) {
  if (auto a = as_number<int64_t>(left), b = as_number<int64_t>(right); a && b) return in_order(operand, *a, *b);
  if (auto a = as_number<double>(left), b = as_number<double>(right); a && b) return in_order(operand, *a, *b);
  return in_order(operand, left, right);
}

template <typename Map>
std::optional<std::string> find_in(const Map& map, std::string_view key) {
  auto at = map.find(std::string(key));
  if (at == map.end()) return std::nullopt;
  return at->second;
}

}  // namespace

std::optional<std::string> resolve_target(std::string_view target, const v1::Node& node) {
  if (!target.starts_with("${") || !target.ends_with('}')) return std::string(target);
  const std::string_view name = target.substr(2, target.size() - 3);
  if (name == "node.unique.id") return Uuid::from_bytes(node.id()).to_string();
  if (name == "node.datacenter") return node.datacenter();
  if (name == "node.unique.name") return node.name();
  if (name == "node.class") return node.node_class();
  if (name == "node.pool") return node.node_pool();
  if (name.starts_with("attr.")) return find_in(node.attributes(), name.substr(5));
  if (name.starts_with("meta.")) return find_in(node.meta(), name.substr(5));
  return std::nullopt;
}

bool compare_values(std::string_view operand, const std::optional<std::string>& left,
                    const std::optional<std::string>& right) {
  if (operand == "is_set" || operand == "attribute_is_set") return left.has_value();
  if (operand == "is_not_set") return !left.has_value();
  if (operand == "!=" || operand == "not") return left != right;
  if (!left || !right) return false;
  if (operand == "=" || operand == "==" || operand == "is" || operand.empty()) return *left == *right;
  if (operand == "<" || operand == "<=" || operand == ">" || operand == ">=") {
    return compare_order(operand, *left, *right);
  }
  if (operand == "version") return version_meets(*left, *right, VersionForm::loose);
  if (operand == "semver") return version_meets(*left, *right, VersionForm::semver);
  if (operand == "regexp") return regexp_matches(*left, *right);
  if (operand == "set_contains" || operand == "set_contains_all") return contains_all(*left, *right);
  if (operand == "set_contains_any") return contains_any(*left, *right);
  return false;
}

std::string problem_of_operand(std::string_view operand, const std::string& value) {
  const std::string shown = "\"" + value.substr(0, 80) + "\"";
  if (operand == "is_set" || operand == "is_not_set") {
    return value.empty() ? "" : std::string(operand) + " takes no value, not " + shown;
  }
  if (value.find("${") != std::string::npos) return {};
  if (operand == "regexp") {
    const std::string problem = RE2(value, quiet()).error();
    return problem.empty() ? "" : shown + " is no regular expression: " + problem;
  }
  if (operand == "version" || operand == "semver") {
    const VersionForm form = operand == "semver" ? VersionForm::semver : VersionForm::loose;
    return are_version_constraints(value, form)
               ? ""
               : shown + " is no constraint on versions, such as \">= 1.2.3, < 2.0.0\"";
  }
  return {};
}

bool meets_constraint(const v1::Constraint& constraint, const v1::Node& node) {
  return compare_values(constraint.operand(), resolve_target(constraint.l_target(), node),
                        resolve_target(constraint.r_target(), node));
}

std::string constraint_text(const v1::Constraint& constraint) {
  return constraint.l_target() + " " + constraint.operand() + " " + constraint.r_target();
}

bool escapes_class(const v1::Constraint& constraint) {
  for (const std::string* target : {&constraint.l_target(), &constraint.r_target()}) {
    if (target->starts_with("${node.unique.") || target->starts_with("${attr.unique.") ||
        target->starts_with("${meta.unique.")) {
      return true;
    }
  }
  return false;
}

bool glob_matches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace drover
