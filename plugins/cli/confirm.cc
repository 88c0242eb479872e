#include "confirm.h"

#include <istream>

namespace drover::cli {

std::optional<int> ask(Run& run, const std::string& question) {
  run.out << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(run.host.in(), answer);
  if (answer == "y") return std::nullopt;
  if (answer.empty() || answer[0] == 'n' || answer[0] == 'N') {
    run.out << "Cancelling\n";
    return 0;
  }
  if (answer[0] == 'y') {
    run.out << "For confirmation, an exact 'y' is required.\n";
    return 0;
  }
  run.out << "No confirmation detected. For confirmation, an exact 'y' is required.\n";
  return 1;
}

}  // namespace drover::cli
