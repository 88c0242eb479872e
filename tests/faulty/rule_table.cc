// Reads the tables of faults.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>

#include "rules.h"

namespace drover::faulty {
namespace {

// The text inside the quotes at its beginning; moves behind them.
std::string take_quoted(std::string_view& rest) {
  std::string out;
  for (rest.remove_prefix(1); rest[0] != '"'; rest.remove_prefix(1)) {
    if (rest[0] == '\\') rest.remove_prefix(1);
    const bool is_escape = rest.data()[-1] == '\\';
    if (is_escape && rest[0] == 'x') {
      out += static_cast<char>(std::stoi(std::string(rest.substr(1, 2)), nullptr, 16));
      rest.remove_prefix(2);
    } else {
      out += is_escape && rest[0] == 'n' ? '\n' : rest[0];
    }
  }
  rest.remove_prefix(1);
  return out;
}

// Words, texts without their "quotes" or {braces}, and the signs : ; , on their own.
std::vector<std::string> tokens_of(std::string_view rest) {
  std::vector<std::string> tokens;
  while (!rest.empty()) {
    size_t size = 1;
    if (rest[0] == '"') {
      tokens.push_back(take_quoted(rest));
      continue;
    }
    if (rest[0] == '{') {
      for (int depth = 1; depth > 0; ++size) depth += rest[size] == '{' ? 1 : rest[size] == '}' ? -1 : 0;
      tokens.emplace_back(rest.substr(1, size - 2));
    } else if (std::string_view(":;,").find(rest[0]) != std::string_view::npos) {
      tokens.emplace_back(rest.substr(0, 1));
    } else if (rest[0] != ' ') {
      for (bool is_index = false; size < rest.size(); ++size) {
        is_index = rest[size] == '[' || (is_index && rest[size] != ']');
        if (!is_index && std::string_view(" :;,\"").find(rest[size]) != std::string_view::npos) break;
      }
      tokens.emplace_back(rest.substr(0, size));
    }
    rest.remove_prefix(size);
  }
  return tokens;
}

bool is_one_of(std::string_view list, const std::string& word) {
  return (" " + std::string(list) + " ").find(" " + word + " ") != std::string::npos;
}

class Parser {
 public:
  Parser(std::vector<std::string> tokens, std::string place) : tokens_(std::move(tokens)), place_(std::move(place)) {}

  std::vector<Rule> rules() {
    std::vector<Rule> all;
    do all.push_back(rule());
    while (takes(";"));
    expect(at_ == tokens_.size(), "the end");
    return all;
  }

 private:
  Rule rule() {
    Rule rule{.phase = word()};
    expect(is_one_of("on answer after at", rule.phase), "on, answer, after or at");
    do rule.methods.push_back(word());
    while (takes(","));
    for (bool more = takes("if"); more; more = takes("and")) rule.conditions.push_back(condition());
    expect(takes(":"), "a colon");
    do rule.actions.push_back(action());
    while (takes(","));
    return rule;
  }

  Condition condition() {
    Condition out{.is_negated = takes("not"), .what = word()};
    if (is_one_of("garbage ok cancelled", out.what)) return out;
    if (is_one_of("crashed task fails says has env", out.what)) {
      out.name = word();
    } else if (is_one_of("calls instance running open marked size", out.what)) {
      if (is_one_of("open marked size", out.what)) out.name = word();
      const bool is_compared = is_one_of("= < >", next());
      out.op = is_compared ? word() : ">";
      out.value = is_compared ? word() : "0";
    } else {
      out.name = std::exchange(out.what, "field");
      out.op = word();
      expect(is_one_of("= < > has begins ends", out.op), "a comparison");
      out.value = word();
    }
    return out;
  }

  Action action() {
    Action out{.what = word()};
    if (is_one_of("hang drop last end-task end-all fall-silent exit", out.what)) return out;
    if (is_one_of("say delay mark break log print do clear setenv unsetenv", out.what)) {
      out.name = word();
      if (out.what == "setenv") out.value = word();
    } else if (is_one_of("answer refuse", out.what)) {
      const bool is_alone = at_ == tokens_.size() || is_one_of(", ;", next());
      out.name = !is_alone ? word() : out.what == "refuse" ? "no" : "";
    } else {
      out.name = std::exchange(out.what, "set");
      expect(takes("=") || takes("+="), "an action");
      out.value = word();
    }
    return out;
  }

  std::string next() const { return at_ < tokens_.size() ? tokens_[at_] : ""; }
  bool takes(std::string_view token) { return next() == token && ++at_ > 0; }
  std::string word() {
    expect(at_ < tokens_.size(), "more");
    return tokens_[at_++];
  }
  void expect(bool holds, const char* what) const {
    if (holds) return;
    std::fprintf(stderr, "%s: expected %s before \"%s\"\n", place_.c_str(), what, next().c_str());
    std::abort();
  }

  const std::vector<std::string> tokens_;
  const std::string place_;
  size_t at_ = 0;
};

void add_row(const std::string& row, const std::vector<std::string>& kinds, const std::string& place,
             std::vector<Fault>& out) {
  const std::vector<std::string> tokens = tokens_of(row);
  const auto colon = std::ranges::find(tokens, ":");
  const std::vector<std::string> rest(std::min(colon + 1, tokens.end()), tokens.end());
  Fault whole{.kinds = kinds, .place = place};
  for (auto at = tokens.begin(); at != colon; ++at) {
    const size_t sign = at->find('=');
    if (sign == std::string::npos) {
      whole.checks.push_back(*at);
      continue;
    }
    Fault one{.checks = {at->substr(0, sign)}, .kinds = kinds, .place = place};
    const std::string word = sign + 1 < at->size() ? at->substr(sign + 1) : *++at;
    std::vector<std::string> own = rest;
    for (std::string& token : own) {
      if (const size_t place_of_word = token.find('@'); place_of_word != std::string::npos)
        token.replace(place_of_word, 1, word);
    }
    one.rules = Parser(own, place).rules();
    out.push_back(std::move(one));
  }
  if (whole.checks.empty()) return;
  whole.rules = Parser(rest, place).rules();
  out.push_back(std::move(whole));
}

void read_table(const std::string& name, std::vector<Fault>& out) {
  std::ifstream file(FAULT_TABLES "/" + name);
  DROVER_CHECK(file.good());
  std::vector<std::string> kinds;
  std::string line, row, place;
  for (int number = 1; !file.eof(); ++number) {
    const bool goes_on = std::getline(file, line) && line.starts_with("  ");
    if (!goes_on && !row.empty()) add_row(std::exchange(row, ""), kinds, place, out);
    if (goes_on) {
      row += line;
    } else if (line.starts_with('[')) {
      kinds = tokens_of(std::string_view(line).substr(1, line.size() - 2));
    } else if (!line.empty() && !line.starts_with('#')) {
      row = line;
      place = name + ":" + std::to_string(number);
    }
  }
}

}  // namespace

bool Fault::is_for(std::string_view word) const { return std::ranges::find(kinds, word) != kinds.end(); }

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = [] {
    std::vector<Fault> out;
    for (const char* table : {"every", "driver", "device", "check", "service", "auth"})
      read_table(std::string(table) + ".faults", out);
    return out;
  }();
  return all;
}

const Fault* fault_of(std::string_view kind, std::string_view check, size_t index) {
  for (const Fault& fault : faults()) {
    if (fault.is_for(kind) && std::ranges::find(fault.checks, check) != fault.checks.end() && index-- == 0)
      return &fault;
  }
  return nullptr;
}

}  // namespace drover::faulty
