#include "autocomplete.h"

#include <gtest/gtest.h>

namespace drover::cli {
namespace {

using Words = std::vector<std::string>;

TEST(Autocomplete, OffersWhatMayStandThere) {
  const Completions known{
      .commands = {"job run", "job status", "job stop", "namespace status", "node status", "operator raft list-peers",
                   "agent"},
      .help_of =
          [](const std::string& command) {
            if (command == "job status") {
              return std::string(
                  "Usage: drover job status [options] <job>\n\n  -json\n      As JSON\n  -t=<value>\n      x\n");
            }
            if (command == "namespace status") return std::string("Usage: drover namespace status <namespace>\n");
            return "Usage: drover " + command + " [options] <path>\n\n  -detach\n      y\n";
          },
      .ids_of = [](const std::string& kind, const std::string& prefix) { return Words{kind + ":" + prefix}; },
  };
  const struct {
    const char* line;
    Words expected;
  } kCases[] = {
      {"drover ", {"agent", "job", "namespace", "node", "operator"}},
      {"drover j", {"job"}},
      {"drover job ", {"run", "status", "stop"}},
      {"drover job st", {"status", "stop"}},
      {"drover operator raft ", {"list-peers"}},
      {"drover job status ", {"job:"}},
      {"drover job status we", {"job:we"}},
      {"drover job status -json we", {"job:we"}},
      {"drover job status -", {"-json", "-t="}},
      {"drover job status -j", {"-json"}},
      {"drover job status -t=x", {}},
      {"drover namespace status pr", {"namespace:pr"}},
      {"drover job run -namespace pr", {"namespace:pr"}},
      {"drover job run -namespace prod ", {}},
      {"drover job run ", {}},  // the shell offers files
      {"drover job run -d", {"-detach"}},
      {"drover nonsense x", {}},
      {"drover job nonsense x", {}},
      {"drover", {}},
      {"", {}},
  };
  for (const auto& c : kCases) EXPECT_EQ(complete(c.line, known), c.expected) << c.line;
}

TEST(Autocomplete, IsPutIntoAShellsFileOnceAndTakenOut) {
  const std::string line = "complete -C /opt/bin/drover drover\n";
  const std::string once = with_completion("alias x=y", "/opt/bin/drover", false);
  EXPECT_EQ(once, "alias x=y\n" + line);
  EXPECT_EQ(with_completion(once, "/opt/bin/drover", false), once);
  EXPECT_EQ(without_completion(once, "/opt/bin/drover", false), "alias x=y\n");
  const std::string zsh = with_completion("", "/opt/bin/drover", true);
  EXPECT_EQ(zsh, "autoload -U +X bashcompinit && bashcompinit\n" + line);
  EXPECT_EQ(without_completion(zsh, "/opt/bin/drover", true), "");
}

}  // namespace
}  // namespace drover::cli
