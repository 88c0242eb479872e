// The options of the author's commands: one dash or two, `-name value` or `-name=value`, before or behind the
// arguments.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::author {

struct Option {
  std::string name;
  std::string value_name{};  // empty: a switch
  std::string help{};
};

class Options {
 public:
  // Errors: invalid_argument, naming the option and the nearest known one.
  static Result<Options> parse(std::span<const std::string> words, const std::vector<Option>& known);

  bool on(std::string_view option) const { return values_.contains(option); }
  std::string value(std::string_view option, std::string fallback = {}) const;
  const std::vector<std::string>& arguments() const { return arguments_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::string> arguments_;
};

// "    -run PATTERN    only …", one line an option.
std::string help_of(const std::vector<Option>& known);

bool wants_help(std::span<const std::string> words);

}  // namespace drover::author
