#include "flags.h"

#include <algorithm>
#include <cxxopts.hpp>

#include "drover/nearest.h"

namespace drover::cli {

Result<Arguments> Arguments::parse(std::span<const std::string> words, const std::vector<Flag>& flags,
                                   std::span<const std::string> further) {
  cxxopts::Options options("drover");
  // cxxopts takes a value behind "=" for names of several letters only.
  const auto long_name = [](const std::string& name) { return name.size() == 1 ? "one-letter-" + name : name; };
  for (const Flag& flag : flags) {
    if (!flag.takes_value) options.add_options()(long_name(flag.name), flag.help, cxxopts::value<bool>());
  }
  // Two dashes for all; what follows "--" is left alone.
  std::vector<std::string> normal = {"drover"};
  std::vector<std::string> rest;
  Arguments out;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word == "--") {
      rest.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      out.positional_.emplace_back(word);
      continue;
    }
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    const size_t equals = word.find('=');
    const std::string name(word.substr(0, equals));
    auto flag = std::ranges::find(flags, name, &Flag::name);
    if (flag == flags.end()) {
      std::vector<std::string_view> names;
      for (const Flag& f : flags) names.push_back(f.name);
      const std::string hint = nearest_hint(name, names);
      return invalid_argument("flag provided but not defined: -" + name + (hint.empty() ? "" : "; " + hint));
    }
    std::string value = equals == std::string_view::npos ? "" : std::string(word.substr(equals + 1));
    if (equals == std::string_view::npos && flag->takes_value) {
      if (++i == words.size()) return invalid_argument("flag needs an argument: -" + name);
      value = words[i];
    }
    if (equals == std::string_view::npos && !flag->takes_value) value = "true";
    out.given_.push_back({name, value, flag->takes_value});
    if (flag->takes_value) {
      out.values_[name].push_back(value);  // as it stands: cxxopts would split it at commas
    } else {
      normal.push_back("--" + long_name(name) + "=" + value);
    }
  }
  std::vector<const char*> argv;
  for (const std::string& word : normal) argv.push_back(word.c_str());
  try {
    auto parsed = options.parse(static_cast<int>(argv.size()), argv.data());
    for (const Flag& flag : flags) {
      const std::string known = long_name(flag.name);
      if (flag.takes_value || parsed.count(known) == 0) continue;
      out.values_[flag.name] = {parsed[known].as<bool>() ? "true" : "false"};
    }
  } catch (const std::exception& problem) {  // cxxopts reports a value that it cannot read
    return invalid_argument(problem.what());
  }
  for (const Flag& flag : flags) {
    if (!out.values_.contains(flag.name))
      out.values_[flag.name] = flag.fallback.empty() ? std::vector<std::string>{} : std::vector{flag.fallback};
  }
  out.positional_.insert(out.positional_.end(), rest.begin(), rest.end());
  out.positional_.insert(out.positional_.end(), further.begin(), further.end());
  return out;
}

size_t own_words(std::span<const std::string> words, const std::vector<Flag>& flags) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word.size() < 2 || word[0] != '-') return i + 1 < words.size() && words[i + 1] == "--" ? i + 2 : i + 1;
    const std::string_view name = word.substr(word.starts_with("--") ? 2 : 1);
    const auto flag = std::ranges::find(flags, name, &Flag::name);
    if (flag != flags.end() && flag->takes_value) ++i;
  }
  return words.size();
}

std::string Arguments::value(std::string_view flag) const {
  auto at = values_.find(flag);
  return at == values_.end() || at->second.empty() ? "" : at->second.back();
}

std::vector<std::string> Arguments::values(std::string_view flag) const {
  auto at = values_.find(flag);
  return at == values_.end() ? std::vector<std::string>{} : at->second;
}

}  // namespace drover::cli
