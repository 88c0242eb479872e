#include "paging.h"

#include "object_output.h"

namespace drover::cli {
namespace {

// The word as a shell reads it back.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.,:/@%+=";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

}  // namespace

std::vector<Flag> with_page_flags(std::vector<Flag> flags, const std::string& example) {
  flags.push_back(with_value("filter", "", "Filter expression: '" + example + "'"));
  flags.push_back(with_value("per-page", "", "Page size"));
  flags.push_back(with_value("page-token", "", "Where the page begins"));
  return with_object_flags(std::move(flags));
}

Parameters page_of(const Arguments& arguments) {
  Parameters wishes;  // as they were typed: the server says what is wrong with them
  for (const auto& [flag, parameter] :
       {std::pair("filter", "filter"), {"per-page", "per_page"}, {"page-token", "next_token"}}) {
    if (arguments.is_set(flag)) wishes.emplace(parameter, arguments.value(flag));
  }
  return wishes;
}

std::string next_page_command(const Arguments& arguments, const std::string& command, const std::string& next_token) {
  std::string text = "drover " + command;
  for (const Arguments::Given& given : arguments.given()) {
    if (given.flag == "page-token" || given.flag == "token") continue;
    text += " -" + given.flag;
    if (given.takes_value) {
      text += " " + quoted(given.value);
    } else if (given.value != "true") {
      text += "=" + quoted(given.value);
    }
  }
  return text + " -page-token " + quoted(next_token);
}

void print_next_page(Run& run, const std::string& command, const std::string& next_token) {
  if (next_token.empty()) return;
  run.out << "\nResults have been paginated. To get the next page run:\n\n"
          << next_page_command(run.arguments, command, next_token) << "\n";
}

}  // namespace drover::cli
