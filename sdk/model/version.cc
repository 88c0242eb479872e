#include "version.h"

#include <algorithm>
#include <charconv>

#include "drover/trim.h"

namespace drover {
namespace {

// The text up to the separator; what follows it stays in `rest`.
std::string_view take_until(std::string_view& rest, char separator) {
  const size_t at = rest.find(separator);
  std::string_view part = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return part;
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text.front() == '-' || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

bool identifier_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
           c == '~';
  });
}

std::strong_ordering compare_prerelease(std::string_view a, std::string_view b) {
  if (a.empty() != b.empty()) {  // a release comes after its pre-releases
    return a.empty() ? std::strong_ordering::greater : std::strong_ordering::less;
  }
  while (!a.empty() || !b.empty()) {
    if (a.empty()) return std::strong_ordering::less;
    if (b.empty()) return std::strong_ordering::greater;
    const std::string_view x = take_until(a, '.');
    const std::string_view y = take_until(b, '.');
    const auto i = number(x);
    const auto j = number(y);
    if (i && j) {
      if (*i != *j) return *i <=> *j;
    } else if (i || j) {
      return i ? std::strong_ordering::less : std::strong_ordering::greater;  // numbers come before words
    } else if (const int order = x.compare(y); order != 0) {
      return order <=> 0;
    }
  }
  return std::strong_ordering::equal;
}

enum class Relation { equal, not_equal, greater, less, greater_equal, less_equal, pessimistic };

struct Requirement {
  Relation relation;
  Version version;
};

std::optional<Requirement> parse_requirement(std::string_view text, VersionForm form) {
  text = trim(text);
  static constexpr std::pair<std::string_view, Relation> kRelations[] = {
      {"!=", Relation::not_equal},   {">=", Relation::greater_equal}, {"<=", Relation::less_equal},
      {"~>", Relation::pessimistic}, {">", Relation::greater},        {"<", Relation::less},
      {"=", Relation::equal}};
  Relation relation = Relation::equal;
  for (const auto& [sign, meaning] : kRelations) {
    if (!text.starts_with(sign)) continue;
    relation = meaning;
    text.remove_prefix(sign.size());
    break;
  }
  if (form == VersionForm::semver && relation == Relation::pessimistic) return std::nullopt;
  auto version = parse_version(trim(text), form);
  if (!version) return std::nullopt;
  return Requirement{relation, *std::move(version)};
}

// Nothing when one of them is none.
std::optional<std::vector<Requirement>> parse_requirements(std::string_view list, VersionForm form) {
  std::vector<Requirement> requirements;
  for (bool is_last = false; !is_last;) {
    is_last = list.find(',') == std::string_view::npos;
    auto requirement = parse_requirement(take_until(list, ','), form);
    if (!requirement) return std::nullopt;
    requirements.push_back(*std::move(requirement));
  }
  return requirements;
}

// Every written part but the last must agree; the last may only grow.
bool pessimistically(const Version& version, const Version& wanted) {
  if (version < wanted) return false;
  const size_t fixed = wanted.given > 1 ? wanted.given - 1 : 1;
  for (size_t i = 0; i < fixed; ++i) {
    if (i >= version.parts.size() || version.parts[i] != wanted.parts[i]) return false;
  }
  return true;
}

bool meets(const Version& version, const Requirement& requirement, VersionForm form) {
  const Version& wanted = requirement.version;
  const bool ordered = requirement.relation != Relation::equal && requirement.relation != Relation::not_equal;
  if (form == VersionForm::loose && ordered) {
    const bool either = !version.prerelease.empty() || !wanted.prerelease.empty();
    const bool same_numbers = version.parts == wanted.parts;
    if (!version.prerelease.empty() && (wanted.prerelease.empty() || !same_numbers)) return false;
    if (either && requirement.relation == Relation::pessimistic && version.prerelease.empty()) return false;
  }
  switch (requirement.relation) {
    case Relation::equal:
      return version == wanted;
    case Relation::not_equal:
      return version != wanted;
    case Relation::greater:
      return version > wanted;
    case Relation::less:
      return version < wanted;
    case Relation::greater_equal:
      return version >= wanted;
    case Relation::less_equal:
      return version <= wanted;
    case Relation::pessimistic:
      return pessimistically(version, wanted);
  }
  return false;
}

}  // namespace

std::strong_ordering operator<=>(const Version& a, const Version& b) {
  for (size_t i = 0; i < std::max(a.parts.size(), b.parts.size()); ++i) {
    const int64_t x = i < a.parts.size() ? a.parts[i] : 0;
    const int64_t y = i < b.parts.size() ? b.parts[i] : 0;
    if (x != y) return x <=> y;
  }
  return compare_prerelease(a.prerelease, b.prerelease);
}

std::optional<Version> parse_version(std::string_view text, VersionForm form) {
  text = trim(text);
  if (text.starts_with('v')) text.remove_prefix(1);
  if (const size_t plus = text.find('+'); plus != std::string_view::npos) {
    if (plus + 1 == text.size() || !identifier_text(text.substr(plus + 1))) return std::nullopt;
    text = text.substr(0, plus);
  }
  Version version;
  const size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    version.prerelease = text.substr(dash + 1);
    if (version.prerelease.empty() || !identifier_text(version.prerelease)) return std::nullopt;
    text = text.substr(0, dash);
  } else if (form == VersionForm::loose) {  // "1.2.3beta1" is a pre-release as well
    const size_t letter = text.find_first_not_of("0123456789.");
    if (letter != std::string_view::npos && letter > 0 && text[letter - 1] != '.') {
      version.prerelease = text.substr(letter);
      if (!identifier_text(version.prerelease)) return std::nullopt;
      text = text.substr(0, letter);
    }
  }
  if (text.empty() || text.back() == '.') return std::nullopt;
  while (!text.empty()) {
    const std::string_view part = take_until(text, '.');
    const auto value = number(part);
    if (!value) return std::nullopt;
    version.parts.push_back(*value);
  }
  version.given = version.parts.size();
  while (version.parts.size() < 3) version.parts.push_back(0);
  return version;
}

bool are_version_constraints(std::string_view list, VersionForm form) {
  return parse_requirements(list, form).has_value();
}

bool version_meets(std::string_view version, std::string_view constraints, VersionForm form) {
  const auto parsed = parse_version(version, form);
  const auto requirements = parse_requirements(constraints, form);
  return parsed && requirements && std::ranges::all_of(*requirements, [&](const Requirement& requirement) {
           return meets(*parsed, requirement, form);
         });
}

}  // namespace drover
