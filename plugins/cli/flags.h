// Command-line options in the form that people know from the field: one dash or two, `-flag=value` or `-flag value`,
// before or after the arguments. cxxopts does the reading; only flags.cc includes it.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::cli {

struct Flag {
  std::string name;
  bool takes_value = false;
  std::string fallback;  // of one with a value
  std::string help;
};

class Arguments {
 public:
  // Errors: invalid_argument, for an unknown flag with the nearest one.
  // `rest`: further arguments, whatever they look like.
  static Result<Arguments> parse(std::span<const std::string> words, const std::vector<Flag>& flags,
                                 std::span<const std::string> rest = {});

  struct Given {
    std::string flag;
    std::string value;  // "true" for a switch without one
    bool takes_value = false;
  };
  // In the order in which they were typed.
  const std::vector<Given>& given() const { return given_; }
  bool is_set(std::string_view flag) const { return std::ranges::find(given_, flag, &Given::flag) != given_.end(); }
  // The last value given, or the flag's fallback.
  std::string value(std::string_view flag) const;
  std::vector<std::string> values(std::string_view flag) const;
  bool on(std::string_view flag) const { return value(flag) == "true"; }
  const std::vector<std::string>& positional() const { return positional_; }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<Given> given_;
  std::vector<std::string> positional_;
};

// How many of the words are the command's own where the others are those of another command: up to the first that is
// neither a flag nor a flag's value; a "--" behind it is dropped with it.
size_t own_words(std::span<const std::string> words, const std::vector<Flag>& flags);

}  // namespace drover::cli
