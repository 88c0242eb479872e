#include "lexer.h"

#include <gtest/gtest.h>

namespace drover::hcl {
namespace {

// "kind:text" of every token but the last, separated by blanks; newlines print as \n.
std::string tokens(const std::string& text, Diagnostics& diagnostics, LexMode mode = LexMode::expressions) {
  Source source{"t", text, {}};
  std::string out;
  for (const Token& token : lex(source, mode, diagnostics)) {
    if (token.kind == TokenKind::end) break;
    if (!out.empty()) out += ' ';
    for (char c : token.text) out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

TEST(Lexer, Tokens) {
  struct Case {
    const char* name;
    const char* text;
    const char* tokens;
  } cases[] = {
      {"names with dashes", "ip-address _a a1", "ip-address _a a1"},
      {"letters of other scripts", "größe = 1", "größe = 1"},
      {"numbers", "1 1.5 2e3 2.5E-3 1.a", "1 1.5 2e3 2.5E-3 1 . a"},
      {"operators", "a<=b>=c==d!=e&&f||!g...=>", "a <= b >= c == d != e && f || ! g ... =>"},
      {"comments", "a # x\n// y\n/* z\n */ b", "a # x \\n // y \\n /* z\\n */ b"},
      {"string", R"("a\"b${c}d")", R"(" a\"b ${ c } d ")"},
      {"braces inside an interpolation", R"("${ {a={}} }")", R"(" ${ { a = { } } } ")"},
      {"strings inside strings", R"("${f("}")}")", R"(" ${ f ( " } " ) } ")"},
      {"escaped template", R"("$${a} %%{b}")", R"(" $${a} %%{b} ")"},
      {"directive with strip markers", R"("%{~ if a ~}")", R"(" %{~ if a ~} ")"},
      {"heredoc", "<<EOF\na\n b${c}\n  EOF\n", "<<EOF\\n a\\n  b ${ c } \\n   EOF \\n"},
      {"end of line of Windows", "a\r\nb", "a \r\\n b"},
      {"byte order mark",
       "\xef\xbb\xbf"
       "a",
       "a"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Diagnostics diagnostics;
    EXPECT_EQ(c.tokens, tokens(c.text, diagnostics));
    EXPECT_FALSE(diagnostics.has_errors());
  }
}

TEST(Lexer, PlacesCountLinesCodePointsAndBytes) {
  Source source{"t", "é = 1\n  b", {}};
  Diagnostics diagnostics;
  std::vector<Token> list = lex(source, LexMode::expressions, diagnostics);
  EXPECT_EQ((Range{{1, 1, 0}, {1, 2, 2}}), list[0].range);
  EXPECT_EQ((Range{{1, 3, 3}, {1, 4, 4}}), list[1].range);
  EXPECT_EQ((Range{{2, 3, 9}, {2, 4, 10}}), list[4].range);
}

TEST(Lexer, Errors) {
  struct Case {
    const char* text;
    const char* problem;
  } cases[] = {
      {"a = \"x\nb",
       "t:1:5: error: this string does not end on its line (close it with \" or use a heredoc (<<EOF) "
       "for text of several lines)"},
      {"a = <<EOF\nx\n", "t:1:5: error: this heredoc has no closing line (it ends with a line that holds only EOF)"},
      {"/* x", "t:1:1: error: this comment has no end (close it with */)"},
      {"a = 'x'", "t:1:5: error: the character ' has no meaning here (strings stand between double quotes)"},
      {"a = \xff", "t:1:5: error: this byte is not valid UTF-8"},
      {"\"${a", "t:1:2: error: this template sequence has no closing } (write $${ for a literal ${)"},
      {"<<EOF x\n", "t:1:1: error: a heredoc's opening line ends behind its marker EOF"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    Diagnostics diagnostics;
    tokens(c.text, diagnostics);
    ASSERT_GE(diagnostics.size(), 1u);
    EXPECT_EQ(c.problem, diagnostics[0].to_string());
  }
}

}  // namespace
}  // namespace drover::hcl
