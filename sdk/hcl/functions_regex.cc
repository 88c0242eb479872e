// Regular expressions, in RE2's syntax. The only file of the language that includes RE2.
#include <re2/re2.h>

#include "functions.h"

namespace drover::hcl {
namespace {

// A search may read all that is left of the text, so this bounds searches times text, in bytes.
constexpr size_t kMaxSearched = 40'000'000;

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// $1, ${1}, $name, ${name}: a group of the match, empty when there is none; $$ is a dollar sign.
std::string expand(std::string_view form, const std::vector<re2::StringPiece>& groups,
                   const std::map<std::string, int>& names) {
  std::string out;
  while (!form.empty()) {
    size_t dollar = std::min(form.find('$'), form.size());
    out += form.substr(0, dollar);
    form.remove_prefix(dollar);
    if (form.empty()) break;
    form.remove_prefix(1);
    if (form.starts_with('$')) {
      out += '$';
      form.remove_prefix(1);
      continue;
    }
    bool braced = form.starts_with('{');
    size_t begin = braced ? 1 : 0, end = begin;
    while (end < form.size() && is_word(form[end])) ++end;
    if (end == begin || (braced && (end == form.size() || form[end] != '}'))) {
      out += '$';
      continue;
    }
    std::string name(form.substr(begin, end - begin));
    form.remove_prefix(braced ? end + 1 : end);
    size_t group = groups.size();
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      if (name.size() < 6) group = std::stoul(name);
    } else if (auto found = names.find(name); found != names.end()) {
      group = static_cast<size_t>(found->second);
    }
    if (group < groups.size()) out.append(groups[group].data() ? groups[group].data() : "", groups[group].size());
  }
  return out;
}

// \C is one byte, which may be a part of a character.
bool names_a_byte(std::string_view pattern) {
  for (size_t at = 0; at + 1 < pattern.size();) {
    if (pattern[at] != '\\') {
      ++at;
    } else if (pattern[at + 1] == 'C') {
      return true;
    } else if (pattern[at + 1] == 'Q') {  // what stands up to \E stands for itself
      at = std::min(pattern.find("\\E", at), pattern.size());
    } else {
      at += 2;
    }
  }
  return false;
}

Result<Value> regex_replace(Arguments arguments) {
  DROVER_TRY(std::string text, text_argument(arguments, 0));
  DROVER_TRY(std::string pattern, text_argument(arguments, 1));
  DROVER_TRY(std::string form, text_argument(arguments, 2));
  if (names_a_byte(pattern)) return invalid_argument("argument 2 is no regular expression: \\C is not known");
  RE2::Options options;
  options.set_log_errors(false);
  RE2 expression(pattern, options);
  if (!expression.ok()) return invalid_argument("argument 2 is no regular expression: " + expression.error());
  std::vector<re2::StringPiece> groups(static_cast<size_t>(expression.NumberOfCapturingGroups()) + 1);
  const auto& names = expression.NamedCapturingGroups();
  std::string out;
  size_t at = 0;
  size_t last_end = std::string::npos, searched = 0;
  while (at <= text.size() &&
         expression.Match(text, at, text.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) {
    searched += text.size() - at;
    if (searched > kMaxSearched) return resource_exhausted("the text is too long for so many matches");
    auto begin = static_cast<size_t>(groups[0].data() - text.data());
    size_t end = begin + groups[0].size();
    out.append(text, at, begin - at);
    // An empty match right behind another one does not count.
    if (!(begin == end && begin == last_end)) out += expand(form, groups, names);
    last_end = end;
    at = end;
    if (begin == end) {
      size_t next = at;
      if (next < text.size()) ++next;
      while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xc0) == 0x80) ++next;
      out.append(text, at, next - at);
      if (at == text.size()) return Value(std::move(out));
      at = next;
    }
    if (out.size() > kMaxValueWeight) return resource_exhausted("the result is too large");
  }
  return Value(out.append(text, std::min(at, text.size())));
}

}  // namespace

void add_regex_functions(Functions& functions) { functions["regex_replace"] = with_count(3, 3, regex_replace); }

}  // namespace drover::hcl
