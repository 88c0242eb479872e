#include "options.h"

#include <algorithm>

#include "drover/nearest.h"

namespace drover::author {

Result<Options> Options::parse(std::span<const std::string> words, const std::vector<Option>& known) {
  Options out;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word.size() < 2 || word[0] != '-') {
      out.arguments_.emplace_back(word);
      continue;
    }
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    const size_t equals = word.find('=');
    const std::string name(word.substr(0, equals));
    const auto option = std::ranges::find(known, name, &Option::name);
    if (option == known.end()) {
      std::vector<std::string_view> names;
      for (const Option& each : known) names.push_back(each.name);
      const std::string hint = nearest_hint(name, names);
      return invalid_argument("unknown option -" + name + (hint.empty() ? "" : "; " + hint));
    }
    if (option->value_name.empty()) {
      if (equals != std::string_view::npos) return invalid_argument("option -" + name + " takes no value");
      out.values_[name] = "true";
    } else if (equals != std::string_view::npos) {
      out.values_[name] = word.substr(equals + 1);
    } else if (i + 1 < words.size()) {
      out.values_[name] = words[++i];
    } else {
      return invalid_argument("option -" + name + " needs " + option->value_name);
    }
  }
  return out;
}

std::string Options::value(std::string_view option, std::string fallback) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::move(fallback) : found->second;
}

std::string help_of(const std::vector<Option>& known) {
  std::string out;
  for (const Option& option : known) {
    std::string left = "    -" + option.name + (option.value_name.empty() ? "" : " " + option.value_name);
    left.resize(std::max<size_t>(left.size() + 2, 24), ' ');
    out += left + option.help + "\n";
  }
  return out;
}

bool wants_help(std::span<const std::string> words) {
  return std::ranges::any_of(words, [](const std::string& w) { return w == "-h" || w == "-help" || w == "--help"; });
}

}  // namespace drover::author
