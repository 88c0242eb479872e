#include "parser.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "functions.h"
#include "lexer.h"
#include "print.h"

namespace drover::text_template {
namespace {

using Kind = Token::Kind;

bool is_keyword(std::string_view word) {
  static constexpr std::string_view kWords[] = {"block", "break", "continue", "define",   "else",
                                                "end",   "if",    "range",    "template", "with"};
  return std::ranges::find(kWords, word) != std::end(kWords);
}

// Nothing has content but white space: such a definition may be replaced.
bool is_empty(const std::vector<Node>& nodes) {
  return std::ranges::all_of(nodes, [](const Node& node) {
    return node.kind == Node::Kind::text && node.text.find_first_not_of(" \t\r\n") == std::string::npos;
  });
}

// A number as the language writes it: an integer in base 2, 8, 10 or 16, or a fraction; null when it is none.
nlohmann::json number_of(std::string_view text) {
  bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('_') || text.ends_with('_') || text.find("__") != std::string_view::npos) return nullptr;
  std::string digits(text);
  std::erase(digits, '_');
  std::string_view rest = digits;
  int base = 10;
  if (rest.size() > 1 && rest[0] == '0') {
    char mark = static_cast<char>(rest[1] | 32);
    base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : rest.find_first_of(".eE") == rest.npos ? 8 : 10;
    rest.remove_prefix(mark == 'x' || mark == 'o' || mark == 'b' ? 2 : 0);
  }
  uint64_t whole = 0;
  auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), whole, base);
  if (problem == std::errc() && end == rest.data() + rest.size()) {
    constexpr uint64_t kMost = uint64_t{1} << 63;
    if (whole > kMost || (whole == kMost && !is_negative)) return nullptr;
    return static_cast<int64_t>(is_negative ? ~whole + 1 : whole);
  }
  double fraction = 0;
  if (base != 10 && digits.find('.') == std::string::npos) return nullptr;
  auto [stop, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), fraction);
  if (wrong != std::errc() || stop != digits.data() + digits.size()) return nullptr;
  return is_negative ? -fraction : fraction;
}

class Parser {
 public:
  Parser(std::vector<Token> tokens, const Functions* functions)
      : tokens_(std::move(tokens)), functions_(functions) {}

  Result<Trees> run() {
    variables_ = {"$"};
    DROVER_TRY(std::string ended_by, list(trees_.main, 0));
    if (!ended_by.empty()) return error(ended_at_, "{{" + ended_by + "}} ends nothing here");
    return std::move(trees_);
  }

 private:
  const Token& peek() const { return tokens_[at_]; }
  const Token& next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool at_mark(std::string_view mark) const { return peek().kind == Kind::mark && peek().text == mark; }

  static Status error(const Token& token, const std::string& problem) {
    return template_error(token.place, problem);
  }

  static std::string describe(const Token& token) {
    if (token.kind == Kind::close) return "the end of the action";
    if (token.kind == Kind::end) return "the end of the template";
    if (token.kind == Kind::string) return "a string";
    if (token.kind == Kind::character) return "a character";
    return "\"" + token.text + "\"";
  }

  Status close(std::string_view behind) {
    if (peek().kind == Kind::close) {
      next();
      return ok_status();
    }
    return error(peek(), "unexpected " + describe(peek()) + " behind " + std::string(behind));
  }

  // Nodes up to what ends them, {{end}} or {{else …}}, whose word is the answer; it has been read. Empty at the end.
  Result<std::string> list(std::vector<Node>& nodes, size_t depth) {
    if (depth > kMaxTemplateNesting) return error(peek(), "this is nested too deep");
    while (peek().kind != Kind::end) {
      Token token = next();
      if (token.kind == Kind::text) {
        nodes.push_back({Node::Kind::text, token.place, token.text, nullptr, {}, {}});
        continue;
      }
      if (peek().kind != Kind::word || !is_keyword(peek().text)) {
        DROVER_TRY(std::shared_ptr<const Pipeline> pipeline, pipeline_of("an action", 0, depth));
        DROVER_RETURN_IF_ERROR(close("this action"));
        nodes.push_back({Node::Kind::action, token.place, "", std::move(pipeline), {}, {}});
        continue;
      }
      Token word = next();
      if (word.text == "end" || word.text == "else") {
        ended_at_ = word;
        if (word.text == "end") DROVER_RETURN_IF_ERROR(close("end"));
        return word.text;
      }
      DROVER_RETURN_IF_ERROR(control(word, nodes, depth));
    }
    return std::string();
  }

  Status control(const Token& word, std::vector<Node>& nodes, size_t depth) {
    if (word.text == "define") return definition(word, depth);
    if (word.text == "template" || word.text == "block") return invocation(word, nodes, depth);
    if (word.text == "break" || word.text == "continue") {
      DROVER_RETURN_IF_ERROR(close(word.text));
      if (loops_ == 0) return error(word, "{{" + word.text + "}} stands outside of a range");
      Node::Kind kind = word.text == "break" ? Node::Kind::break_loop : Node::Kind::next_round;
      nodes.push_back({kind, word.place, "", nullptr, {}, {}});
      return ok_status();
    }
    return branch(word, nodes, depth);
  }

  // if, with and range, from behind their word to their end.
  Status branch(const Token& word, std::vector<Node>& nodes, size_t depth) {
    if (depth > kMaxTemplateNesting) return error(word, "this is nested too deep");
    size_t visible = variables_.size();
    Node node;
    bool is_range = word.text == "range";
    node.kind = is_range ? Node::Kind::range : word.text == "with" ? Node::Kind::with : Node::Kind::conditional;
    node.place = word.place;
    DROVER_TRY(node.pipeline, pipeline_of(word.text, is_range ? 2 : 1, depth));
    DROVER_RETURN_IF_ERROR(close(word.text));
    if (is_range) ++loops_;
    DROVER_TRY(std::string ended_by, list(node.body, depth + 1));
    if (is_range) --loops_;
    if (ended_by == "else") {
      if (!is_range && peek().kind == Kind::word && peek().text == word.text) {
        Token inner = next();  // else if, else with: its end is also this one's
        DROVER_RETURN_IF_ERROR(branch(inner, node.otherwise, depth + 1));
        ended_by = "end";
      } else {
        DROVER_RETURN_IF_ERROR(close("else"));
        DROVER_TRY(ended_by, list(node.otherwise, depth + 1));
        if (ended_by == "else") return error(ended_at_, "expected {{end}}, a second {{else}} cannot follow");
      }
    }
    if (ended_by.empty()) return error(word, "{{" + word.text + "}} is not ended: {{end}} is missing");
    variables_.resize(visible);
    nodes.push_back(std::move(node));
    return ok_status();
  }

  Status definition(const Token& word, size_t depth) {
    if (depth > 0) return error(word, "{{define}} stands outside of everything else");
    if (peek().kind != Kind::string) return error(peek(), "define takes a name in quotes");
    std::string name = next().text;
    DROVER_RETURN_IF_ERROR(close("the name of this template"));
    return body_of(name, word, depth);
  }

  Status body_of(const std::string& name, const Token& word, size_t depth) {
    std::vector<std::string> outer = std::exchange(variables_, {"$"});
    size_t loops = std::exchange(loops_, 0);
    std::vector<Node> body;
    DROVER_TRY(std::string ended_by, list(body, depth + 1));
    if (ended_by != "end") return error(word, "the template \"" + name + "\" is not ended: {{end}} is missing");
    variables_ = std::move(outer);
    loops_ = loops;
    std::vector<Node>& known = trees_.named[name];
    if (is_empty(known)) {
      known = std::move(body);
    } else if (!is_empty(body)) {
      return error(word, "there are two templates \"" + name + "\"");
    }
    return ok_status();
  }

  Status invocation(const Token& word, std::vector<Node>& nodes, size_t depth) {
    if (peek().kind != Kind::string) return error(peek(), word.text + " takes a name in quotes");
    Node node;
    node.kind = Node::Kind::invoke;
    node.place = word.place;
    node.text = next().text;
    if (peek().kind != Kind::close || word.text == "block") {
      DROVER_TRY(node.pipeline, pipeline_of(word.text, 0, depth));
    }
    DROVER_RETURN_IF_ERROR(close(word.text));
    if (word.text == "block") DROVER_RETURN_IF_ERROR(body_of(node.text, word, depth));
    nodes.push_back(std::move(node));
    return ok_status();
  }

  // At most `loop` variables, of one also where it is 0: an action may declare. Ends in front of }} or ).
  Result<std::shared_ptr<const Pipeline>> pipeline_of(std::string_view where, size_t loop, size_t depth) {
    if (depth > kMaxTemplateNesting) return error(peek(), "this is nested too deep");
    auto pipeline = std::make_shared<Pipeline>();
    pipeline->place = peek().place;
    DROVER_RETURN_IF_ERROR(assignment(*pipeline, loop));
    while (true) {
      Command command;
      DROVER_RETURN_IF_ERROR(words_of(command, depth));
      if (command.words.empty()) {
        return error(peek(), "a value is missing in " + std::string(where) + ", in front of " + describe(peek()));
      }
      const Operand& first = command.words.front();
      if (first.kind == Operand::Kind::nil) return template_error(first.place, "nil is not a command");
      if (!pipeline->commands.empty() && first.fields.empty() && first.kind != Operand::Kind::function &&
          first.kind != Operand::Kind::variable && first.kind != Operand::Kind::pipeline) {
        return template_error(first.place, "only a function can be the later part of a pipeline");
      }
      pipeline->commands.push_back(std::move(command));
      if (!at_mark("|")) break;
      next();
    }
    if (pipeline->declares) {
      variables_.insert(variables_.end(), pipeline->variables.begin(), pipeline->variables.end());
    }
    return std::shared_ptr<const Pipeline>(std::move(pipeline));
  }

  // `$x :=`, `$x =`, and `$i, $x :=` in a range.
  Status assignment(Pipeline& pipeline, size_t loop) {
    size_t begin = at_;
    std::vector<std::string> names;
    while (peek().kind == Kind::variable) {
      names.push_back(next().text);
      if (!at_mark(",")) break;
      next();
    }
    if (names.empty() || !(at_mark(":=") || at_mark("="))) {
      if (names.size() > 1 || (at_ > begin && tokens_[at_ - 1].text == ","))
        return error(tokens_[at_ - 1], "expected := behind these variables");
      at_ = begin;
      return ok_status();
    }
    if (names.size() > std::max<size_t>(loop, 1)) return error(tokens_[begin], "there are too many variables here");
    pipeline.declares = next().text == ":=";
    pipeline.variables = names;
    for (const std::string& name : names) {
      if (!pipeline.declares && std::ranges::find(variables_, name) == variables_.end())
        return error(tokens_[begin], "there is no variable " + name);
    }
    return ok_status();
  }

  Status words_of(Command& command, size_t depth) {
    while (true) {
      const Token& token = peek();
      if (token.kind == Kind::close || at_mark("|") || at_mark(")")) return ok_status();
      if (token.kind == Kind::end) return error(token, "this action is not closed");
      if (!command.words.empty() && !token.has_space) {
        return error(token, "unexpected " + describe(token) + ", a space is missing");
      }
      Operand operand;
      DROVER_RETURN_IF_ERROR(operand_of(operand, depth));
      command.words.push_back(std::move(operand));
    }
  }

  Status operand_of(Operand& operand, size_t depth) {
    Token token = next();
    operand.place = token.place;
    operand.kind = Operand::Kind::literal;
    switch (token.kind) {
      case Kind::dot:
        operand.kind = Operand::Kind::dot;
        return chained() ? error(peek(), "unexpected " + describe(peek()) + " behind .") : ok_status();
      case Kind::field:
        operand.kind = Operand::Kind::dot;
        operand.fields.push_back(token.text.substr(1));
        break;
      case Kind::variable:
        operand.kind = Operand::Kind::variable;
        operand.name = token.text;
        if (std::ranges::find(variables_, token.text) == variables_.end())
          return error(token, "there is no variable " + token.text);
        break;
      case Kind::string:
        operand.literal = value_of(token.text);
        break;
      case Kind::character:
        operand.literal = value_of(first_character(token.text).point);
        break;
      case Kind::number:
        operand.literal = value_of(number_of(token.text));
        if (operand.literal->is_null()) return error(token, "\"" + token.text + "\" is not a number, or too large");
        break;
      case Kind::word:
        DROVER_RETURN_IF_ERROR(word_of(operand, token));
        break;
      default:
        if (token.kind != Kind::mark || token.text != "(") return error(token, "unexpected " + describe(token));
        operand.kind = Operand::Kind::pipeline;
        DROVER_TRY(operand.inner, pipeline_of("these parentheses", 0, depth + 1));
        if (!at_mark(")")) return error(peek(), "expected ), found " + describe(peek()));
        next();
    }
    if (chained() && operand.kind == Operand::Kind::literal) {
      return error(peek(), "unexpected " + describe(peek()) + " behind a value that has no fields");
    }
    while (chained()) operand.fields.push_back(next().text.substr(1));
    return ok_status();
  }

  // A field follows without a space.
  bool chained() const { return peek().kind == Kind::field && !peek().has_space; }

  bool is_function(const std::string& name) const {
    return is_own_function(name) || (functions_ && functions_->has(name));
  }

  Status word_of(Operand& operand, const Token& token) {
    if (token.text == "true" || token.text == "false") {
      operand.literal = value_of(token.text == "true");
      return ok_status();
    }
    if (token.text == "nil") {
      operand.kind = Operand::Kind::nil;
      return ok_status();
    }
    operand.kind = Operand::Kind::function;
    operand.name = token.text;
    if (chained() && is_function(token.text + peek().text)) operand.name += next().text;  // a method
    if (is_function(operand.name)) return ok_status();
    if (is_keyword(token.text)) return error(token, "unexpected " + token.text);
    return error(token, "there is no function " + token.text);
  }

  const std::vector<Token> tokens_;
  const Functions* const functions_;  // added ones; may be null
  size_t at_ = 0;
  Token ended_at_;  // the last {{end}} or {{else}}
  size_t loops_ = 0;
  std::vector<std::string> variables_;  // that can be seen here
  Trees trees_;
};

}  // namespace

Result<Trees> parse_trees(std::string_view text, const Syntax& syntax) {
  DROVER_TRY(std::vector<Token> tokens, tokens_of(text, syntax));
  return Parser(std::move(tokens), syntax.functions).run();
}

}  // namespace drover::text_template
