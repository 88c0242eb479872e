// Checks what documents promise: links lead somewhere, and each command of `dev` runs in CI or in the weekly list.
#include <map>
#include <regex>
#include <set>

#include "gtest/gtest.h"
#include "tests/architecture/source_tree.h"

namespace drover::architecture {
namespace {

std::vector<SourceFile> documents() {
  std::vector<SourceFile> all;
  for (const char* name : {"README.md", "CHANGELOG.md"})
    all.push_back({name, read_text(std::filesystem::path(DROVER_SOURCE_ROOT) / name)});
  for (const char* folder :
       {"docs", "sdk", "storage", "kernel", "plugins", "drivers", "devices", "checks", "auth", "csi", "examples", "tests"}) {
    for (SourceFile& file : files_below(folder, {".md"})) all.push_back(std::move(file));
  }
  return all;
}

// The name that a heading is linked by: small letters, digits, '-' and '_'; a blank becomes '-'.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading.substr(std::min(heading.find_first_not_of("# "), heading.size()))) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '-' || c == '_' || byte >= 0x80) anchor += static_cast<char>(std::tolower(byte));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

// The lines that are prose; indented and fenced code is left out.
std::vector<std::string> prose(std::string_view text) {
  std::vector<std::string> kept;
  bool is_fenced = false;
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with("```")) {
      is_fenced = !is_fenced;
    } else if (!is_fenced && !line.starts_with("    ")) {
      kept.push_back(line);
    }
  }
  return kept;
}

bool has_heading(const std::string& text, const std::string& anchor) {
  return std::ranges::any_of(
      prose(text), [&](const std::string& line) { return line.starts_with('#') && anchor_of(line) == anchor; });
}

std::vector<std::string> dead_links(const std::string& path, const std::string& text) {
  namespace fs = std::filesystem;
  static const std::regex kLink(R"(\]\(([^)\s]+)\))");
  std::vector<std::string> dead;
  for (const std::string& line : prose(text)) {
    for (auto link = std::sregex_iterator(line.begin(), line.end(), kLink); link != std::sregex_iterator(); ++link) {
      const std::string target = (*link)[1];
      if (target.find("://") != std::string::npos) continue;
      const size_t hash = std::min(target.find('#'), target.size());
      const fs::path file = hash == 0 ? fs::path(path) : fs::path(path).parent_path() / target.substr(0, hash);
      const fs::path full = (fs::path(DROVER_SOURCE_ROOT) / file).lexically_normal();
      const bool leads = fs::exists(full) && (hash == target.size() ||
                                              has_heading(hash == 0 ? text : read_text(full), target.substr(hash + 1)));
      if (!leads) dead.push_back(path + ": " + target);
    }
  }
  return dead;
}

std::string file(const char* name) { return read_text(std::filesystem::path(DROVER_SOURCE_ROOT) / name); }

std::set<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), expression); at != std::sregex_iterator(); ++at)
    found.insert((*at)[1]);
  return found;
}

// The subcommands that the help text of `dev` lists.
std::set<std::string> subcommands(const std::string& dev) {
  std::set<std::string> names;
  for (const std::string& line : split(dev.substr(dev.find("Usage:"), dev.find("\nTEXT") - dev.find("Usage:")), '\n')) {
    if (!line.starts_with("    ") || line.starts_with("     ")) continue;
    for (const std::string& name : matches(line, "^    ([a-z]+)")) names.insert(name);
    for (const std::string& name : matches(line, "^    [a-z]+, ([a-z]+)")) names.insert(name);
  }
  return names;
}

constexpr const char* kCommand = R"(\./dev ([a-z]+))";

TEST(Documents, LinksLeadSomewhere) {
  const std::vector<SourceFile> all = documents();
  ASSERT_GT(all.size(), 15u);
  std::vector<std::string> dead;
  for (const SourceFile& document : all) {
    for (std::string& link : dead_links(document.path, document.text)) dead.push_back(std::move(link));
  }
  EXPECT_EQ(lines(dead), "");
}

TEST(Documents, TellADeadLink) {
  EXPECT_EQ(lines(dead_links("docs/x.md", "[a](build.md) [b](https://c.d) [e](build.md#building)")), "");
  EXPECT_EQ(lines(dead_links("docs/build.md", "# Two words\n[a](#two-words)")), "");
  EXPECT_EQ(lines(dead_links("docs/x.md", "[a](missing.md)")), "docs/x.md: missing.md\n");
  EXPECT_EQ(lines(dead_links("docs/x.md", "[a](build.md#missing)")), "docs/x.md: build.md#missing\n");
}

TEST(FrontDoor, EachSubcommandRunsInCiOrWeekly) {
  const std::set<std::string> all = subcommands(file("dev"));
  ASSERT_GT(all.size(), 10u);
  const std::set<std::string> run = matches(file(".ci/run") + file(".ci/weekly"), R"(\n[A-Z0-9= ]*\./dev ([a-z]+))");
  for (const std::string& name : all)
    EXPECT_TRUE(run.contains(name)) << "./dev " << name << ": in neither .ci/run nor .ci/weekly";
  for (const std::string& name : run)
    EXPECT_TRUE(all.contains(name)) << "./dev " << name << ": there is no such subcommand";
}

TEST(FrontDoor, DocumentsNameSubcommandsThatExist) {
  const std::set<std::string> all = subcommands(file("dev"));
  for (const SourceFile& document : documents()) {
    for (const std::string& name : matches(document.text, kCommand))
      EXPECT_TRUE(all.contains(name)) << document.path << ": ./dev " << name;
  }
}

}  // namespace
}  // namespace drover::architecture
