#include <algorithm>

#include "page.h"

namespace drover::reference {
namespace {

// Escapes what Markdown would take for something else, outside of code.
std::string escaped(std::string_view text) {
  std::string out;
  bool is_code = false;
  for (const char c : text) {
    if (c == '`') is_code = !is_code;
    if (!is_code && (c == '<' || c == '*')) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string prose(const std::vector<std::string>& lines) {
  std::string out;
  enum class In : uint8_t { nothing, text, drawing } in = In::nothing;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.empty()) {
      // A gap inside a drawing belongs to it.
      const bool goes_on = in == In::drawing && i + 1 < lines.size() && lines[i + 1].starts_with(' ');
      if (goes_on) {
        out += '\n';
        continue;
      }
      if (in == In::drawing) out += "```\n";
      if (in != In::nothing) out += '\n';
      in = In::nothing;
      continue;
    }
    const In next = line.starts_with(' ') ? In::drawing : In::text;
    if (in != next) {
      if (in == In::drawing) out += "```\n\n";
      if (in == In::text) out += "\n";
      if (next == In::drawing) out += "```text\n";
      in = next;
    }
    out += (next == In::drawing ? line : escaped(line)) + "\n";
  }
  if (in == In::drawing) out += "```\n";
  return out;
}

std::string first_sentence(std::string_view text) {
  std::string flat(text.substr(0, text.find("\n\n")));
  std::ranges::replace(flat, '\n', ' ');
  for (size_t at = 0; (at = flat.find_first_of(".:", at)) != std::string::npos; ++at) {
    if (at + 1 == flat.size() || flat[at + 1] == ' ') return flat.substr(0, at) + ".";
  }
  while (flat.ends_with(' ')) flat.pop_back();
  return flat;
}

Page index_page(const std::vector<Page>& pages) {
  Page index{.name = "README.md", .title = "Reference", .summary = {}, .text = {}};
  index.text =
      "# Reference\n\n"
      "The build makes these pages from the SDK's headers and protocols; what is wrong here is mended there. The "
      "plugin\n"
      "author's guide, docs/plugin-author of the source, tells how the parts fit together.\n\n| | |\n| --- | --- |\n";
  for (const Page& page : pages) index.text += "| [" + page.title + "](" + page.name + ") | " + page.summary + " |\n";
  return index;
}

}  // namespace drover::reference
