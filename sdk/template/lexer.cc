#include "lexer.h"

#include <algorithm>

#include "print.h"

namespace drover::text_template {
namespace {

using Kind = Token::Kind;

constexpr std::string_view kSpaces = " \t\r\n";

bool is_space(char c) { return kSpaces.find(c) != std::string_view::npos; }
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view text, const Syntax& syntax) : text_(text), left_(syntax.left), right_(syntax.right) {}

  Result<std::vector<Token>> run() {
    while (at_ < text_.size()) {
      size_t open = std::min(text_.find(left_, at_), text_.size());
      DROVER_RETURN_IF_ERROR(plain(open));
      if (open < text_.size()) DROVER_RETURN_IF_ERROR(action());
    }
    add(Kind::end, "");
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  Place place() {
    for (; counted_ < at_; ++counted_) {
      if (text_[counted_] == '\n') {
        ++place_.line;
        place_.column = 1;
      } else if ((static_cast<unsigned char>(text_[counted_]) & 0xc0) != 0x80) {
        ++place_.column;
      }
    }
    return place_;
  }

  void add(Kind kind, std::string text, size_t length = 0) {
    tokens_.push_back({kind, std::move(text), place(), has_space_});
    at_ += length;
    has_space_ = false;
  }

  // The text up to an action, without the spaces that its marks take away.
  Status plain(size_t end) {
    std::string_view text = text_.substr(at_, end - at_);
    if (trims_) text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
    const bool trims_end = end < text_.size() && trims_before(end);
    if (trims_end) text.remove_suffix(text.size() - (text.find_last_not_of(kSpaces) + 1));
    trims_ = false;
    if (!text.empty()) add(Kind::text, std::string(text));
    at_ = end;
    return ok_status();
  }

  // The action that opens there takes the space in front of it away.
  bool trims_before(size_t open) const {
    const std::string_view inner = text_.substr(open + left_.size());
    return inner.size() > 1 && inner[0] == '-' && is_space(inner[1]);
  }

  // The length of the action's end here; 0 when it does not end here. One that takes the space behind it away is longer
  // than right_.
  size_t closing() const {
    if (rest().starts_with(right_)) return right_.size();
    const bool trims = peek() == '-' && rest().substr(1).starts_with(right_) && at_ > 0 && is_space(text_[at_ - 1]);
    return trims ? right_.size() + 1 : 0;
  }

  Status action() {
    Place opened = place();
    size_t begin = at_;
    const bool trims = trims_before(at_);
    at_ += left_.size() + (trims ? 1 : 0);
    size_t inner = at_;
    while (is_space(peek())) ++at_;
    if (rest().starts_with("/*") && (at_ == inner || trims)) return comment(opened);
    at_ = begin;
    has_space_ = false;
    add(Kind::open, std::string(left_), inner - begin);
    int depth = 0;
    while (true) {
      while (at_ < text_.size() && is_space(text_[at_])) {
        ++at_;
        has_space_ = true;
      }
      if (at_ == text_.size())
        return template_error(opened, "this action is not closed: " + std::string(right_) + " is missing");
      if (size_t length = closing()) {
        if (depth > 0) return template_error(place(), "a ) is missing");
        trims_ = length > right_.size();
        add(Kind::close, std::string(right_), length);
        return ok_status();
      }
      if (peek() == '(') ++depth;
      if (peek() == ')' && --depth < 0) return template_error(place(), "this ) closes nothing");
      DROVER_RETURN_IF_ERROR(token());
    }
  }

  Status comment(const Place& opened) {
    size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos) return template_error(opened, "this comment is not closed");
    at_ = end + 2;
    while (is_space(peek())) ++at_;
    size_t length = closing();
    if (length == 0 || (length == right_.size() && is_space(text_[at_ - 1]))) {
      const std::string mark(right_);
      return template_error(place(), "a comment is followed by " + mark + " or by \" -" + mark + "\"");
    }
    trims_ = length > right_.size();
    at_ += length;
    return ok_status();
  }

  size_t word_length(size_t from) const {
    size_t end = at_ + from;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return end - at_;
  }

  Status token() {
    char c = peek();
    if (c == '"' || c == '\'' || c == '`') return quoted(c);
    if (c == '.' && !is_digit(peek(1))) {
      size_t length = word_length(1);
      add(length > 1 ? Kind::field : Kind::dot, std::string(rest().substr(0, length)), length);
      return ok_status();
    }
    if (c == '$') {
      size_t length = word_length(1);
      add(Kind::variable, std::string(rest().substr(0, length)), length);
      return ok_status();
    }
    if (is_digit(c) || c == '.' || ((c == '+' || c == '-') && (is_digit(peek(1)) || peek(1) == '.'))) return number();
    if (is_word(c)) {
      size_t length = word_length(0);
      add(Kind::word, std::string(rest().substr(0, length)), length);
      return ok_status();
    }
    if (rest().starts_with(":=")) {
      add(Kind::mark, ":=", 2);
      return ok_status();
    }
    if (std::string_view("|(),=").find(c) != std::string_view::npos) {
      add(Kind::mark, std::string(1, c), 1);
      return ok_status();
    }
    return template_error(place(), "unexpected character " + std::string(1, '"') + c + "\"");
  }

  Status number() {
    size_t end = at_ + (peek() == '+' || peek() == '-' ? 1 : 0);
    bool is_hex = text_.substr(end).starts_with("0x") || text_.substr(end).starts_with("0X");
    while (end < text_.size() && (is_word(text_[end]) || text_[end] == '.' ||
                                  ((text_[end] == '+' || text_[end] == '-') && is_exponent(text_[end - 1], is_hex))))
      ++end;
    add(Kind::number, std::string(text_.substr(at_, end - at_)), end - at_);
    return ok_status();
  }

  static bool is_exponent(char c, bool is_hex) { return is_hex ? c == 'p' || c == 'P' : c == 'e' || c == 'E'; }

  Status quoted(char mark) {
    Place opened = place();
    std::string out;
    for (size_t end = at_ + 1;;) {
      if (end >= text_.size() || (mark != '`' && text_[end] == '\n')) {
        return template_error(opened, mark == '\'' ? "this character is not closed" : "this string is not closed");
      }
      if (text_[end] == mark) {
        if (mark == '\'' && characters(out) != 1) return template_error(opened, "one character stands between ' and '");
        add(mark == '\'' ? Kind::character : Kind::string, std::move(out), end + 1 - at_);
        return ok_status();
      }
      if (mark == '`' || text_[end] != '\\') {
        if (mark != '`' || text_[end] != '\r') out += text_[end];
        ++end;
        continue;
      }
      size_t length = escape(text_.substr(end), mark, out);
      if (length == 0) return template_error(opened, "there is an unknown escape in this text");
      end += length;
    }
  }

  static size_t characters(std::string_view text) {
    return static_cast<size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  }

  // Decodes the escape at the text's beginning; its length, or 0.
  static size_t escape(std::string_view text, char mark, std::string& out) {
    if (text.size() < 2) return 0;
    static constexpr std::string_view kLetters = "abfnrtv\\", kValues = "\a\b\f\n\r\t\v\\";
    if (size_t at = kLetters.find(text[1]); at != std::string_view::npos) {
      out += kValues[at];
      return 2;
    }
    if (text[1] == mark) {
      out += mark;
      return 2;
    }
    size_t digits = text[1] == 'x'                     ? 2
                    : text[1] == 'u'                   ? 4
                    : text[1] == 'U'                   ? 8
                    : text[1] >= '0' && text[1] <= '7' ? 3
                                                       : 0;
    size_t first = digits == 3 ? 1 : 2;
    uint32_t base = digits == 3 ? 8 : 16, point = 0;
    if (digits == 0 || text.size() < first + digits) return 0;
    for (char c : text.substr(first, digits)) {
      uint32_t digit = is_digit(c)                          ? static_cast<uint32_t>(c - '0')
                       : (c | 32) >= 'a' && (c | 32) <= 'f' ? static_cast<uint32_t>((c | 32) - 'a' + 10)
                                                            : 99;
      if (digit >= base) return 0;
      point = point * base + digit;
    }
    if (digits <= 3) {
      if (point > 255) return 0;
      out += static_cast<char>(point);
    } else {
      if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return 0;
      append_character(out, point);
    }
    return first + digits;
  }

  const std::string_view text_, left_, right_;
  size_t at_ = 0;
  size_t counted_ = 0;
  Place place_;
  bool trims_ = false;
  bool has_space_ = false;
  std::vector<Token> tokens_;
};

}  // namespace

Status template_error(const Place& place, const std::string& problem) {
  return invalid_argument("template " + std::to_string(place.line) + ":" + std::to_string(place.column) + ": " +
                          problem);
}

Result<std::vector<Token>> tokens_of(std::string_view text, const Syntax& syntax) {
  if (text.size() > kMaxTemplate) return invalid_argument("the template is larger than 1 MiB");
  return Lexer(text, syntax).run();
}

}  // namespace drover::text_template
