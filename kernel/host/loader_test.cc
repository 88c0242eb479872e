#include "kernel/host/loader.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace drover::host {
namespace {

namespace fs = std::filesystem;

// A folder of plugins, gone with the test.
class LoaderTest : public ::testing::Test {
 protected:
  LoaderTest() {
    std::string pattern = fs::temp_directory_path() / "drover-loader-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~LoaderTest() override { fs::remove_all(folder_); }

  static std::string manifest(const std::string& name, const std::string& tier = "exact") {
    return R"({"name":")" + name + R"(","version":"0.1.0","sdk":"0.1","tier":")" + tier + R"(","kind":"module"})";
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  // Installs a fixture as fixture.so, with a manifest.
  PluginFile install(const std::string& fixture, const std::string& name = "fixture",
                     const std::string& tier = "exact") {
    fs::copy_file(fs::path(HOST_FIXTURES) / (fixture + ".so"), folder_ / "fixture.so",
                  fs::copy_options::overwrite_existing);
    fs::permissions(folder_ / "fixture.so", fs::perms(0644));
    write("fixture.json", manifest(name, tier));
    Discovery found = discover({folder_});
    EXPECT_TRUE(found.problems.empty());
    EXPECT_EQ(found.plugins.size(), 1u);
    return found.plugins.empty() ? PluginFile{} : found.plugins.front();
  }
  std::string place(const std::string& name = "fixture") const {
    return "plugin " + name + " (" + (folder_ / "fixture.so").string() + "): ";
  }
  static std::string refusal(const PluginFile& file, const std::vector<std::string>& pinned = {}) {
    return check_file(file, pinned).status().to_string();
  }
  // Returns the program's output about the file; `status` tells how it ended.
  std::string said_by_the_program(int& status) const {
    const std::string out = folder_ / "said";
    status = std::system((std::string("'" DROVER_PROGRAM "' plugin check '") + (folder_ / "fixture.so").string() +
                          "' >'" + out + "' 2>&1")
                             .c_str());
    std::ifstream in(out);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder_;
};

// --- discovery -------------------------------------------------------------------------------------------------------

TEST_F(LoaderTest, FindsPluginsByTheirManifests) {
  write("b.json", manifest("b"));
  write("a.json", manifest("a"));
  write("readme.txt", "no manifest");

  Discovery found = discover({folder_, folder_ / "missing"});

  EXPECT_TRUE(found.problems.empty());
  ASSERT_EQ(found.plugins.size(), 2u);
  EXPECT_EQ(found.plugins[0].manifest.name, "a");
  EXPECT_EQ(found.plugins[0].path, folder_ / "a.so");
  EXPECT_EQ(found.plugins[1].manifest_path, folder_ / "b.json");
}

TEST_F(LoaderTest, ABadManifestIsAProblemWithItsPlace) {
  write("a.json", "{\n  \"name\": oops\n}");
  write("b.json", manifest("b"));

  Discovery found = discover({folder_});

  EXPECT_EQ(found.plugins.size(), 1u);
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_EQ(found.problems[0].to_string(),
            "invalid_argument: plugin manifest " + (folder_ / "a.json").string() + ": line 2: is not valid JSON");
}

TEST_F(LoaderTest, TwoPluginsOfOneNameAreAProblemOfBoth) {
  fs::create_directory(folder_ / "more");
  write("a.json", manifest("same"));
  write("more/b.json", manifest("same"));

  Discovery found = discover({folder_, folder_ / "more"});

  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_EQ(found.problems[0].to_string(), "already_exists: plugin same: claimed by " + (folder_ / "a.json").string() +
                                               " and by " + (folder_ / "more/b.json").string() +
                                               "; remove one of them");
  EXPECT_TRUE(found.plugins.empty()) << "nobody can tell which of them is meant";
}

// --- the file --------------------------------------------------------------------------------------------------------

TEST_F(LoaderTest, AGoodFilePassesAndLoads) {
  auto checked = check_file(install("GOOD"));
  ASSERT_TRUE(checked) << checked.status().to_string();
  EXPECT_TRUE(probe(DROVER_PROGRAM, {&*checked}).ok());

  auto plugin = load(*checked);

  EXPECT_TRUE(plugin) << plugin.status().to_string();
}

TEST_F(LoaderTest, AMissingFileIsNamed) {
  const PluginFile file = install("GOOD");
  fs::remove(folder_ / "fixture.so");

  EXPECT_EQ(refusal(file), "not_found: " + place() + "open: No such file or directory");
}

TEST_F(LoaderTest, AFileThatIsNotElfIsRefused) {
  const PluginFile file = install("GOOD");
  write("fixture.so", "#!/bin/sh\nexit 0\n");

  EXPECT_EQ(refusal(file), "invalid_argument: " + place() + "is not an ELF file");
}

TEST_F(LoaderTest, ASymbolicLinkIsRefused) {
  const PluginFile file = install("GOOD");
  fs::rename(folder_ / "fixture.so", folder_ / "elsewhere.so");
  fs::create_symlink(folder_ / "elsewhere.so", folder_ / "fixture.so");

  EXPECT_EQ(refusal(file), "failed_precondition: " + place() + "is a symbolic link; install the file itself");
}

TEST_F(LoaderTest, AFolderIsRefused) {
  const PluginFile file = install("GOOD");
  fs::remove(folder_ / "fixture.so");
  fs::create_directory(folder_ / "fixture.so");

  EXPECT_EQ(refusal(file), "failed_precondition: " + place() + "is not a regular file");
}

TEST_F(LoaderTest, AFileThatOthersMayWriteIsRefused) {
  const PluginFile file = install("GOOD");
  for (int mode : {0664, 0646, 0666}) {
    ASSERT_EQ(chmod((folder_ / "fixture.so").c_str(), static_cast<mode_t>(mode)), 0);

    EXPECT_EQ(refusal(file),
              "failed_precondition: " + place() + "can be written by others than its owner; run chmod go-w on it");
  }
}

TEST_F(LoaderTest, APinnedDigestIsCompared) {
  const PluginFile file = install("GOOD");
  const std::string wrong(64, '0');

  const std::string text = refusal(file, {wrong});

  EXPECT_TRUE(text.starts_with("failed_precondition: " + place() + "has SHA-256 ")) << text;
  EXPECT_TRUE(text.ends_with(", the configuration pins " + wrong + "; install the pinned file or change the pin"))
      << text;
  const size_t at = text.find("SHA-256 ") + 8;
  EXPECT_TRUE(check_file(file, {wrong, text.substr(at, 64)}));
}

TEST_F(LoaderTest, ANoteOfAnotherNameIsRefused) {
  EXPECT_EQ(refusal(install("GOOD", "other")),
            "failed_precondition: " + place("other") +
                "its note says name \"fixture\", its manifest says \"other\"; install the manifest that belongs to the "
                "file");
}

TEST_F(LoaderTest, APluginOfAnotherBuildIsRefused) {
  const std::string text = refusal(install("OTHER_BUILD"));

  EXPECT_TRUE(text.starts_with("failed_precondition: " + place() + "is built for another drover (cxx: found gcc-2, "))
      << text;
  EXPECT_TRUE(text.ends_with("); rebuild the plugin with this SDK and compiler")) << text;
}

TEST_F(LoaderTest, AnyOtherSharedObjectIsRefused) {
  EXPECT_EQ(refusal(install("NO_NOTE")),
            "invalid_argument: " + place() + "is not a drover plugin: it has no .note.drover.plugin");
}

TEST_F(LoaderTest, AStablePluginNeedsItsOwnEntry) {
  auto checked = check_file(install("STABLE", "fixture", "stable"));
  ASSERT_TRUE(checked) << checked.status().to_string();

  const std::string text = load(*checked).status().to_string();

  EXPECT_TRUE(text.starts_with("failed_precondition: " + place() + "cannot be loaded: ")) << text;
  EXPECT_NE(text.find("drover_plugin_open"), std::string::npos) << text;
}

// --- its code --------------------------------------------------------------------------------------------------------

TEST_F(LoaderTest, AFileWithoutEntryIsRefused) {
  auto checked = check_file(install("NO_ENTRY"));
  ASSERT_TRUE(checked) << checked.status().to_string();

  const std::string text = load(*checked).status().to_string();

  EXPECT_TRUE(text.starts_with("failed_precondition: " + place() + "cannot be loaded: ")) << text;
  EXPECT_NE(text.find("undefined symbol: drover_module_open"), std::string::npos) << text;
}

TEST_F(LoaderTest, AnEntryThatReturnsNothingIsRefused) {
  auto checked = check_file(install("NULL_ENTRY"));
  ASSERT_TRUE(checked) << checked.status().to_string();

  EXPECT_EQ(load(*checked).status().to_string(), "internal: " + place() + "its entry returned nothing");
}

TEST_F(LoaderTest, AMissingFunctionIsNamed) {
  auto checked = check_file(install("MISSING"));
  ASSERT_TRUE(checked) << checked.status().to_string();

  const std::string text = load(*checked).status().to_string();

  EXPECT_TRUE(text.starts_with("failed_precondition: " + place() + "cannot be loaded: ")) << text;
  EXPECT_NE(text.find("undefined symbol: fixture_missing_function"), std::string::npos) << text;
}

TEST_F(LoaderTest, FilesLoadedOneAfterAnotherAreNotConfused) {
  // The descriptor of the first is free again when the second is opened.
  {
    auto checked = check_file(install("GOOD"));
    ASSERT_TRUE(checked) << checked.status().to_string();
    ASSERT_TRUE(load(*checked));
  }
  fs::remove(folder_ / "fixture.so");
  auto checked = check_file(install("NULL_ENTRY"));
  ASSERT_TRUE(checked) << checked.status().to_string();

  EXPECT_EQ(load(*checked).status().to_string(), "internal: " + place() + "its entry returned nothing");
}

// --- the probe -------------------------------------------------------------------------------------------------------

TEST_F(LoaderTest, TheProbeFindsACrashingInitialiser) {
  auto checked = check_file(install("CRASH"));
  ASSERT_TRUE(checked) << checked.status().to_string();

  EXPECT_EQ(probe(DROVER_PROGRAM, {&*checked}).to_string(),
            "failed_precondition: " + place() + "the trial load in a process of its own ended by signal 6 (Aborted)");
}

TEST_F(LoaderTest, TheProbeCarriesTheLastWords) {
  auto checked = check_file(install("NULL_ENTRY"));
  ASSERT_TRUE(checked) << checked.status().to_string();

  EXPECT_EQ(probe(DROVER_PROGRAM, {&*checked}).to_string(),
            "failed_precondition: " + place() +
                "the trial load in a process of its own exited with code 1; its last words: Error: " + place() +
                "its entry returned nothing");
}

TEST_F(LoaderTest, AProbeThatCannotStartSaysSo) {
  auto checked = check_file(install("GOOD"));
  ASSERT_TRUE(checked) << checked.status().to_string();

  EXPECT_EQ(probe("/nonexistent/drover", {&*checked}).to_string(),
            "not_found: start the plugin probe /nonexistent/drover: No such file or directory");
}

TEST_F(LoaderTest, TheProgramChecksAFile) {
  int status = 0;
  install("GOOD");
  EXPECT_EQ(said_by_the_program(status), "Plugin fixture 0.1.0 passes every check\n");
  EXPECT_EQ(status, 0);

  install("OTHER_BUILD");
  EXPECT_TRUE(said_by_the_program(status).starts_with("Error: " + place() + "is built for another drover ("));
  EXPECT_NE(status, 0);

  fs::remove(folder_ / "fixture.json");
  EXPECT_EQ(said_by_the_program(status), "Error: " + (folder_ / "fixture.so").string() +
                                             ": no manifest beside it; expected " +
                                             (folder_ / "fixture.json").string() + "\n");
  EXPECT_NE(status, 0);
}

TEST_F(LoaderTest, AVerdictIsRememberedUntilTheFileChanges) {
  const std::string memory = folder_ / "probed";
  {
    auto checked = check_file(install("GOOD"));
    ASSERT_TRUE(checked) << checked.status().to_string();
    EXPECT_FALSE(ProbeMemory(memory).knows(*checked));
    ProbeMemory(memory).remember({&*checked});
    EXPECT_TRUE(ProbeMemory(memory).knows(*checked));
  }
  fs::remove(folder_ / "fixture.so");

  auto changed = check_file(install("NULL_ENTRY"));

  ASSERT_TRUE(changed) << changed.status().to_string();
  EXPECT_FALSE(ProbeMemory(memory).knows(*changed));
}

TEST_F(LoaderTest, AMemoryThatCannotBeWrittenOnlyForgets) {
  auto checked = check_file(install("GOOD"));
  ASSERT_TRUE(checked) << checked.status().to_string();
  ProbeMemory memory("/nonexistent/probed");

  memory.remember({&*checked});

  EXPECT_TRUE(memory.knows(*checked));
  EXPECT_FALSE(ProbeMemory("/nonexistent/probed").knows(*checked));
}

}  // namespace
}  // namespace drover::host
