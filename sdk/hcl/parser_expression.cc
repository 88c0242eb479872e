#include "parser.h"

namespace drover::hcl {
namespace {

struct BinaryOperator {
  Operator op;
  int precedence;  // higher binds tighter; zero: not a binary operator
};

BinaryOperator binary_operator(TokenKind kind) {
  switch (kind) {
    case TokenKind::or_or:
      return {Operator::logical_or, 1};
    case TokenKind::and_and:
      return {Operator::logical_and, 2};
    case TokenKind::equal_equal:
      return {Operator::equal, 3};
    case TokenKind::not_equal:
      return {Operator::not_equal, 3};
    case TokenKind::less:
      return {Operator::less, 4};
    case TokenKind::less_equal:
      return {Operator::less_equal, 4};
    case TokenKind::greater:
      return {Operator::greater, 4};
    case TokenKind::greater_equal:
      return {Operator::greater_equal, 4};
    case TokenKind::plus:
      return {Operator::add, 5};
    case TokenKind::minus:
      return {Operator::subtract, 5};
    case TokenKind::star:
      return {Operator::multiply, 6};
    case TokenKind::slash:
      return {Operator::divide, 6};
    case TokenKind::percent:
      return {Operator::modulo, 6};
    default:
      return {Operator::equal, 0};
  }
}

}  // namespace

ExprPtr Parser::parse_expression() {
  Nesting nesting(*this);
  if (nesting.too_deep()) return nullptr;
  return parse_conditional();
}

ExprPtr Parser::parse_conditional() {
  ExprPtr condition = parse_binary(1);
  if (!condition || !accept(TokenKind::question)) return condition;
  ExprPtr if_true = parse_expression();
  if (!if_true || !expect(TokenKind::colon, "between the results of a condition")) return nullptr;
  ExprPtr if_false = parse_expression();
  if (!if_false) return nullptr;
  Range range = since(condition->range.start);
  return checked(std::make_shared<ConditionalExpr>(range, condition, if_true, if_false));
}

ExprPtr Parser::parse_binary(int min_precedence) {
  ExprPtr left = parse_unary();
  while (left) {
    BinaryOperator found = binary_operator(peek().kind);
    if (found.precedence < min_precedence) break;
    next();
    ExprPtr right = parse_binary(found.precedence + 1);
    if (!right) return nullptr;
    Range range = since(left->range.start);
    left = checked(std::make_shared<BinaryExpr>(range, found.op, left, right));
  }
  return left;
}

ExprPtr Parser::parse_unary() {
  if (!at(TokenKind::minus) && !at(TokenKind::bang)) return parse_postfix();
  Nesting nesting(*this);
  if (nesting.too_deep()) return nullptr;
  const Token& sign = next();
  ExprPtr operand = parse_unary();
  if (!operand) return nullptr;
  Operator op = sign.kind == TokenKind::minus ? Operator::negate : Operator::logical_not;
  return checked(std::make_shared<UnaryExpr>(since(sign.range.start), op, operand));
}

ExprPtr Parser::parse_postfix() {
  ExprPtr expression = parse_primary();
  return expression ? parse_steps(std::move(expression), false) : nullptr;
}

ExprPtr Parser::parse_primary() {
  const Token& token = peek();
  switch (token.kind) {
    case TokenKind::number:
      return parse_number();
    case TokenKind::identifier:
      return parse_name();
    case TokenKind::open_quote:
      return parse_quoted();
    case TokenKind::open_heredoc:
      return parse_heredoc();
    case TokenKind::open_bracket:
      return parse_tuple();
    case TokenKind::open_brace:
      return parse_object();
    case TokenKind::open_paren: {
      Newlines insignificant(*this, false);
      next();
      ExprPtr inner = parse_expression();
      if (!inner || !expect(TokenKind::close_paren, "behind the expression in parentheses")) return nullptr;
      // Parentheses end a traversal: (a.b).c is c of the value, and a[(x)] is never a literal step.
      std::vector<ExprPtr> part{inner};
      return checked(
          std::make_shared<TemplateExpr>(ExprKind::template_wrap, since(token.range.start), std::move(part)));
    }
    default:
      unexpected("an expression");
      return nullptr;
  }
}

ExprPtr Parser::parse_number() {
  const Token& token = next();
  if (std::optional<Number> number = Number::parse(token.text)) {
    return std::make_shared<LiteralExpr>(token.range, *number);
  }
  error(token.range, "this number is too large, too small or too long");
  return nullptr;
}

ExprPtr Parser::parse_name() {
  const Token& token = next();
  if (at(TokenKind::open_paren)) return parse_call(token);
  if (token.text == "true" || token.text == "false") {
    return std::make_shared<LiteralExpr>(token.range, token.text == "true");
  }
  if (token.text == "null") return std::make_shared<LiteralExpr>(token.range, Value());
  auto traversal = std::make_shared<TraversalExpr>(token.range, std::string(token.text));
  traversal->source = source_;
  return traversal;
}

ExprPtr Parser::parse_call(const Token& name) {
  Newlines insignificant(*this, false);
  next();  // (
  std::vector<ExprPtr> arguments;
  bool expand = false;
  while (!at(TokenKind::close_paren)) {
    ExprPtr argument = parse_expression();
    if (!argument) return nullptr;
    arguments.push_back(std::move(argument));
    if (accept(TokenKind::ellipsis)) {
      expand = true;
      accept(TokenKind::comma);
      break;
    }
    if (!accept(TokenKind::comma)) break;
  }
  if (!expect(TokenKind::close_paren, "or , in the call of " + std::string(name.text))) return nullptr;
  return checked(std::make_shared<CallExpr>(since(name.range.start), std::string(name.text), name.range,
                                            std::move(arguments), expand));
}

// One literal step behind an expression. A chain from a variable stays one flat traversal, so that a reference kept
// for later evaluation is known as a whole.
ExprPtr Parser::step(ExprPtr expression, Value key, bool is_attribute, Range step_range) {
  Range range = since(expression->range.start);
  if (expression->kind == ExprKind::traversal) {
    // Nobody else holds the node while its chain is being read.
    auto traversal = std::const_pointer_cast<TraversalExpr>(std::static_pointer_cast<const TraversalExpr>(expression));
    traversal->steps.push_back({std::move(key), is_attribute, step_range});
    traversal->range = range;
    return traversal;
  }
  if (is_attribute) return checked(std::make_shared<AttributeExpr>(range, expression, key.string()));
  auto literal = std::make_shared<LiteralExpr>(step_range, std::move(key));
  return checked(std::make_shared<IndexExpr>(range, expression, literal));
}

ExprPtr Parser::parse_steps(ExprPtr expression, bool attributes_only) {
  bool done = false;
  while (expression && !done) {
    if (at(TokenKind::dot)) {
      expression = parse_dot(std::move(expression), attributes_only, done);
    } else if (at(TokenKind::open_bracket) && !attributes_only) {
      expression = parse_bracket(std::move(expression));
    } else {
      done = true;
    }
  }
  return expression;
}

ExprPtr Parser::parse_dot(ExprPtr expression, bool attributes_only, bool& done) {
  const Token& after = peek_after();
  Position start = peek().range.start;
  if (after.kind == TokenKind::identifier) {
    next();
    next();
    return step(std::move(expression), std::string(after.text), true, since(start));
  }
  if (after.kind == TokenKind::number) {  // a.0, and a.0.1, which reads as the number 0.1
    next();
    next();
    std::string_view text = after.text;
    while (expression && !text.empty()) {
      std::string_view digits = text.substr(0, text.find('.'));
      text.remove_prefix(std::min(text.size(), digits.size() + 1));
      std::optional<Number> index = Number::parse(digits);
      if (!index || !index->as_integer() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
        error(after.range, "an index behind a dot is a whole number");
        return nullptr;
      }
      expression = step(std::move(expression), *index, false, since(start));
    }
    return expression;
  }
  if (after.kind == TokenKind::star && !attributes_only) {  // a.*.b
    Nesting nesting(*this);
    if (nesting.too_deep()) return nullptr;
    next();
    next();
    ExprPtr each = parse_steps(std::make_shared<SplatItemExpr>(since(start)), true);
    if (!each) return nullptr;
    return checked(std::make_shared<SplatExpr>(since(expression->range.start), expression, each));
  }
  done = true;
  next();
  unexpected("a name, an index or * behind the dot");
  return nullptr;
}

ExprPtr Parser::parse_bracket(ExprPtr expression) {
  Nesting nesting(*this);
  if (nesting.too_deep()) return nullptr;
  Position start = peek().range.start;
  ExprPtr key;
  bool is_splat = false;
  {
    Newlines insignificant(*this, false);
    next();  // [
    if (at(TokenKind::star) && peek_after().kind == TokenKind::close_bracket) {
      next();
      is_splat = true;
    } else {
      key = parse_expression();
      if (!key) return nullptr;
    }
    if (!expect(TokenKind::close_bracket, "behind the index")) return nullptr;
  }
  if (is_splat) {
    ExprPtr each = parse_steps(std::make_shared<SplatItemExpr>(since(start)), false);
    if (!each) return nullptr;
    return checked(std::make_shared<SplatExpr>(since(expression->range.start), expression, each));
  }
  if (key->kind == ExprKind::literal) {
    const Value& value = static_cast<const LiteralExpr&>(*key).value;
    if (value.is_string() || value.is_number()) return step(std::move(expression), value, false, since(start));
  }
  return checked(std::make_shared<IndexExpr>(since(expression->range.start), expression, key));
}

ExprPtr Parser::parse_tuple() {
  Newlines insignificant(*this, false);
  Position start = next().range.start;
  if (at_word("for")) return parse_for(false, start);
  std::vector<ExprPtr> elements;
  while (!at(TokenKind::close_bracket)) {
    ExprPtr element = parse_expression();
    if (!element) return nullptr;
    elements.push_back(std::move(element));
    if (!accept(TokenKind::comma)) break;
  }
  if (!expect(TokenKind::close_bracket, "or , in this list")) return nullptr;
  return checked(std::make_shared<TupleExpr>(since(start), std::move(elements)));
}

ExprPtr Parser::parse_object() {
  Newlines significant(*this, true);
  Position start = next().range.start;
  skip_newlines();
  if (at_word("for") && peek_after().kind != TokenKind::equal && peek_after().kind != TokenKind::colon) {
    Newlines insignificant(*this, false);
    return parse_for(true, start);
  }
  std::vector<ObjectExpr::Item> items;
  while (true) {
    skip_newlines();
    if (accept(TokenKind::close_brace)) break;
    ExprPtr key = parse_object_key();
    if (!key) return nullptr;
    if (!accept(TokenKind::equal) && !accept(TokenKind::colon)) {
      unexpected("= or : behind an object's key");
      return nullptr;
    }
    ExprPtr value = parse_expression();
    if (!value) return nullptr;
    items.push_back({std::move(key), std::move(value)});
    if (accept(TokenKind::comma) || at(TokenKind::newline) || at(TokenKind::close_brace)) continue;
    unexpected("a new line, , or } in this object");
    return nullptr;
  }
  return checked(std::make_shared<ObjectExpr>(since(start), std::move(items)));
}

// A bare name is the key itself; anything else is an expression.
ExprPtr Parser::parse_object_key() {
  TokenKind after = peek_after().kind;
  if (at(TokenKind::identifier) && (after == TokenKind::equal || after == TokenKind::colon)) {
    const Token& name = next();
    return std::make_shared<LiteralExpr>(name.range, name.text);
  }
  ExprPtr key = parse_expression();
  if (!key || key->kind != ExprKind::traversal) return key;
  if (dialect_ == Dialect::legacy) {
    return std::make_shared<LiteralExpr>(key->range, static_cast<const TraversalExpr&>(*key).text());
  }
  error(key->range, "this key is ambiguous",
        "put it in quotes to use it as text, or in parentheses to use the value it refers to");
  return nullptr;
}

bool Parser::parse_for_intro(ForExpr& loop) {
  auto name = [&](std::string& target) {
    if (!at(TokenKind::identifier)) {
      unexpected("the name of a loop variable");
      return false;
    }
    target = std::string(next().text);
    return true;
  };
  next();  // for
  if (!name(loop.value_name)) return false;
  if (accept(TokenKind::comma)) {
    loop.key_name = std::move(loop.value_name);
    if (!name(loop.value_name)) return false;
  }
  if (!at_word("in")) {
    unexpected("in behind the loop variables");
    return false;
  }
  next();
  loop.collection = parse_expression();
  return loop.collection != nullptr;
}

ExprPtr Parser::parse_for(bool object, Position start) {
  auto loop = std::make_shared<ForExpr>(Range());
  if (!parse_for_intro(*loop) || !expect(TokenKind::colon, "behind the collection of a for expression")) return nullptr;
  loop->value = parse_expression();
  if (!loop->value) return nullptr;
  if (object) {
    if (!expect(TokenKind::fat_arrow, "between key and value of an object's for expression")) return nullptr;
    loop->key = std::move(loop->value);
    loop->value = parse_expression();
    if (!loop->value) return nullptr;
    loop->grouping = accept(TokenKind::ellipsis);
  }
  if (at_word("if")) {
    next();
    loop->condition = parse_expression();
    if (!loop->condition) return nullptr;
  }
  TokenKind close = object ? TokenKind::close_brace : TokenKind::close_bracket;
  if (!expect(close, "at the end of this for expression")) return nullptr;
  loop->range = since(start);
  for (const ExprPtr& part : {loop->collection, loop->key, loop->value, loop->condition}) {
    if (part) loop->depth = std::max(loop->depth, part->depth + 1);
  }
  return checked(std::move(loop));
}

}  // namespace drover::hcl
