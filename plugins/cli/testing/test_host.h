// The program around a command, for tests: it keeps what is printed, and has no other commands and no extensions.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/command.h"

namespace drover::cli::testing {

class TestHost final : public CommandHost {
 public:
  explicit TestHost(const std::string& text = {}) : input(text) {}
  std::ostream& out() override { return printed; }
  std::ostream& err() override { return complained; }
  std::istream& in() override { return input; }
  void* find_extension(std::string_view, std::string_view) const override { return nullptr; }
  std::vector<std::pair<std::string, std::string>> commands() const override { return {}; }
  std::string version() const override { return "test"; }

  std::ostringstream printed, complained;
  std::istringstream input;
};

}  // namespace drover::cli::testing
