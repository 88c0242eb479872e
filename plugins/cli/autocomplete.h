// Completes words when a person presses the shell's tab key. Pure, but for the identifiers, which the caller looks up.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace drover::cli {

struct Completions {
  std::vector<std::string> commands;  // full names, "job run"
  std::function<std::string(const std::string& command)> help_of;
  // Identifiers that begin so, of what a usage calls <job>, <node>, <allocation>, <evaluation>, <plugin>, <service> or
  // <namespace>.
  std::function<std::vector<std::string>(const std::string& kind, const std::string& prefix)> ids_of;
};

// The words that may stand for the last one of `line`, which begins with the program's name; sorted. None where the
// shell should offer files.
std::vector<std::string> complete(std::string_view line, const Completions& known);

// The text of a shell's start-up file with the completion of `program` in it, or without. Doing it again changes
// nothing. `is_zsh`: that shell needs bash's form switched on first.
std::string with_completion(std::string text, const std::string& program, bool is_zsh);
std::string without_completion(std::string text, const std::string& program, bool is_zsh);

}  // namespace drover::cli
