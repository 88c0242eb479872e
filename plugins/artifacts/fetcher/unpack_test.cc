#include "fetcher/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

void fuzz_artifact_archive(std::string_view bytes);

namespace drover::artifacts {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string name;
  std::string content = {};
  mode_t mode = 0644;
  mode_t type = AE_IFREG;
  std::string link = {};  // of a symbolic or hard link
};

class Unpack : public ::testing::Test {
 protected:
  Unpack() { fs::create_directories(target_); }
  ~Unpack() override { fs::remove_all(folder_); }

  // Writes an archive and unpacks it; the error's text.
  std::string run(const std::vector<Entry>& entries, const std::string& form = "tar.gz", UnpackLimits limits = {}) {
    const std::string path = folder_ + "/archive";
    archive* writer = archive_write_new();
    form == "zip" ? archive_write_set_format_zip(writer) : archive_write_set_format_pax_restricted(writer);
    if (form == "tar.gz") archive_write_add_filter_gzip(writer);
    archive_write_open_filename(writer, path.c_str());
    for (const Entry& one : entries) {
      archive_entry* entry = archive_entry_new();
      archive_entry_set_pathname(entry, one.name.c_str());
      archive_entry_set_perm(entry, one.mode);
      archive_entry_set_filetype(entry, one.type);
      archive_entry_set_size(entry, static_cast<la_int64_t>(one.content.size()));
      if (one.type == AE_IFLNK) archive_entry_set_symlink(entry, one.link.c_str());
      if (one.type == AE_IFREG && !one.link.empty()) archive_entry_set_hardlink(entry, one.link.c_str());
      archive_write_header(writer, entry);
      archive_write_data(writer, one.content.data(), one.content.size());
      archive_entry_free(entry);
    }
    archive_write_close(writer);
    archive_write_free(writer);
    return unpack(path, form, target_, "", limits).message();
  }
  std::string content(const std::string& name) const {
    std::ifstream file(target_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  mode_t mode(const std::string& name) const {
    struct stat found {};
    return ::lstat((target_ + "/" + name).c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
  }

  const std::string folder_ = fs::path(::testing::TempDir()) / ("unpack." + std::to_string(::getpid()));
  const std::string target_ = folder_ + "/target";
};

TEST_F(Unpack, FilesFoldersAndLinksInside) {
  for (const char* form : {"tar.gz", "tar", "zip"}) {
    EXPECT_EQ(run({{"dir/", "", 0700, AE_IFDIR},
                   {"dir/a.sh", "echo a", 04755},
                   {"b", "b"},
                   {"dir/to_b", "", 0777, AE_IFLNK, "../b"}},
                  form),
              "")
        << form;
    EXPECT_EQ(content("dir/a.sh"), "echo a");
    EXPECT_EQ(mode("dir/a.sh"), 0755U);
    EXPECT_EQ(content("dir/to_b"), "b");
  }
  EXPECT_EQ(run({{"one", "1"}, {"two", "", 0644, AE_IFREG, "one"}}), "");
  EXPECT_EQ(content("two"), "1");
}

TEST_F(Unpack, NothingLeavesTheFolder) {
  EXPECT_EQ(run({{"../x", "x"}}), "entry contains '..': ../x");
  EXPECT_EQ(run({{"a/../../x", "x"}}), "entry contains '..': a/../../x");
  EXPECT_EQ(run({{"/tmp/x", "x"}}), "entry is an absolute path: /tmp/x");
  EXPECT_EQ(run({{"l", "", 0777, AE_IFLNK, "/etc/passwd"}}), "entry is a link that leads outside: l -> /etc/passwd");
  EXPECT_EQ(run({{"d/l", "", 0777, AE_IFLNK, "../../x"}}), "entry is a link that leads outside: d/l -> ../../x");
  EXPECT_EQ(run({{"h", "", 0644, AE_IFREG, "/etc/passwd"}}), "entry is a link that leads outside: h -> /etc/passwd");
  EXPECT_EQ(run({{"h", "", 0644, AE_IFREG, "../secret"}}), "entry is a link that leads outside: h -> ../secret");
  EXPECT_EQ(run({{"null", "", 0666, AE_IFCHR}}), "entry is neither a file, a folder nor a link: null");
  EXPECT_EQ(run({{"pipe", "", 0666, AE_IFIFO}}), "entry is neither a file, a folder nor a link: pipe");
}

TEST_F(Unpack, AFileThroughALinkOfTheArchiveIsRefused) {
  fs::create_directories(folder_ + "/outside");
  fs::create_directory_symlink(folder_ + "/outside", target_ + "/out");  // as if it were there from before
  (void)run({{"out/x", "x"}});
  EXPECT_FALSE(fs::exists(folder_ + "/outside/x"));
}

TEST_F(Unpack, Limits) {
  EXPECT_EQ(run({{"a", "1"}, {"b", "2"}, {"c", "3"}}, "tar.gz", {.most_files = 2}),
            "tar archive contains too many files: more than 2 (client.artifact.decompression_file_count_limit)");
  EXPECT_EQ(run({{"a", std::string(100'000, '0')}}, "zip", {.most_bytes = 1000}),
            "zip archive larger than limit: 1000 (client.artifact.decompression_size_limit)");
  EXPECT_EQ(run({}, "tar"), "empty archive: archive");
}

TEST_F(Unpack, WhatIsNoArchiveSaysSo) {
  std::ofstream(folder_ + "/text") << "no archive at all";
  for (const char* form : {"tar.gz", "zip"}) {
    const std::string text = unpack(folder_ + "/text", form, target_, "", {}).message();
    EXPECT_NE(text.find("archive cannot be unpacked: "), std::string::npos) << text;
  }
}

TEST_F(Unpack, MutatedArchivesStayInside) {
  std::mt19937_64 random(7);
  for (const char* form : {"tar", "tar.gz", "zip"}) {
    ASSERT_EQ(run({{"dir/a", "aaaa"}, {"link", "", 0777, AE_IFLNK, "dir/a"}, {"dir/b", "bbbb", 0755}}, form), "");
    std::ifstream file(folder_ + "/archive", std::ios::binary);
    const std::string good{std::istreambuf_iterator<char>(file), {}};
    for (int i = 0; i < 30; ++i) {
      std::string bytes = good;
      for (size_t edits = 1 + random() % 8; edits > 0; --edits) {
        const size_t at = random() % bytes.size();
        static constexpr std::string_view kPieces[] = {"../", "/etc/", "2", "1", "6", "\xff", "..", "5"};
        const std::string_view piece = kPieces[random() % std::size(kPieces)];
        bytes.replace(at, std::min(piece.size(), bytes.size() - at), piece);
      }
      fuzz_artifact_archive(bytes);
    }
  }
}

TEST(ArchiveForm, ByNameOrOption) {
  EXPECT_EQ(archive_form("a.tar.gz", ""), "tar.gz");
  EXPECT_EQ(archive_form("a.b.gz", ""), "gz");
  EXPECT_EQ(archive_form("a.tgz", ""), "tgz");
  EXPECT_EQ(archive_form("agz", ""), "");
  EXPECT_EQ(archive_form("a.zip", "false"), "");
  EXPECT_EQ(archive_form("a", "zip"), "zip");
  EXPECT_EQ(archive_form("a.zip", "nonsense"), "");
}

}  // namespace
}  // namespace drover::artifacts
