#include "lexer.h"

#include <algorithm>

#include "unicode.h"

namespace drover::hcl {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Punctuation {
  std::string_view text;
  TokenKind kind;
};

// Longer ones first.
constexpr Punctuation kPunctuation[] = {
    {"...", TokenKind::ellipsis},  {"==", TokenKind::equal_equal},   {"!=", TokenKind::not_equal},
    {"<=", TokenKind::less_equal}, {">=", TokenKind::greater_equal}, {"&&", TokenKind::and_and},
    {"||", TokenKind::or_or},      {"=>", TokenKind::fat_arrow},     {"{", TokenKind::open_brace},
    {"}", TokenKind::close_brace}, {"[", TokenKind::open_bracket},   {"]", TokenKind::close_bracket},
    {"(", TokenKind::open_paren},  {")", TokenKind::close_paren},    {",", TokenKind::comma},
    {".", TokenKind::dot},         {"*", TokenKind::star},           {"/", TokenKind::slash},
    {"%", TokenKind::percent},     {"+", TokenKind::plus},           {"-", TokenKind::minus},
    {"=", TokenKind::equal},       {"<", TokenKind::less},           {">", TokenKind::greater},
    {"!", TokenKind::bang},        {"?", TokenKind::question},       {":", TokenKind::colon},
};

class Lexer {
 public:
  Lexer(const Source& source, Diagnostics& diagnostics)
      : text_(source.text), file_(source.name), at_(source.origin), diagnostics_(diagnostics) {
    at_.byte = 0;
  }

  std::vector<Token> run(LexMode mode) {
    modes_.push_back({mode == LexMode::expressions ? ModeKind::expressions : ModeKind::bare_template, {}, {}, 0});
    if (text_.size() > kMaxSourceBytes) {
      report({at_, at_}, "the text is larger than " + std::to_string(kMaxSourceBytes >> 20) + " MiB");
    } else {
      if (text_.starts_with("\xef\xbb\xbf")) at_.byte = 3;
      while (at_.byte < text_.size() && !stopped_) step();
      report_open_modes();
    }
    add(TokenKind::end, at_);
    return std::move(tokens_);
  }

 private:
  enum class ModeKind { expressions, interpolation, quoted, heredoc, bare_template };

  struct Mode {
    ModeKind kind;
    Range opened;
    std::string_view marker;  // of a heredoc
    size_t braces;            // open inside an interpolation
  };

  std::string_view rest() const { return text_.substr(at_.byte); }

  // Moves over `bytes` bytes of valid or invalid UTF-8, keeping line and column.
  void advance(size_t bytes) {
    for (size_t end = at_.byte + bytes; at_.byte < end; ++at_.byte) {
      auto c = static_cast<unsigned char>(text_[at_.byte]);
      if (c == '\n') {
        ++at_.line;
        at_.column = 1;
      } else if ((c & 0xc0) != 0x80) {
        ++at_.column;
      }
    }
  }

  void add(TokenKind kind, Position start) {
    tokens_.push_back({kind, {start, at_}, text_.substr(start.byte, at_.byte - start.byte)});
  }

  void take(TokenKind kind, size_t bytes) {
    Position start = at_;
    advance(bytes);
    add(kind, start);
  }

  void report(Range range, std::string message, std::string hint = {}) {
    diagnostics_.error(file_, range, std::move(message), std::move(hint));
  }

  void push(Mode mode) {
    if (modes_.size() > kMaxNesting) {
      report(mode.opened, "templates are nested more than " + std::to_string(kMaxNesting) + " levels deep");
      stopped_ = true;
      return;
    }
    modes_.push_back(mode);
  }

  void step() {
    switch (modes_.back().kind) {
      case ModeKind::expressions:
      case ModeKind::interpolation:
        return step_expression();
      case ModeKind::quoted:
        return step_quoted();
      case ModeKind::heredoc:
        if (close_heredoc()) return;
        return step_lines();
      case ModeKind::bare_template:
        return step_lines();
    }
  }

  void step_expression() {
    std::string_view text = rest();
    char c = text.front();
    if (c == ' ' || c == '\t') return advance(1);
    if (c == '\n') return take(TokenKind::newline, 1);
    if (text.starts_with("\r\n")) return take(TokenKind::newline, 2);
    if (c == '#' || text.starts_with("//")) return line_comment();
    if (text.starts_with("/*")) return block_comment();
    if (c == '"') {
      Position start = at_;
      take(TokenKind::open_quote, 1);
      return push({ModeKind::quoted, {start, at_}, {}, 0});
    }
    if (text.starts_with("<<") && open_heredoc()) return;
    if (is_digit(c)) return take(TokenKind::number, number_length());
    CodePoint first = decode_utf8(text);
    if (first.bytes > 0 && begins_identifier(first.value)) return take(TokenKind::identifier, identifier_length(text));
    punctuation();
  }

  void punctuation() {
    std::string_view text = rest();
    Mode& mode = modes_.back();
    if (mode.kind == ModeKind::interpolation && mode.braces == 0) {
      if (size_t length = text.starts_with("~}") ? 2 : text.starts_with("}") ? 1 : 0; length > 0) {
        take(TokenKind::close_template, length);
        modes_.pop_back();
        return;
      }
    }
    for (const Punctuation& p : kPunctuation) {
      if (!text.starts_with(p.text)) continue;
      if (p.kind == TokenKind::open_brace) ++mode.braces;
      if (p.kind == TokenKind::close_brace && mode.braces > 0) --mode.braces;
      return take(p.kind, p.text.size());
    }
    invalid_character();
  }

  void invalid_character() {
    CodePoint point = decode_utf8(rest());
    Position start = at_;
    take(TokenKind::invalid, std::max<size_t>(point.bytes, 1));
    if (point.bytes == 0) return report({start, at_}, "this byte is not valid UTF-8");
    std::string text(text_.substr(start.byte, point.bytes));
    std::string hint;
    if (text == "'") hint = "strings stand between double quotes";
    if (text == "&") hint = "logical and is written &&";
    if (text == "|") hint = "logical or is written ||";
    if (text == "\xe2\x80\x9c" || text == "\xe2\x80\x9d") hint = "use the plain double quote \"";
    if (point.value < 0x20 || point.value == 0x7f) text = "U+" + std::to_string(point.value);
    report({start, at_}, "the character " + text + " has no meaning here", hint);
  }

  size_t number_length() const {
    std::string_view text = rest();
    size_t at = 0;
    auto digits = [&] {
      while (at < text.size() && is_digit(text[at])) ++at;
    };
    auto digit_at = [&](size_t i) { return i < text.size() && is_digit(text[i]); };
    digits();
    if (at < text.size() && text[at] == '.' && digit_at(at + 1)) {
      ++at;
      digits();
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
      size_t sign = at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-') ? 1 : 0;
      if (digit_at(at + 1 + sign)) {
        at += 1 + sign;
        digits();
      }
    }
    return at;
  }

  static size_t identifier_length(std::string_view text) {
    size_t at = 0;
    while (true) {
      CodePoint point = decode_utf8(text.substr(at));
      if (point.bytes == 0 || !continues_identifier(point.value)) return at;
      at += point.bytes;
    }
  }

  void line_comment() {
    size_t end = rest().find('\n');
    if (end == std::string_view::npos) end = rest().size();
    if (end > 0 && rest()[end - 1] == '\r') --end;
    take(TokenKind::comment, end);
  }

  void block_comment() {
    size_t end = rest().find("*/", 2);
    Position start = at_;
    take(TokenKind::comment, end == std::string_view::npos ? rest().size() : end + 2);
    if (end == std::string_view::npos) {
      Position opened = start;
      opened.column += 2, opened.byte += 2;
      report({start, opened}, "this comment has no end", "close it with */");
    }
  }

  // "<<" ["-"] identifier end-of-line; otherwise the text is ordinary punctuation.
  bool open_heredoc() {
    std::string_view text = rest();
    size_t begin = text.starts_with("<<-") ? 3 : 2;
    CodePoint first = decode_utf8(text.substr(begin));
    if (first.bytes == 0 || !begins_identifier(first.value)) return false;
    size_t length = identifier_length(text.substr(begin));
    std::string_view marker = text.substr(begin, length);
    std::string_view after = text.substr(begin + length);
    Position start = at_;
    size_t line_end = after.starts_with("\r\n") ? 2 : after.starts_with("\n") ? 1 : 0;
    if (line_end == 0) {
      take(TokenKind::invalid, begin + length);
      report({start, at_}, "a heredoc's opening line ends behind its marker " + std::string(marker));
      return true;
    }
    take(TokenKind::open_heredoc, begin + length + line_end);
    Position marker_end = start;
    marker_end.column += static_cast<int>(begin + length), marker_end.byte += begin + length;
    push({ModeKind::heredoc, {start, marker_end}, marker, 0});
    return true;
  }

  bool close_heredoc() {
    if (at_.byte > 0 && text_[at_.byte - 1] != '\n') return false;
    std::string_view line = rest().substr(0, rest().find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return false;
    size_t end = line.find_last_not_of(" \t") + 1;
    if (line.substr(begin, end - begin) != modes_.back().marker) return false;
    take(TokenKind::close_heredoc, end);
    modes_.pop_back();
    return true;
  }

  // The length of the literal text up to a template sequence, an end of line or, in quotes, a quote.
  size_t literal_length(bool quoted) const {
    std::string_view text = rest();
    size_t at = 0;
    while (at < text.size()) {
      char c = text[at];
      if (c == '\n') return quoted ? at : at + 1;
      if (quoted && c == '"') return at;
      if (quoted && c == '\\' && at + 1 < text.size() && text[at + 1] != '\n') {
        at += 2;
        continue;
      }
      if (c == '$' || c == '%') {
        if (at + 2 < text.size() && text[at + 1] == c && text[at + 2] == '{') {  // $${ stands for ${
          at += 3;
          continue;
        }
        if (at + 1 < text.size() && text[at + 1] == '{') return at;
      }
      ++at;
    }
    return at;
  }

  void open_template() {
    TokenKind kind = rest().front() == '$' ? TokenKind::open_interpolation : TokenKind::open_directive;
    Position start = at_;
    take(kind, rest().substr(2).starts_with("~") ? 3 : 2);
    push({ModeKind::interpolation, {start, at_}, {}, 0});
  }

  void literal(TokenKind kind, size_t length) {
    Position start = at_;
    take(kind, length);
    std::string_view text = tokens_.back().text;
    for (size_t i = 0; i < text.size();) {
      CodePoint point = decode_utf8(text.substr(i));
      if (point.bytes == 0) return report({start, at_}, "this text is not valid UTF-8");
      i += point.bytes;
    }
  }

  void step_lines() {
    if (size_t length = literal_length(false); length > 0) return literal(TokenKind::string_literal, length);
    open_template();
  }

  void step_quoted() {
    if (size_t length = literal_length(true); length > 0) return literal(TokenKind::quoted_literal, length);
    char c = rest().front();
    if (c == '"') {
      take(TokenKind::close_quote, 1);
      modes_.pop_back();
    } else if (c == '\n') {
      report({modes_.back().opened.start, at_}, "this string does not end on its line",
             "close it with \" or use a heredoc (<<EOF) for text of several lines");
      add(TokenKind::close_quote, at_);
      modes_.pop_back();
    } else {
      open_template();
    }
  }

  void report_open_modes() {
    if (stopped_ || modes_.size() < 2) return;
    const Mode& mode = modes_.back();  // the innermost says enough
    if (mode.kind == ModeKind::quoted) {
      report(mode.opened, "this string has no closing quote");
      add(TokenKind::close_quote, at_);
    } else if (mode.kind == ModeKind::heredoc) {
      report(mode.opened, "this heredoc has no closing line",
             "it ends with a line that holds only " + std::string(mode.marker));
    } else {
      report(mode.opened, "this template sequence has no closing }", "write $${ for a literal ${");
    }
  }

  std::string_view text_;
  std::string_view file_;
  Position at_;
  Diagnostics& diagnostics_;
  std::vector<Token> tokens_;
  std::vector<Mode> modes_;
  bool stopped_ = false;
};

}  // namespace

std::string_view to_string(TokenKind kind) {
  switch (kind) {
    case TokenKind::end:
      return "the end of the text";
    case TokenKind::newline:
      return "the end of the line";
    case TokenKind::comment:
      return "a comment";
    case TokenKind::identifier:
      return "a name";
    case TokenKind::number:
      return "a number";
    case TokenKind::open_quote:
    case TokenKind::close_quote:
      return "\"";
    case TokenKind::quoted_literal:
    case TokenKind::string_literal:
      return "text";
    case TokenKind::open_heredoc:
    case TokenKind::close_heredoc:
      return "a heredoc";
    case TokenKind::open_interpolation:
      return "${";
    case TokenKind::open_directive:
      return "%{";
    case TokenKind::close_template:
      return "}";
    case TokenKind::invalid:
      return "an invalid character";
    default:
      break;
  }
  const auto* found = std::ranges::find(kPunctuation, kind, &Punctuation::kind);
  return found == std::end(kPunctuation) ? std::string_view() : found->text;
}

std::vector<Token> lex(const Source& source, LexMode mode, Diagnostics& diagnostics) {
  return Lexer(source, diagnostics).run(mode);
}

}  // namespace drover::hcl
