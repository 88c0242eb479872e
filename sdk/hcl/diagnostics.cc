#include <algorithm>

#include "drover/hcl.h"

namespace drover::hcl {
namespace {

// The text of the line that holds `position`, without its end of line. Lines are counted rather than looked up by
// byte, because the diagnostic may come from a piece of the file that was read on its own.
std::string_view line_of(const Source& source, int line) {
  std::string_view text = source.text;
  for (int at = source.origin.line; at < line; ++at) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

size_t code_points(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string Diagnostic::to_string() const {
  std::string text = file + ":" + std::to_string(range.start.line) + ":" + std::to_string(range.start.column) + ": " +
                     (severity == Severity::error ? "error: " : "warning: ") + message;
  if (!hint.empty()) text += " (" + hint + ")";
  return text;
}

std::string render(const Diagnostic& diagnostic, const Source& source) {
  Diagnostic first = diagnostic;
  first.hint.clear();
  std::string text = first.to_string() + "\n";
  std::string_view line = line_of(source, diagnostic.range.start.line);
  if (!line.empty() && line.size() <= 400) {
    std::string number = std::to_string(diagnostic.range.start.line);
    size_t from = static_cast<size_t>(std::max(diagnostic.range.start.column, 1)) - 1;
    size_t to = diagnostic.range.end.line == diagnostic.range.start.line
                    ? static_cast<size_t>(std::max(diagnostic.range.end.column, 1)) - 1
                    : code_points(line);
    from = std::min(from, code_points(line));
    to = std::clamp(to, from + 1, std::max(from + 1, code_points(line)));
    text += "  " + number + " | " + std::string(line) + "\n";
    text += "  " + std::string(number.size(), ' ') + " | ";
    size_t column = 0;  // tabs are repeated so that the caret stands under its text
    for (char c : line) {
      if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;
      if (column++ == from) break;
      text += c == '\t' ? '\t' : ' ';
    }
    text += std::string(to - from, '^') + "\n";
  }
  if (!diagnostic.hint.empty()) text += "  hint: " + diagnostic.hint + "\n";
  return text;
}

void Diagnostics::add(Diagnostic diagnostic) {
  bool is_error = diagnostic.severity == Severity::error;
  if (is_error) ++errors_;
  if (list_.size() > kMaxDiagnostics) return;
  if (list_.size() == kMaxDiagnostics) {
    diagnostic.message = "more problems were found and are not listed";
    diagnostic.hint.clear();
  }
  list_.push_back(std::move(diagnostic));
}

void Diagnostics::error(std::string_view file, Range range, std::string message, std::string hint) {
  add({Severity::error, std::string(file), range, std::move(message), std::move(hint)});
}

Status Diagnostics::status() const {
  if (!has_errors()) return ok_status();
  std::string text;
  for (const Diagnostic& diagnostic : list_) {
    if (diagnostic.severity != Severity::error) continue;
    if (!text.empty()) text += '\n';
    text += diagnostic.to_string();
  }
  return invalid_argument(std::move(text));
}

std::string Diagnostics::render(const Source& source) const {
  std::string text;
  for (const Diagnostic& diagnostic : list_) text += hcl::render(diagnostic, source);
  return text;
}

}  // namespace drover::hcl
