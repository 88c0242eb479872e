#include <algorithm>

#include "parser.h"
#include "unicode.h"

namespace drover::hcl {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// The white space at the beginning of a text: in characters, at most `most` of them, and the bytes that they take.
struct Indentation {
  size_t characters = 0;
  size_t bytes = 0;
};

Indentation indentation_of(std::string_view text, size_t most = std::string_view::npos) {
  Indentation found;
  while (found.characters < most) {
    CodePoint point = decode_utf8(text.substr(found.bytes));
    bool is_blank = point.bytes > 0 && (point.value == '\t' || is_space_separator(point.value));
    if (!is_blank) break;
    ++found.characters;
    found.bytes += point.bytes;
  }
  return found;
}

bool is_blank_line(std::string_view line) {
  const size_t own = indentation_of(line).bytes;
  return own < line.size() && is_space(line[own]);
}

// $${ and %%{ stand for ${ and %{.
std::string without_template_escapes(std::string_view raw) {
  std::string text;
  for (size_t i = 0; i < raw.size(); ++i) {
    text += raw[i];
    if ((raw[i] == '$' || raw[i] == '%') && raw.substr(i + 1, 2) == std::string{raw[i], '{'}) ++i;
  }
  return text;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool at_line_start(const Token& token, std::string_view source) {
  return token.range.start.byte == 0 || source[token.range.start.byte - 1] == '\n';
}

}  // namespace

struct Parser::TemplatePart {
  enum class Kind { literal, interpolation, if_, else_, endif, for_, endfor } kind = Kind::literal;
  Range range;
  std::string text;         // of a literal
  bool line_start = false;  // of anything: it begins a line
  ExprPtr expression;       // of an interpolation, an if or, in `loop`, a for
  std::shared_ptr<ForExpr> loop;
  bool trim_left = false;   // ${~
  bool trim_right = false;  // ~}
};

// Backslash escapes of a quoted literal, then the template escapes.
std::string Parser::unescape(const Token& token) {
  std::string_view raw = token.text;
  std::string text;
  for (size_t i = 0; i < raw.size(); ++i) {
    char c = raw[i];
    if ((c == '$' || c == '%') && raw.substr(i + 1, 2) == std::string{c, '{'}) {
      text += c;
      ++i;
      continue;
    }
    if (c != '\\') {
      text += c;
      continue;
    }
    char escape = i + 1 < raw.size() ? raw[++i] : '\0';
    size_t digits = escape == 'u' ? 4 : escape == 'U' ? 8 : 0;
    if (escape == 'n')
      text += '\n';
    else if (escape == 'r')
      text += '\r';
    else if (escape == 't')
      text += '\t';
    else if (escape == '"' || escape == '\\')
      text += escape;
    else if (digits > 0) {
      uint32_t point = 0;
      size_t read = 0;
      for (; read < digits && i + 1 < raw.size() && hex_digit(raw[i + 1]) >= 0; ++read) {
        point = point * 16 + static_cast<uint32_t>(hex_digit(raw[++i]));
      }
      if (read < digits) {
        error(token.range,
              std::string("the escape \\") + escape + " needs " + std::to_string(digits) + " hexadecimal digits");
      }
      append_utf8(text, point);
    } else {
      error(token.range, std::string("the escape \\") + escape + " is not known",
            "known are \\n \\r \\t \\\" \\\\ \\uXXXX \\UXXXXXXXX");
    }
  }
  return text;
}

ExprPtr Parser::parse_quoted() {
  Nesting nesting(*this);
  if (nesting.too_deep()) return nullptr;
  Position start = next().range.start;
  std::vector<TemplatePart> parts;
  if (!read_template_parts(TokenKind::close_quote, parts)) return nullptr;
  return build_template(parts, since(start));
}

ExprPtr Parser::parse_heredoc() {
  Nesting nesting(*this);
  if (nesting.too_deep()) return nullptr;
  const Token& open = next();
  std::vector<TemplatePart> parts;
  if (!read_template_parts(TokenKind::close_heredoc, parts)) return nullptr;
  const bool is_flush = open.text.starts_with("<<-");
  return build_template(parts, since(open.range.start), is_flush);
}

ExprPtr Parser::parse_whole_template() {
  std::vector<TemplatePart> parts;
  if (!read_template_parts(TokenKind::end, parts)) return nullptr;
  Position start = source_->origin;
  start.byte = 0;
  return build_template(parts, since(start));
}

bool Parser::read_template_parts(TokenKind end, std::vector<TemplatePart>& parts) {
  while (true) {
    const Token& token = next();
    if (token.kind == end) return true;
    TemplatePart part;
    part.range = token.range;
    part.line_start = at_line_start(token, source_->text);
    if (token.kind == TokenKind::quoted_literal) {
      part.text = unescape(token);
    } else if (token.kind == TokenKind::string_literal) {
      part.text = without_template_escapes(token.text);
    } else if (token.kind == TokenKind::open_interpolation || token.kind == TokenKind::open_directive) {
      Newlines insignificant(*this, false);
      part.trim_left = token.text.ends_with('~');
      if (token.kind == TokenKind::open_directive) {
        if (!read_directive(token, part)) return false;
      } else {
        part.kind = TemplatePart::Kind::interpolation;
        part.expression = parse_expression();
        if (!part.expression) return false;
      }
      part.trim_right = peek().text.starts_with('~');
      if (!expect(TokenKind::close_template, "at the end of this template sequence")) return false;
      part.range = since(token.range.start);
    } else {
      error(token.range, "this template has no end");
      return false;
    }
    parts.push_back(std::move(part));
  }
}

bool Parser::read_directive(const Token& open, TemplatePart& part) {
  using enum TemplatePart::Kind;
  if (at_word("if")) {
    next();
    part.kind = if_;
    part.expression = parse_expression();
    return part.expression != nullptr;
  }
  if (at_word("for")) {
    part.kind = for_;
    part.loop = std::make_shared<ForExpr>(open.range);
    return parse_for_intro(*part.loop);
  }
  if (at_word("else"))
    part.kind = else_;
  else if (at_word("endif"))
    part.kind = endif;
  else if (at_word("endfor"))
    part.kind = endfor;
  else {
    unexpected("if, else, endif, for or endfor behind %{");
    return false;
  }
  next();
  return true;
}

// <<- takes away the indentation that all lines share. Blank lines do not count, and keep what they have. A line begins
// behind a line end that no ~ marker took.
void Parser::unindent(std::vector<TemplatePart>& parts) {
  size_t common = std::string::npos;
  std::vector<TemplatePart*> indented;
  bool begins_a_line = true;
  for (TemplatePart& part : parts) {
    const bool is_literal = part.kind == TemplatePart::Kind::literal;
    if (begins_a_line && !is_literal) common = 0;
    if (begins_a_line && is_literal && !is_blank_line(part.text)) {
      common = std::min(common, indentation_of(part.text).characters);
      indented.push_back(&part);
    }
    begins_a_line = is_literal && part.text.ends_with('\n');
  }
  for (TemplatePart* part : indented) part->text.erase(0, indentation_of(part->text, common).bytes);
}

// Joins neighbouring literals into one; with `within_lines`, only those on one line of a heredoc.
std::vector<Parser::TemplatePart> Parser::join_literals(std::vector<TemplatePart> parts, bool within_lines) {
  std::vector<TemplatePart> joined;
  for (TemplatePart& part : parts) {
    bool continues = part.kind == TemplatePart::Kind::literal && !joined.empty() &&
                     joined.back().kind == TemplatePart::Kind::literal && !(within_lines && part.line_start);
    if (continues) {
      joined.back().text += part.text;
      joined.back().range.end = part.range.end;
    } else {
      joined.push_back(std::move(part));
    }
  }
  return joined;
}

// Takes away the white space beside ~ markers: up to the end or the beginning of the line, in a heredoc.
void Parser::trim(std::vector<TemplatePart>& parts) {
  bool trim_next = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    TemplatePart& part = parts[i];
    if (part.kind == TemplatePart::Kind::literal) {
      size_t begin = 0, end = part.text.size();
      if (trim_next) {
        while (begin < end && is_space(part.text[begin])) ++begin;
      }
      if (i + 1 < parts.size() && parts[i + 1].trim_left) {
        while (end > begin && is_space(part.text[end - 1])) --end;
      }
      part.text = part.text.substr(begin, end - begin);
    }
    trim_next = part.trim_right;
  }
}

ExprPtr Parser::build_template(std::vector<TemplatePart>& parts, Range range, bool is_flush) {
  bool wraps = parts.size() == 1 && parts[0].kind == TemplatePart::Kind::interpolation;
  if (wraps) {
    std::vector<ExprPtr> part{parts[0].expression};
    return checked(std::make_shared<TemplateExpr>(ExprKind::template_wrap, range, std::move(part)));
  }
  parts = join_literals(std::move(parts), true);
  trim(parts);
  if (is_flush) unindent(parts);
  parts = join_literals(std::move(parts), false);
  size_t at = 0;
  ExprPtr result = build_sequence(parts, at, range);
  if (result && at < parts.size()) {
    error(parts[at].range, "this directive has no %{ if } or %{ for } before it");
    return nullptr;
  }
  return result;
}

// Parts up to the end or a directive that closes or continues an outer one.
ExprPtr Parser::build_sequence(std::vector<TemplatePart>& parts, size_t& at, Range range) {
  using enum TemplatePart::Kind;
  Nesting nesting(*this);
  if (nesting.too_deep()) return nullptr;
  std::vector<ExprPtr> built;
  while (at < parts.size()) {
    TemplatePart& part = parts[at];
    ExprPtr expression;
    if (part.kind == literal) {
      expression = std::make_shared<LiteralExpr>(part.range, std::move(part.text));
      ++at;
    } else if (part.kind == interpolation) {
      expression = part.expression;
      ++at;
    } else if (part.kind == if_) {
      expression = build_if(parts, at);
    } else if (part.kind == for_) {
      expression = build_for(parts, at);
    } else {
      break;
    }
    if (!expression) return nullptr;
    built.push_back(std::move(expression));
  }
  if (built.empty()) return std::make_shared<LiteralExpr>(range, "");
  if (built.size() == 1 && built[0]->kind == ExprKind::literal &&
      static_cast<const LiteralExpr&>(*built[0]).value.is_string() && parts[at - 1].kind == literal) {
    return std::make_shared<LiteralExpr>(range, static_cast<const LiteralExpr&>(*built[0]).value);
  }
  return checked(std::make_shared<TemplateExpr>(ExprKind::template_text, range, std::move(built)));
}

ExprPtr Parser::build_if(std::vector<TemplatePart>& parts, size_t& at) {
  using enum TemplatePart::Kind;
  TemplatePart& open = parts[at++];
  ExprPtr yes = build_sequence(parts, at, open.range);
  if (!yes) return nullptr;
  ExprPtr no = std::make_shared<LiteralExpr>(open.range, "");
  if (at < parts.size() && parts[at].kind == else_) {
    ++at;
    no = build_sequence(parts, at, open.range);
    if (!no) return nullptr;
  }
  if (at >= parts.size() || parts[at].kind != endif) {
    error(open.range, "this %{ if } has no %{ endif }");
    return nullptr;
  }
  ++at;
  return checked(std::make_shared<ConditionalExpr>(open.range, open.expression, yes, no));
}

ExprPtr Parser::build_for(std::vector<TemplatePart>& parts, size_t& at) {
  TemplatePart& open = parts[at++];
  std::shared_ptr<ForExpr> loop = std::move(open.loop);
  loop->value = build_sequence(parts, at, open.range);
  if (!loop->value) return nullptr;
  if (at >= parts.size() || parts[at].kind != TemplatePart::Kind::endfor) {
    error(open.range, "this %{ for } has no %{ endfor }");
    return nullptr;
  }
  ++at;
  loop->depth = std::max(loop->collection->depth, loop->value->depth) + 1;
  std::vector<ExprPtr> part{std::move(loop)};
  return checked(std::make_shared<TemplateExpr>(ExprKind::template_for, open.range, std::move(part)));
}

}  // namespace drover::hcl
