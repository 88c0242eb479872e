// Command-line options in the form that people know from the field: one dash or two, `-flag=value` or `-flag value`,
// before or after the arguments. cxxopts does the reading; only flags.cc includes it.
#pragma once

#include <map>
#include <set>
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

  bool is_set(std::string_view flag) const { return given_.contains(flag); }
  // The last value given, or the flag's fallback.
  std::string value(std::string_view flag) const;
  std::vector<std::string> values(std::string_view flag) const;
  bool on(std::string_view flag) const { return value(flag) == "true"; }
  const std::vector<std::string>& positional() const { return positional_; }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::set<std::string, std::less<>> given_;
  std::vector<std::string> positional_;
};

// How many of the words are the command's own where the others are those of another command: up to the first that is
// neither a flag nor a flag's value; a "--" behind it is dropped with it.
size_t own_words(std::span<const std::string> words, const std::vector<Flag>& flags);

}  // namespace drover::cli
