#include "parser.h"

#include <algorithm>

namespace drover::hcl {
namespace {

TokenKind closer_of(TokenKind kind) {
  switch (kind) {
    case TokenKind::open_brace:
      return TokenKind::close_brace;
    case TokenKind::open_bracket:
      return TokenKind::close_bracket;
    case TokenKind::open_paren:
      return TokenKind::close_paren;
    case TokenKind::open_quote:
      return TokenKind::close_quote;
    case TokenKind::open_heredoc:
      return TokenKind::close_heredoc;
    case TokenKind::open_interpolation:
    case TokenKind::open_directive:
      return TokenKind::close_template;
    default:
      return TokenKind::end;
  }
}

bool is_closer(TokenKind kind) {
  return kind == TokenKind::close_brace || kind == TokenKind::close_bracket || kind == TokenKind::close_paren ||
         kind == TokenKind::close_quote || kind == TokenKind::close_heredoc || kind == TokenKind::close_template;
}

std::string describe(const Token& token) {
  if (token.kind == TokenKind::identifier || token.kind == TokenKind::number) return std::string(token.text);
  return std::string(to_string(token.kind));
}

}  // namespace

Parser::Parser(std::shared_ptr<const Source> source, LexMode mode, Dialect dialect, Diagnostics& diagnostics)
    : source_(std::move(source)), dialect_(dialect), diagnostics_(diagnostics), last_end_(source_->origin) {
  tokens_ = lex(*source_, mode, diagnostics_);
  std::erase_if(tokens_, [](const Token& token) { return token.kind == TokenKind::comment; });
}

// ---- tokens

const Token& Parser::peek() {
  while (newlines_.back() == 0 && tokens_[at_].kind == TokenKind::newline) ++at_;
  return tokens_[at_];
}

const Token& Parser::peek_after() {
  peek();
  size_t i = std::min(at_ + 1, tokens_.size() - 1);
  while (newlines_.back() == 0 && tokens_[i].kind == TokenKind::newline) ++i;
  return tokens_[i];
}

const Token& Parser::next() {
  const Token& token = peek();
  if (token.kind != TokenKind::end) ++at_;
  last_end_ = token.range.end;
  return token;
}

bool Parser::accept(TokenKind kind) {
  if (!at(kind)) return false;
  next();
  return true;
}

bool Parser::expect(TokenKind kind, std::string_view where) {
  if (accept(kind)) return true;
  unexpected(std::string(to_string(kind)) + " " + std::string(where));
  return false;
}

void Parser::skip_newlines() {
  while (tokens_[at_].kind == TokenKind::newline) ++at_;
}

// One problem a line: what follows the first one is mostly its consequence.
void Parser::error(Range range, std::string message, std::string hint) {
  if (range.start.line == last_error_line_) return;
  last_error_line_ = range.start.line;
  for (const Diagnostic& known : diagnostics_) {
    const Position& begin = known.range.start;
    const Position& end = known.range.end;
    int line = range.start.line;
    bool is_same_line = line == begin.line || (begin.line < line && line < end.line) ||
                        (line == end.line && range.start.column < end.column);
    if (known.file == source_->name && is_same_line) return;
  }
  diagnostics_.error(source_->name, range, std::move(message), std::move(hint));
}

void Parser::unexpected(std::string_view expected) {
  const Token& token = peek();
  error(token.range, "expected " + std::string(expected) + ", found " + describe(token));
}

bool Parser::Nesting::too_deep() {
  if (parser_.nesting_ <= kMaxNesting) return false;
  parser_.error(parser_.peek().range, "this is nested more than " + std::to_string(kMaxNesting) + " levels deep");
  return true;
}

ExprPtr Parser::checked(ExprPtr expression) {
  if (!expression || expression->depth <= kMaxExpressionDepth) return expression;
  error(expression->range,
        "this expression has more than " + std::to_string(kMaxExpressionDepth) + " operations inside one another",
        "split it up with local values");
  return nullptr;
}

// ---- bodies

Body Parser::parse_file() {
  Body body;
  body.source = source_;
  body.range.start = peek().range.start;
  while (true) {
    skip_newlines();
    if (at(TokenKind::end)) break;
    size_t before = at_;
    Position start = peek().range.start;
    if (parse_item(body) && end_of_item()) continue;
    recover(start);
    if (at(TokenKind::close_brace) || at_ == before) next();  // always forward
  }
  body.range.end = peek().range.end;
  return body;
}

bool Parser::parse_item(Body& body) {
  std::string name;
  Range range;
  if (dialect_ == Dialect::legacy && legacy_attribute_name(name, range)) {
    return parse_attribute(body, std::move(name), range);
  }
  if (!at(TokenKind::identifier)) {
    if (at(TokenKind::close_brace)) {
      error(peek().range, "this } closes nothing");
    } else if (at(TokenKind::open_quote)) {
      error(peek().range, "a name of an attribute or block stands without quotes here");
    } else {
      unexpected("the name of an attribute or block");
    }
    return false;
  }
  const Token& first = next();
  if (at(TokenKind::equal)) return parse_attribute(body, std::string(first.text), first.range);
  if (at(TokenKind::open_brace) || at(TokenKind::identifier) || at(TokenKind::open_quote)) {
    return parse_block(body, first);
  }
  error(peek().range, "expected = or { behind " + std::string(first.text) + ", found " + describe(peek()),
        at(TokenKind::colon) ? "attributes are set with =" : "");
  return false;
}

// HCL 1 names: "quoted.name" = …, dotted.name = …. Nothing is consumed unless the whole name and its = are there.
bool Parser::legacy_attribute_name(std::string& name, Range& range) {
  size_t begin = at_;
  range.start = peek().range.start;
  if (at(TokenKind::open_quote)) {
    size_t i = at_ + 1;
    while (tokens_[i].kind == TokenKind::quoted_literal) name += unescape(tokens_[i++]);
    if (tokens_[i].kind == TokenKind::close_quote && tokens_[i + 1].kind == TokenKind::equal) {
      at_ = i;
      next();
      range.end = last_end_;
      return true;
    }
  } else if (at(TokenKind::identifier) && peek_after().kind == TokenKind::dot) {
    name = next().text;
    while (at(TokenKind::dot) && peek_after().kind == TokenKind::identifier) {
      next();
      name += "." + std::string(next().text);
    }
    range.end = last_end_;
    if (at(TokenKind::equal)) return true;
  }
  at_ = begin;
  name.clear();
  return false;
}

bool Parser::parse_attribute(Body& body, std::string name, Range name_range) {
  next();  // =
  ExprPtr value = parse_expression();
  if (!value) return false;
  auto [known, is_new] = names_.back().emplace(name, body.attributes.size());
  if (!is_new) {
    Attribute& first = body.attributes[known->second];
    if (dialect_ == Dialect::legacy) {
      first.expression = Expression(value, source_);
    } else {
      error(name_range, "the attribute " + name + " is set twice",
            "it is set first on line " + std::to_string(first.name_range.start.line));
    }
    return true;
  }
  body.attributes.push_back({std::move(name), Expression(value, source_), name_range});
  return true;
}

bool Parser::parse_block(Body& body, const Token& type) {
  Nesting nesting(*this);
  if (nesting.too_deep()) return false;
  Block block;
  block.type = std::string(type.text);
  while (!at(TokenKind::open_brace)) {
    if (at(TokenKind::identifier)) {
      block.labels.emplace_back(next().text);
    } else if (at(TokenKind::open_quote)) {
      std::optional<std::string> label = plain_string("a block's label");
      if (!label) return false;
      block.labels.push_back(*std::move(label));
    } else {
      unexpected("{ or a label of the block " + block.type);
      return false;
    }
  }
  block.range = since(type.range.start);
  Position opened = next().range.start;
  block.body.source = source_;
  block.body.range.start = opened;
  names_.emplace_back();
  bool good = parse_block_body(block.body, opened);
  names_.pop_back();
  block.body.range.end = last_end_;
  body.blocks.push_back(std::move(block));
  return good;
}

bool Parser::parse_block_body(Body& body, Position opened) {
  if (!at(TokenKind::newline)) return parse_one_line_body(body);
  while (true) {
    skip_newlines();
    if (accept(TokenKind::close_brace)) return true;
    if (at(TokenKind::end)) {
      Position after = opened;
      ++after.column, ++after.byte;
      error({opened, after}, "this block is not closed", "add the missing }");
      return false;
    }
    Position start = peek().range.start;
    size_t before = at_;
    if (parse_item(body) && end_of_item()) continue;
    recover(start);
    if (at_ == before && !at(TokenKind::close_brace)) next();
  }
}

bool Parser::parse_one_line_body(Body& body) {
  if (accept(TokenKind::close_brace)) return true;
  if (dialect_ == Dialect::native && at(TokenKind::identifier) && peek_after().kind != TokenKind::equal) {
    return no_block_on_one_line();
  }
  do {
    if (!parse_item(body)) return false;
    if (dialect_ == Dialect::legacy) {
      accept(TokenKind::comma);
      skip_newlines();
    }
  } while (dialect_ == Dialect::legacy && !at(TokenKind::close_brace) && !at(TokenKind::end));
  if (accept(TokenKind::close_brace)) return true;
  error(peek().range, "a block on one line holds one attribute and ends with }, found " + describe(peek()),
        "put each attribute on a line of its own");
  return false;
}

bool Parser::no_block_on_one_line() {
  size_t last = at_;
  while (tokens_[last].kind != TokenKind::open_brace && tokens_[last].kind != TokenKind::newline &&
         tokens_[last].kind != TokenKind::end) {
    ++last;
  }
  if (tokens_[last].kind != TokenKind::open_brace) {
    unexpected("an attribute, or } at the end of this block on one line");
    return false;
  }
  error({peek().range.start, tokens_[last].range.end}, "a block on one line cannot hold another block",
        "put the inner block on a line of its own");
  return false;
}

bool Parser::end_of_item() {
  if (dialect_ == Dialect::legacy && accept(TokenKind::comma)) return true;
  if (at(TokenKind::newline) || at(TokenKind::end)) return true;
  if (dialect_ == Dialect::legacy && at(TokenKind::close_brace)) return true;
  unexpected("the end of the line");
  return false;
}

// Moves to the end of the line on which the item that began at `item_start` ends, judged by its brackets, or before a
// closing brace that belongs to the block around it.
void Parser::recover(Position item_start) {
  size_t failed_at = at_;
  size_t i = at_;
  while (i > 0 && tokens_[i].range.start.byte > item_start.byte) --i;
  std::vector<TokenKind> open;
  for (;; ++i) {
    const Token& token = tokens_[i];
    if (token.kind == TokenKind::end) break;
    if (TokenKind closer = closer_of(token.kind); closer != TokenKind::end) {
      open.push_back(closer);
    } else if (is_closer(token.kind)) {
      while (!open.empty() && open.back() != token.kind) open.pop_back();
      if (open.empty()) {
        if (token.kind == TokenKind::close_brace && i >= failed_at) break;
      } else {
        open.pop_back();
      }
    } else if (token.kind == TokenKind::newline && open.empty() && i >= failed_at) {
      break;
    }
  }
  at_ = i;
}

std::optional<std::string> Parser::plain_string(std::string_view what) {
  next();  // the quote
  std::string text;
  while (at(TokenKind::quoted_literal)) text += unescape(next());
  if (accept(TokenKind::close_quote)) return text;
  error(peek().range, std::string(what) + " is plain text without ${…}");
  return std::nullopt;
}

// ---- entry points

ExprPtr Parser::parse_whole_expression() {
  newlines_.assign(1, 0);
  ExprPtr expression = parse_expression();
  if (expression && !at(TokenKind::end)) {
    unexpected("the end of the expression");
    return nullptr;
  }
  return expression;
}

File parse(std::string name, std::string text, Diagnostics& diagnostics, Dialect dialect) {
  auto source = std::make_shared<const Source>(Source{std::move(name), std::move(text), {}});
  return {source, Parser(source, LexMode::expressions, dialect, diagnostics).parse_file()};
}

Expression parse_expression(std::string name, std::string text, Diagnostics& diagnostics) {
  auto source = std::make_shared<const Source>(Source{std::move(name), std::move(text), {}});
  return {Parser(source, LexMode::expressions, Dialect::native, diagnostics).parse_whole_expression(), source};
}

Expression parse_template(std::string name, std::string text, Diagnostics& diagnostics) {
  auto source = std::make_shared<const Source>(Source{std::move(name), std::move(text), {}});
  return {Parser(source, LexMode::template_text, Dialect::native, diagnostics).parse_whole_template(), source};
}

bool looks_like_json(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

const Attribute* Body::find(std::string_view name) const {
  auto found = std::ranges::find(attributes, name, &Attribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

Range Expression::range() const { return tree_ ? tree_->range : Range(); }

const std::string& Expression::file() const {
  static const std::string kNone;
  return source_ ? source_->name : kNone;
}

std::string_view Expression::text() const {
  if (!tree_ || !source_) return {};
  std::string_view all = source_->text;
  size_t begin = tree_->range.start.byte, end = tree_->range.end.byte;
  return begin <= end && end <= all.size() ? all.substr(begin, end - begin) : std::string_view();
}

}  // namespace drover::hcl
