// Recursive descent over the lexer's tokens. One class, in three files by concern: bodies (parser.cc), expressions
// (parser_expression.cc) and templates (parser_template.cc).
//
// A function that fails has reported why and returns null; its callers return at once, and the body parser goes on
// with the next line. Every recursion passes through Nesting, so no input can exhaust the stack.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ast.h"
#include "lexer.h"

namespace drover::hcl {

class Parser {
 public:
  Parser(std::shared_ptr<const Source> source, LexMode mode, Dialect dialect, Diagnostics& diagnostics);

  Body parse_file();
  ExprPtr parse_whole_expression();
  ExprPtr parse_whole_template();

 private:
  // Counts one level of nesting while it lives.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) { ++parser_.nesting_; }
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    bool too_deep();  // and reported

   private:
    Parser& parser_;
  };

  // Makes newlines tokens (bodies, objects) or white space (inside brackets) while it lives.
  class Newlines {
   public:
    Newlines(Parser& parser, bool significant) : parser_(parser) { parser_.newlines_.push_back(significant ? 1 : 0); }
    ~Newlines() { parser_.newlines_.pop_back(); }
    Newlines(const Newlines&) = delete;
    Newlines& operator=(const Newlines&) = delete;

   private:
    Parser& parser_;
  };

  // tokens
  const Token& peek();
  const Token& peek_after();  // the one behind peek()
  const Token& next();
  bool at(TokenKind kind) { return peek().kind == kind; }
  bool at_word(std::string_view word) { return at(TokenKind::identifier) && peek().text == word; }
  bool accept(TokenKind kind);
  bool expect(TokenKind kind, std::string_view where);  // reports when it is something else
  void skip_newlines();
  void error(Range range, std::string message, std::string hint = {});
  void unexpected(std::string_view expected);
  Range since(Position start) const { return {start, last_end_}; }
  ExprPtr checked(ExprPtr expression);  // null and reported when the tree has become too deep

  // bodies
  bool parse_item(Body& body);
  bool parse_attribute(Body& body, std::string name, Range name_range);
  bool parse_block(Body& body, const Token& type);
  bool parse_block_body(Body& body, Position opened);
  bool parse_one_line_body(Body& body);
  bool no_block_on_one_line();  // reports it
  bool legacy_attribute_name(std::string& name, Range& range);
  bool end_of_item();
  void recover(Position item_start);
  std::optional<std::string> plain_string(std::string_view what);

  // expressions
  ExprPtr parse_expression();
  ExprPtr parse_conditional();
  ExprPtr parse_binary(int min_precedence);
  ExprPtr parse_unary();
  ExprPtr parse_postfix();
  ExprPtr parse_primary();
  ExprPtr parse_number();
  ExprPtr parse_name();
  ExprPtr parse_call(const Token& name);
  ExprPtr parse_steps(ExprPtr expression, bool attributes_only);
  ExprPtr parse_dot(ExprPtr expression, bool attributes_only, bool& done);
  ExprPtr parse_bracket(ExprPtr expression);
  ExprPtr step(ExprPtr expression, Value key, bool is_attribute, Range step_range);
  ExprPtr parse_tuple();
  ExprPtr parse_object();
  ExprPtr parse_object_key();
  ExprPtr parse_for(bool object, Position start);
  bool parse_for_intro(ForExpr& loop);

  // templates
  struct TemplatePart;
  ExprPtr parse_quoted();
  ExprPtr parse_heredoc();
  bool read_template_parts(TokenKind end, std::vector<TemplatePart>& parts);
  bool read_directive(const Token& open, TemplatePart& part);
  static void unindent(std::vector<TemplatePart>& parts);
  static std::vector<TemplatePart> join_literals(std::vector<TemplatePart> parts, bool within_lines);
  static void trim(std::vector<TemplatePart>& parts);
  ExprPtr build_template(std::vector<TemplatePart>& parts, Range range, bool is_flush = false);
  ExprPtr build_sequence(std::vector<TemplatePart>& parts, size_t& at, Range range);
  ExprPtr build_if(std::vector<TemplatePart>& parts, size_t& at);
  ExprPtr build_for(std::vector<TemplatePart>& parts, size_t& at);
  std::string unescape(const Token& token);

  std::shared_ptr<const Source> source_;
  Dialect dialect_;
  Diagnostics& diagnostics_;
  std::vector<Token> tokens_;  // without comments
  size_t at_ = 0;
  size_t nesting_ = 0;
  std::vector<char> newlines_{1};
  std::vector<std::unordered_map<std::string, size_t>> names_{1};  // attributes of the open bodies, by position
  Position last_end_;
  int last_error_line_ = 0;
};

}  // namespace drover::hcl
