// The formatter: works on tokens, so comments stay where they are and text inside of strings and heredocs is untouched.
//
//   tokens ──▶ lines, each with three cells: lead, assignment, trailing comment ──▶ indentation, spaces, columns ──▶
//   text
#include <algorithm>

#include "lexer.h"
#include "unicode.h"

namespace drover::hcl {
namespace {

using enum TokenKind;

struct Cell {
  Token token;
  size_t spaces = 0;  // in front of it
};
using Cells = std::vector<Cell>;

struct Line {
  Cells lead;            // everything that is in neither of the others
  Cells assign;          // from the equals sign on, when the value ends on this line
  Cells comment;         // at most one token
  std::string_view end;  // as the file has it; empty behind the last
};

bool is_one_of(TokenKind kind, std::initializer_list<TokenKind> kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

int bracket_change(const Token& token) {
  if (is_one_of(token.kind, {open_brace, open_bracket, open_paren, open_interpolation, open_directive})) return 1;
  if (is_one_of(token.kind, {close_brace, close_bracket, close_paren, close_template})) return -1;
  return 0;
}

int net_brackets(const Cells& cells) {
  int net = 0;
  for (const Cell& cell : cells) net += bracket_change(cell.token);
  return net;
}

// ---- lines and cells

void split_into_cells(Line& line) {
  if (line.lead.size() > 1 && line.lead.back().token.kind == comment) {
    line.comment.push_back(line.lead.back());
    line.lead.pop_back();
  }
  for (size_t i = 1; i < line.lead.size(); ++i) {
    if (line.lead[i].token.kind != equal) continue;
    auto at = line.lead.begin() + static_cast<std::ptrdiff_t>(i);
    Cells value(at, line.lead.end());
    if (net_brackets(value) != 0) return;  // the value goes on in the next line
    line.lead.erase(at, line.lead.end());
    line.assign = std::move(value);
    return;
  }
}

std::vector<Line> lines_of(const std::vector<Token>& tokens) {
  std::vector<Line> lines(1);
  for (const Token& token : tokens) {
    if (token.kind == newline) {
      lines.back().end = token.text;
      lines.emplace_back();
    } else if (token.kind != TokenKind::end) {
      lines.back().lead.push_back({token});
    }
  }
  for (Line& line : lines) split_into_cells(line);
  return lines;
}

// ---- indentation: one step for each line that opens more brackets than it closes

void indent(std::vector<Line>& lines) {
  std::vector<int> open;  // how many brackets each line opened
  for (Line& line : lines) {
    if (line.lead.empty()) continue;
    int net = net_brackets(line.lead) + net_brackets(line.assign);
    size_t depth = open.size();
    if (net > 0) {
      open.push_back(net);
    } else if (net < 0) {
      int closed = -net;
      while (closed > 0 && !open.empty()) {
        int taken = std::min(closed, open.back());
        closed -= taken;
        open.back() -= taken;
        if (open.back() == 0) open.pop_back();
      }
      depth = open.size();
    }
    line.lead.front().spaces = 2 * depth;
  }
}

// ---- spaces within a line

bool is_word_between_operands(const Token& token) {
  return token.kind == identifier && (token.text == "for" || token.text == "in" || token.text == "if");
}

bool is_operand_end(const Token& token) {
  return is_one_of(token.kind,
                   {identifier, number, close_paren, close_bracket, close_brace, close_quote, close_template, star}) &&
         !is_word_between_operands(token);
}

bool is_space_between(const Token* before, const Token& subject, const Token& after) {
  if (is_one_of(subject.kind, {open_quote, open_heredoc, quoted_literal, string_literal}) ||
      is_one_of(after.kind, {close_quote, close_heredoc, quoted_literal, string_literal})) {
    return false;
  }
  bool is_in_quotes = subject.kind == close_template && is_one_of(after.kind, {open_interpolation, open_directive});
  if (is_in_quotes) return false;
  if (is_one_of(subject.kind, {open_interpolation, open_directive}) || after.kind == close_template) return false;
  if (after.kind == open_paren && subject.kind == identifier && !is_word_between_operands(subject)) return false;
  if (subject.kind == dot || after.kind == dot) return false;
  if (after.kind == comma || after.kind == ellipsis) return false;
  if (subject.kind == comma) return true;
  if (subject.kind == open_brace && after.kind == close_brace) return false;
  if (subject.kind == open_brace || after.kind == close_brace) return true;
  if (is_one_of(subject.kind, {open_bracket, open_paren}) || is_one_of(after.kind, {close_bracket, close_paren})) {
    return false;
  }
  bool is_index = after.kind == open_bracket && is_one_of(subject.kind, {identifier, close_bracket, close_paren}) &&
                  !is_word_between_operands(subject);
  if (is_index || subject.kind == bang) return false;
  if (subject.kind == minus) return before && is_operand_end(*before);
  return true;
}

void space_cells(Cells& cells) {
  for (size_t i = 1; i < cells.size(); ++i) {
    const Token* before = i > 1 ? &cells[i - 2].token : nullptr;
    cells[i].spaces = is_space_between(before, cells[i - 1].token, cells[i].token) ? 1 : 0;
  }
}

// ---- columns

size_t columns_of(const Cells& cells) {
  size_t columns = 0;
  for (const Cell& cell : cells) columns += cell.spaces + characters(cell.token.text).size();
  return columns;
}

// Gives the cell of neighbouring lines that have it one column.
template <typename Get, typename Width>
void align(std::vector<Line>& lines, Get cell_of, Width width_before) {
  for (size_t begin = 0; begin < lines.size();) {
    if (cell_of(lines[begin]).empty()) {
      ++begin;
      continue;
    }
    size_t end = begin, widest = 0;
    for (; end < lines.size() && !cell_of(lines[end]).empty(); ++end)
      widest = std::max(widest, width_before(lines[end]));
    for (; begin < end; ++begin) cell_of(lines[begin]).front().spaces = widest - width_before(lines[begin]) + 1;
  }
}

void print(const Cells& cells, std::string& out) {
  for (const Cell& cell : cells) out.append(cell.spaces, ' ').append(cell.token.text);
}

}  // namespace

Result<std::string> format(std::string name, std::string text) {
  Diagnostics diagnostics;
  Source source{.name = std::move(name), .text = std::move(text), .origin = {}};
  File file = parse(source.name, source.text, diagnostics);
  if (diagnostics.has_errors()) return invalid_argument(diagnostics.render(*file.source));
  std::vector<Line> lines = lines_of(lex(source, LexMode::expressions, diagnostics));
  for (Line& line : lines) {
    space_cells(line.lead);
    space_cells(line.assign);
  }
  indent(lines);
  align(
      lines, [](Line& line) -> Cells& { return line.assign; }, [](const Line& line) { return columns_of(line.lead); });
  align(
      lines, [](Line& line) -> Cells& { return line.comment; },
      [](const Line& line) { return columns_of(line.lead) + columns_of(line.assign); });
  std::string out;
  for (const Line& line : lines) {
    print(line.lead, out);
    print(line.assign, out);
    print(line.comment, out);
    out += line.end;
  }
  return out;
}

}  // namespace drover::hcl
