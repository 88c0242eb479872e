// One input through the lexer: the tokens lie in their order in the text, and end with the one that says so.
#include "lexer.h"

void fuzz_hcl_lexer(std::string_view text);

void fuzz_hcl_lexer(std::string_view text) {
  using namespace drover;
  hcl::Source source{"fuzz", std::string(text), {}};
  for (hcl::LexMode mode : {hcl::LexMode::expressions, hcl::LexMode::template_text}) {
    hcl::Diagnostics diagnostics;
    size_t at = 0;
    const std::vector<hcl::Token> tokens = hcl::lex(source, mode, diagnostics);
    DROVER_CHECK(!tokens.empty() && tokens.back().kind == hcl::TokenKind::end);
    for (const hcl::Token& token : tokens) {
      DROVER_CHECK(token.range.start.byte >= at && token.range.end.byte >= token.range.start.byte);
      DROVER_CHECK(token.range.end.byte <= source.text.size());
      at = token.range.start.byte;
    }
    (void)diagnostics.render(source);
  }
}
