// The end of a file or a log, as -tail, -n and -c ask for it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"
#include "flags.h"

namespace drover::cli {

struct Tail {
  uint64_t bytes = 0;             // from the end on, to be asked for
  std::optional<uint64_t> lines;  // to be shown of them; nothing: all
};

// The flags -f, -tail, -n and -c of both commands.
std::vector<Flag> tail_flags();
// Nothing when the whole is wanted. -n and -c need no -tail. Errors: invalid_argument.
Result<std::optional<Tail>> tail_of(const Arguments& arguments);

// The last lines of a text, whose last one may lack its end.
std::string last_lines(const std::string& text, uint64_t lines);

// Holds back what comes, until the end of what is there was reached; then shows its last lines, and the rest as it
// comes.
class LastLines {
 public:
  // Nothing: holds nothing back.
  explicit LastLines(std::optional<uint64_t> lines) : lines_(lines) {}
  // Both give what is to be shown now.
  std::string take(std::string_view bytes);
  std::string end();

 private:
  std::optional<uint64_t> lines_;
  std::string held_;
};

}  // namespace drover::cli
