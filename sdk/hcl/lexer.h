// Turns source text into tokens with exact places. Comments and the white space between tokens are recoverable from
// the tokens' ranges, so a formatter can work on the same stream as the parser.
//
// Templates switch the lexer's mode: a quote, a heredoc or `${` opens a mode, its end returns to the one before. The
// modes are a stack in memory, not on the call stack, and its height is limited.
#pragma once

#include <string_view>
#include <vector>

#include "drover/hcl.h"

namespace drover::hcl {

enum class TokenKind {
  end,
  newline,
  comment,
  identifier,
  number,
  open_quote,
  close_quote,
  quoted_literal,      // inside quotes: backslash escapes are still in it
  string_literal,      // inside a heredoc or a bare template, at most one line
  open_heredoc,        // "<<EOF\n" or "<<-EOF\n"
  close_heredoc,       // the line of the closing marker, without its end of line
  open_interpolation,  // "${" or "${~"
  open_directive,      // "%{" or "%{~"
  close_template,      // "}" or "~}" of the two above
  open_brace,
  close_brace,
  open_bracket,
  close_bracket,
  open_paren,
  close_paren,
  comma,
  dot,
  ellipsis,
  star,
  slash,
  percent,
  plus,
  minus,
  equal,
  equal_equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  and_and,
  or_or,
  bang,
  question,
  colon,
  fat_arrow,
  invalid,  // a problem was reported here
};

std::string_view to_string(TokenKind kind);

struct Token {
  TokenKind kind = TokenKind::end;
  Range range;
  std::string_view text;  // of the source, which must outlive the token
};

enum class LexMode { expressions, template_text };

// The last token is always `end`.
std::vector<Token> lex(const Source& source, LexMode mode, Diagnostics& diagnostics);

}  // namespace drover::hcl
