#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "page.h"

namespace drover::reference {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The identifier that ends before `end`.
std::string word_before(std::string_view text, size_t end) {
  end = std::min(end, text.size());
  while (end > 0 && !is_word(text[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return std::string(text.substr(begin, end - begin));
}

// The name of the declared thing: before its parameters, before "=", or the last word.
std::string name_of(std::string_view declaration) {
  for (const std::string_view key : {"class ", "struct ", "enum class ", "enum "}) {
    const size_t at = declaration.find(key);
    if (at != 0 && (at == std::string_view::npos || !declaration.starts_with("typedef "))) continue;
    size_t begin = at + key.size(), end = begin;
    while (end < declaration.size() && is_word(declaration[end])) ++end;
    if (key == "enum " && declaration.substr(begin, end - begin) == "class") continue;
    return std::string(declaration.substr(begin, end - begin));
  }
  if (declaration.starts_with("using ")) return word_before(declaration, declaration.find(" ="));
  const size_t operator_at = declaration.find("operator");
  const size_t bracket = declaration.find('(');
  if (operator_at < bracket) return std::string(declaration.substr(operator_at, bracket - operator_at));
  const size_t equals = declaration.find(" =");
  if (bracket != std::string_view::npos && bracket < equals) return word_before(declaration, bracket);
  if (bracket != std::string_view::npos && equals == std::string_view::npos) return word_before(declaration, bracket);
  return word_before(declaration, std::min({equals, declaration.find('{'), declaration.find(';')}));
}

class Reader {
 public:
  explicit Reader(std::string_view source) {
    while (!source.empty()) {
      const size_t end = std::min(source.find('\n'), source.size());
      lines_.emplace_back(source.substr(0, end));
      source.remove_prefix(std::min(end + 1, source.size()));
    }
  }

  std::vector<std::string> file_comment() {
    std::vector<std::string> comment;
    if (!lines_.empty() && lines_[0].starts_with("/*")) return block_comment();
    for (; at_ < lines_.size() && lines_[at_].starts_with("//"); ++at_) comment.push_back(comment_text(lines_[at_]));
    return comment;
  }

  std::string declarations() {
    while (at_ < lines_.size()) read_line();
    return std::move(out_);
  }

 private:
  static std::string comment_text(std::string_view line) {
    line = trimmed(line).substr(2);
    if (line.starts_with(' ')) line.remove_prefix(1);
    return std::string(line);
  }

  // "/* text", " * text", …, "text */".
  std::vector<std::string> block_comment() {
    std::vector<std::string> comment;
    for (bool is_over = false; !is_over && at_ < lines_.size(); ++at_) {
      std::string_view line = lines_[at_];
      if (const size_t end = line.find("*/"); end != std::string_view::npos) {
        line = line.substr(0, end);
        is_over = true;
      }
      line.remove_prefix(indent_of(line));
      for (const std::string_view mark : {"/* ", "/*", "* ", "*"}) {
        if (!line.starts_with(mark)) continue;
        line.remove_prefix(mark.size());
        break;
      }
      while (line.ends_with(' ')) line.remove_suffix(1);
      comment.emplace_back(line);
    }
    return comment;
  }

  void read_line() {
    const std::string& line = lines_[at_];
    const std::string_view text = trimmed(line);
    if (text.empty()) {
      comment_.clear();
      shares_ = false;
      ++at_;
    } else if (text.starts_with("//")) {
      if (shares_) comment_.clear();
      shares_ = false;
      comment_.push_back(comment_text(text));
      ++at_;
    } else if (text.starts_with("/*")) {
      comment_ = block_comment();
      shares_ = false;
    } else if (text.starts_with("#if") || text.starts_with("#endif") || text.starts_with("__attribute__")) {
      ++at_;  // what follows keeps its comment
    } else if (text.starts_with('#')) {
      read_macro(text);
    } else if (is_frame(text)) {
      comment_.clear();
      ++at_;
    } else if (text == "public:" || text == "private:" || text == "protected:") {
      is_hidden_ = text != "public:";
      ++at_;
    } else if (text == "};" || text == "}") {
      class_.reset();
      is_hidden_ = false;
      comment_.clear();
      ++at_;
    } else {
      read_declaration();
    }
  }

  // Namespaces, and names of what is declared elsewhere.
  static bool is_frame(std::string_view text) {
    if (text.starts_with("namespace ") || text.starts_with("}  //") || text.starts_with("extern \"C\"")) return true;
    return (text.starts_with("class ") || text.starts_with("struct ")) && text.ends_with(';') &&
           text.find_first_of("{=(") == std::string_view::npos;
  }

  void read_macro(std::string_view text) {
    const bool is_documented = text.starts_with("#define DROVER_") && !comment_.empty();
    if (is_documented) {
      const std::string_view rest = text.substr(std::string_view("#define ").size());
      const size_t bracket = rest.find('(');
      const size_t end = bracket == std::string_view::npos ? rest.find(' ') : rest.find(')') + 1;
      begin_item(std::string(rest.substr(0, std::min(bracket, end))), std::string(rest.substr(0, end)));
    }
    while (at_ < lines_.size() && lines_[at_].ends_with('\\')) ++at_;
    ++at_;
    comment_.clear();
    shares_ = false;
  }

  // To the line where all brackets are closed and the declaration ends.
  void read_declaration() {
    const size_t indent = indent_of(lines_[at_]);
    std::string_view first = trimmed(lines_[at_]);
    const bool opens_class = first.starts_with("class ") && first.ends_with('{');
    if (opens_class && !class_ && !is_hidden_) {
      class_ = name_of(first);
      out_ += "\n## " + *class_ + "\n\n```cpp\n" + std::string(first.substr(0, first.size() - 2)) + ";\n```\n";
      if (!comment_.empty()) out_ += "\n" + prose(comment_);
      comment_.clear();
      is_hidden_ = true;  // until "public:"
      ++at_;
      return;
    }
    std::string declaration;
    int depth = 0;
    bool has_body = false;
    for (bool is_over = false; !is_over && at_ < lines_.size(); ++at_) {
      const std::string& line = lines_[at_];
      declaration += (declaration.empty() ? "" : "\n") + line.substr(std::min(indent, indent_of(line)));
      for (const char c : line.substr(0, line.find("//"))) {
        depth += c == '(' || c == '{' ? 1 : c == ')' || c == '}' ? -1 : 0;
        has_body = has_body || c == '{';
      }
      std::string_view code = std::string_view(line).substr(0, line.find("//"));
      while (code.ends_with(' ')) code.remove_suffix(1);
      is_over = depth <= 0 && (code.ends_with(';') || (has_body && code.ends_with('}')));
    }
    take(std::move(declaration));
  }

  void take(std::string declaration) {
    const bool is_type = declaration.starts_with("struct ") || declaration.starts_with("enum ") ||
                         declaration.starts_with("typedef ") || declaration.starts_with("class ");
    const bool is_dull = declaration.find("= delete") != std::string::npos ||
                         declaration.find('~') < declaration.find('(') || declaration.starts_with("static_assert") ||
                         declaration.starts_with("friend ") || declaration.starts_with("__attribute__");
    if (is_hidden_ || is_dull) {
      comment_.clear();
      return;
    }
    if (!is_type) {
      // Without the body, and without what initialises members.
      const size_t bracket = declaration.find(')');
      size_t body = declaration.find('{', bracket == std::string::npos ? 0 : bracket);
      if (bracket != std::string::npos) body = std::min(body, declaration.find(" : ", bracket));
      if (bracket != std::string::npos && body != std::string::npos && declaration.find(" = ") > body) {
        while (body > 0 && std::isspace(static_cast<unsigned char>(declaration[body - 1])) != 0) --body;
        declaration = declaration.substr(0, body) + ";";
      }
    }
    if (shares_ && comment_.empty()) {
      // One comment for several: into the code block that stands last.
      const size_t end = out_.rfind("\n```\n");
      out_.insert(end, "\n" + declaration);
      return;
    }
    const std::string name =
        name_of(declaration.starts_with("template") ? declaration.substr(declaration.find('\n') + 1) : declaration);
    begin_item(name, declaration);
    comment_.clear();
    shares_ = true;
  }

  void begin_item(const std::string& name, const std::string& code) {
    out_ += (class_ ? "\n### " : "\n## ") + name + "\n\n```cpp\n" + code + "\n```\n";
    if (!comment_.empty()) out_ += "\n" + prose(comment_);
  }

  std::vector<std::string> lines_;
  size_t at_ = 0;
  std::vector<std::string> comment_;  // before what comes next
  bool shares_ = false;               // the item before may take what comes next
  bool is_hidden_ = false;
  std::optional<std::string> class_;
  std::string out_;
};

}  // namespace

Page header_page(std::string name, std::string title, std::string_view source) {
  Reader reader(source);
  const std::string about = prose(reader.file_comment());
  Page page{.name = std::move(name), .title = std::move(title), .summary = first_sentence(about), .text = {}};
  page.text = "# " + page.title + "\n\n" + about + reader.declarations();
  return page;
}

}  // namespace drover::reference
