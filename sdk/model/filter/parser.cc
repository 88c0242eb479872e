#include "parser.h"

#include <algorithm>
#include <optional>

#include "drover/model/filter.h"

namespace drover::filter {
namespace {

using ExpressionPtr = std::unique_ptr<const Expression>;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

void append_utf8(uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// A recursive descent with ordered choice: each rule takes what it can at the position, or leaves the position as it
// was. The furthest place where something else was expected is the place of the error.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<ExpressionPtr> run() {
    skip_spaces();
    auto expression = any(0);
    skip_spaces();
    if (expression && at_ == text_.size() && !error_) return expression;
    if (error_) return *error_;
    return error_at(std::max(furthest_, at_), "no match found");
  }

 private:
  // --- places

  Status error_at(size_t offset, std::string_view what) const {
    const std::string_view before = text_.substr(0, offset);
    const auto line = std::ranges::count(before, '\n') + 1;
    const size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return invalid_argument(std::to_string(line) + ":" + std::to_string(offset - begin + 1) + " (" +
                            std::to_string(offset) + "): " + std::string(what));
  }
  // An error that no other reading of the text can mend.
  void give_up(size_t offset, std::string_view what) {
    if (!error_) error_ = error_at(offset, what);
  }
  std::nullopt_t missed() {
    furthest_ = std::max(furthest_, at_);
    return std::nullopt;
  }

  // --- characters

  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void skip_spaces() {
    while (is_space(peek())) ++at_;
  }
  bool spaces() {
    if (!is_space(peek())) return missed(), false;
    skip_spaces();
    return true;
  }
  bool word(std::string_view wanted) {
    if (!text_.substr(at_).starts_with(wanted)) return missed(), false;
    at_ += wanted.size();
    return true;
  }
  // Words with spaces before each; all of them or none.
  bool spaced_words(std::initializer_list<std::string_view> words) {
    const size_t begin = at_;
    for (const std::string_view wanted : words) {
      if (spaces() && word(wanted)) continue;
      at_ = begin;
      return false;
    }
    return true;
  }

  // --- rules

  ExpressionPtr any(int depth) { return joined(depth, "or", Expression::Kind::any); }
  ExpressionPtr all(int depth) { return joined(depth, "and", Expression::Kind::all); }

  ExpressionPtr joined(int depth, std::string_view by, Expression::Kind kind) {
    const auto part = [&] { return kind == Expression::Kind::any ? all(depth) : negation(depth); };
    ExpressionPtr first = part();
    if (!first) return nullptr;
    auto together = std::make_unique<Expression>();
    together->kind = kind;
    while (true) {
      const size_t begin = at_;
      ExpressionPtr next = spaced_words({by}) && spaces() ? part() : nullptr;
      if (!next) {
        at_ = begin;
        break;
      }
      if (first) together->parts.push_back(std::move(first));
      together->parts.push_back(std::move(next));
    }
    return first ? std::move(first) : std::move(together);
  }

  ExpressionPtr negation(int depth) {
    const size_t begin = at_;
    bool negated = false;
    while (word("not") && spaces()) {
      negated = !negated;
      ExpressionPtr inner = primary(depth);
      if (!inner) continue;  // perhaps another "not"
      if (!negated) return inner;
      auto outer = std::make_unique<Expression>();
      outer->kind = Expression::Kind::negation;
      outer->parts.push_back(std::move(inner));
      return outer;
    }
    at_ = begin;
    return primary(depth);
  }

  ExpressionPtr primary(int depth) {
    if (error_) return nullptr;
    ExpressionPtr inside = group(depth);
    return inside || error_ ? std::move(inside) : match();
  }

  ExpressionPtr group(int depth) {
    const size_t begin = at_;
    if (!word("(")) return nullptr;
    if (depth >= Filter::kMaxDepth) {
      give_up(begin, "parentheses are nested too deeply");
      return nullptr;
    }
    skip_spaces();
    ExpressionPtr inside = any(depth + 1);
    if (inside) {
      skip_spaces();
      if (word(")")) return inside;
      if (at_ == text_.size()) give_up(at_, "rule \"grouping\": Unmatched parentheses");
    }
    at_ = begin;
    return nullptr;
  }

  ExpressionPtr match() {
    const size_t begin = at_;
    auto found = std::make_unique<Expression>();
    if (selector_first(*found)) return found;
    at_ = begin;
    if (!error_ && value_first(*found)) return found;
    at_ = begin;
    return nullptr;
  }

  bool selector_first(Expression& found) {
    if (!selector(found.selector)) return false;
    if (const auto equal = equality()) {
      found.op = Operator::equal;
      found.negated = !*equal;
      return operand(found);
    }
    found.negated = spaced_words({"not", "contains"});
    if (found.negated || spaced_words({"contains"})) {
      found.op = Operator::in;
      return spaces() && operand(found);
    }
    found.negated = spaced_words({"not", "matches"});
    if (found.negated || spaced_words({"matches"})) {
      found.op = Operator::matches;
      return spaces() && operand(found);
    }
    found.op = Operator::empty;
    found.negated = spaced_words({"is", "not", "empty"});
    return found.negated || spaced_words({"is", "empty"});
  }

  // True for ==, false for !=; spaces around it are free.
  std::optional<bool> equality() {
    const size_t begin = at_;
    skip_spaces();
    const bool equal = word("=="), unequal = !equal && word("!=");
    if (!equal && !unequal) {
      at_ = begin;
      return std::nullopt;
    }
    skip_spaces();
    return equal;
  }

  bool operand(Expression& found) {
    auto read = value();
    if (!read) return false;
    found.value = *std::move(read);
    return true;
  }

  bool value_first(Expression& found) {
    if (!operand(found)) return false;
    found.op = Operator::in;
    found.negated = spaced_words({"not", "in"});
    if (!found.negated && !spaced_words({"in"})) return false;
    return spaces() && selector(found.selector);
  }

  bool selector(std::vector<Step>& steps) {
    steps.clear();
    if (peek() == '"') return pointer(steps);
    auto first = identifier();
    if (!first) return false;
    steps.push_back({*std::move(first)});
    while (true) {
      const size_t begin = at_;
      auto next = peek() == '.' ? dotted() : peek() == '[' ? indexed() : std::nullopt;
      if (!next) {
        at_ = begin;
        return !error_;
      }
      steps.push_back({*std::move(next)});
    }
  }

  std::optional<std::string> identifier() {
    if (!is_letter(peek())) return missed();
    const size_t begin = at_;
    while (is_letter(peek()) || is_digit(peek()) || peek() == '_' || peek() == '/') ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::optional<std::string> dotted() {
    ++at_;
    if (!is_digit(peek())) return identifier();
    const size_t begin = at_;
    while (is_digit(peek())) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::optional<std::string> indexed() {
    const size_t begin = at_++;
    skip_spaces();
    auto key = quoted();
    if (!key) {
      if (!error_) give_up(begin, "rule \"index\": Invalid index");
      return std::nullopt;
    }
    skip_spaces();
    if (!word("]")) {
      give_up(begin, "rule \"index\": Unclosed index expression");
      return std::nullopt;
    }
    return key;
  }

  // "/a/b", where ~1 stands for a slash and ~0 for a tilde.
  bool pointer(std::vector<Step>& steps) {
    const size_t begin = at_++;
    const auto is_part = [](char c) {
      return is_letter(c) || is_digit(c) || std::string_view("-_.~:|").find(c) != std::string_view::npos ||
             static_cast<unsigned char>(c) >= 0x80;
    };
    while (peek() == '/') {
      ++at_;
      Step step;
      while (peek() != '\0' && is_part(peek())) {
        if (peek() == '~' && (peek(1) == '0' || peek(1) == '1')) {
          step.name += peek(1) == '0' ? '~' : '/';
          at_ += 2;
        } else {
          step.name += text_[at_++];
        }
      }
      if (step.name.empty()) break;
      steps.push_back(std::move(step));
    }
    if (!steps.empty() && peek() == '"') return ++at_, true;
    missed();
    at_ = begin;
    return false;
  }

  std::optional<std::string> value() {
    const size_t begin = at_;
    std::vector<Step> steps;
    if (selector(steps)) {
      std::string joined = steps[0].name;
      for (size_t i = 1; i < steps.size(); ++i) joined += "." + steps[i].name;
      return joined;
    }
    at_ = begin;
    if (error_) return std::nullopt;
    if (peek() == '-' || is_digit(peek())) return number();
    return quoted();
  }

  std::optional<std::string> number() {
    const size_t begin = at_;
    if (peek() == '-') ++at_;
    if (!is_digit(peek())) return missed();
    if (text_[at_++] != '0') {
      while (is_digit(peek())) ++at_;
    }
    if (peek() == '.' && is_digit(peek(1))) {
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    if (at_ < text_.size() && !is_space(peek()) && peek() != ')') {
      give_up(begin, "rule \"number\": Invalid number literal");
      return std::nullopt;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::optional<std::string> quoted() {
    const char quote = peek();
    if (quote != '"' && quote != '`') return missed();
    const size_t begin = at_++;
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (quote == '"' && text_[at_] == '\\') {
        if (!escape(out)) {
          give_up(begin, "rule \"string\": invalid syntax");
          return std::nullopt;
        }
      } else if (quote == '"' && text_[at_] == '\n') {
        give_up(begin, "rule \"string\": invalid syntax");
        return std::nullopt;
      } else {
        out += text_[at_++];
      }
    }
    if (at_ == text_.size()) {
      give_up(begin, "rule \"string\": Unterminated string literal");
      return std::nullopt;
    }
    ++at_;
    return out;
  }

  bool escape(std::string& out) {
    constexpr std::string_view kNames = "abfnrtv\\";
    constexpr std::string_view kMeant = "\a\b\f\n\r\t\v\\";
    const char kind = peek(1);
    if (const size_t simple = kNames.find(kind); kind != '\0' && simple != std::string_view::npos) {
      at_ += 2;
      out += kMeant[simple];
      return true;
    }
    if (kind == 'x') return digits(2, 2, 16, out, /*is_byte=*/true);
    if (kind == 'u') return digits(2, 4, 16, out, /*is_byte=*/false);
    if (kind == 'U') return digits(2, 8, 16, out, /*is_byte=*/false);
    if (kind >= '0' && kind <= '7') return digits(1, 3, 8, out, /*is_byte=*/true);
    return false;
  }

  bool digits(size_t skipped, size_t count, uint32_t base, std::string& out, bool is_byte) {
    uint32_t code = 0;
    at_ += skipped;
    for (size_t i = 0; i < count; ++i, ++at_) {
      const char c = peek();
      const uint32_t digit = is_digit(c)            ? static_cast<uint32_t>(c - '0')
                             : c >= 'a' && c <= 'f' ? static_cast<uint32_t>(c - 'a' + 10)
                             : c >= 'A' && c <= 'F' ? static_cast<uint32_t>(c - 'A' + 10)
                                                    : 99;
      if (digit >= base) return false;
      code = code * base + digit;
    }
    if (is_byte) {
      if (code > 0xff) return false;
      out += static_cast<char>(code);
      return true;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    append_utf8(code, out);
    return true;
  }

  const std::string_view text_;
  size_t at_ = 0;
  size_t furthest_ = 0;
  std::optional<Status> error_;
};

}  // namespace

Result<ExpressionPtr> parse(std::string_view text) {
  if (text.size() > Filter::kMaxLength) {
    return invalid_argument("a filter has at most " + std::to_string(Filter::kMaxLength) + " bytes; this one has " +
                            std::to_string(text.size()));
  }
  return Parser(text).run();
}

}  // namespace drover::filter
