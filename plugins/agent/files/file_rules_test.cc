// The rules of paths and the forms of files: tables.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <random>

#include "files/file_forms.h"
#include "files/file_reader.h"
#include "files/path_rules.h"

namespace drover::agent {
namespace {

using namespace std::string_literals;

TEST(FilePaths, AreNamesBelowTheAllocation) {
  struct Case {
    std::string said;
    std::string expected;  // the way, or an error's text
    Code code = Code::ok;
  };
  const Case cases[] = {
      {"", ""},
      {"/", ""},
      {".", ""},
      {"alloc/logs", "alloc/logs"},
      {"/alloc//./logs/", "alloc/logs"},
      {"web/../alloc", "alloc"},
      {"a..b/...", "a..b/..."},
      {"web/..", ""},
      {"..", "Path escapes the alloc directory", Code::failed_precondition},
      {"/../etc/passwd", "Path escapes the alloc directory", Code::failed_precondition},
      {"web/../../other", "Path escapes the alloc directory", Code::failed_precondition},
      {"web/local\0/../../../etc"s, "the path has a zero byte: \"web/local\\u0000/../../../etc\"",
       Code::invalid_argument},
      {"web/" + std::string(255, 'n'), "web/" + std::string(255, 'n')},
      {"web/" + std::string(256, 'n'),
       "a name of the path is longer than 255 bytes: \"" + std::string(120, 'n') + "…\"", Code::invalid_argument},
      {std::string(10'000, 'p'), "the path is longer than 4096 bytes: \"" + std::string(120, 'p') + "…\"",
       Code::invalid_argument},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(shown(c.said));
    const auto parts = path_parts(c.said);
    EXPECT_EQ(parts.status().code(), c.code);
    EXPECT_EQ(parts ? joined(*parts) : parts.status().message(), c.expected);
  }
}

TEST(FilePaths, KnowSecrets) {
  const std::map<std::string, bool> cases = {
      {"web/secrets", true},        {"web/secrets/token", true}, {"web/secrets/a/b", true}, {"web/secretsx", false},
      {"web/local/secrets", false}, {"alloc/secrets", false},    {"secrets", false},        {"", false}};
  for (const auto& [path, expected] : cases) EXPECT_EQ(is_secret(path), expected) << path;
}

// Walks through a tree of links: path → target.
std::string walked(const std::string& said, const std::map<std::string, std::string>& links) {
  const auto parts = path_parts(said);
  if (!parts) return parts.status().message();
  PathWalk way(*parts, {"/data/alloc/id", "/real/id"});
  while (!way.is_done()) {
    const auto link = links.find(way.next());
    const Status status = link == links.end() ? way.enter() : way.follow(link->second);
    if (!status.ok()) return status.message();
  }
  return way.resolved();
}

TEST(PathWalk, FollowsLinksThatStayInside) {
  const std::map<std::string, std::string> links = {
      {"web/data", "../alloc/data"},
      {"web/abs", "/data/alloc/id/alloc"},
      {"web/real", "/real/id/web/secrets"},
      {"web/root", ".."},
      {"web/twice", "data/deep"},
      {"web/around", "x/../local"},
      {"web/whole", "/data/alloc/id"},
      {"web/etc", "/etc"},
      {"web/up", "../../other"},
      {"web/late", "local/../../../x"},
      {"web/similar", "/data/alloc/id2/alloc"},
      {"web/sly", "/data/alloc/id/../other"},
      {"web/self", "self"},
      {"web/a", "b"},
      {"web/b", "a"},
  };
  const char* out = "Path escapes the alloc directory";
  const std::map<std::string, std::string> cases = {
      {"web/local/x", "web/local/x"},
      {"web/data/x", "alloc/data/x"},
      {"web/abs/logs", "alloc/logs"},
      {"web/real/token", "web/secrets/token"},
      {"web/root/alloc", "alloc"},
      {"web/root", ""},
      {"web/twice/x", "alloc/data/deep/x"},
      {"web/around/y", "web/local/y"},
      {"web/whole/web/data", "alloc/data"},
      {"web/etc/passwd", out},
      {"web/up", out},
      {"web/late", out},
      {"web/similar", out},
      {"web/sly", out},
      {"web/self", "too many levels of symbolic links"},
      {"web/a/x", "too many levels of symbolic links"},
  };
  for (const auto& [said, expected] : cases) EXPECT_EQ(walked(said, links), expected) << said;
}

TEST(PathWalk, WhateverLinksSayItEndsInsideOrWithAnError) {
  std::mt19937 random(20261124);
  const std::vector<std::string> names = {"a",        "b",   "web", "secrets", "..", ".", "", "/", "/data/alloc/id",
                                          "/real/id", "/etc"};
  const auto path = [&] {
    std::string text;
    for (auto parts = random() % 6; parts > 0; --parts)
      text += names[random() % names.size()] + (random() % 3 ? "/" : "");
    return text;
  };
  int inside = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::map<std::string, std::string> links;
    for (int j = 0; j < 4; ++j) links[joined(path_parts(path()).value_or({"a"}))] = path();
    const std::string said = path(), end = walked(said, links);
    if (end == escapes().message() || end == "too many levels of symbolic links") continue;
    ++inside;
    // Names alone, none of which is a link.
    const std::string around = "/" + end + "/";
    ASSERT_TRUE(end.empty() || around.find("//") == std::string::npos) << said << " ends at " << end;
    ASSERT_EQ(around.find("/../"), std::string::npos) << said << " ends at " << end;
    for (size_t at = end.find('/'); !end.empty(); at = end.find('/', at + 1)) {
      ASSERT_FALSE(links.contains(end.substr(0, at))) << said << " ends at " << end;
      if (at == std::string::npos) break;
    }
  }
  EXPECT_GT(inside, 1000);
}

TEST(FileForms, ModesLookAsGoShowsThem) {
  const std::map<mode_t, std::string> cases = {
      {S_IFREG | 0644, "-rw-r--r--"},   {S_IFDIR | 0755, "drwxr-xr-x"}, {S_IFDIR | 01777, "dtrwxrwxrwx"},
      {S_IFLNK | 0777, "Lrwxrwxrwx"},   {S_IFIFO | 0600, "prw-------"}, {S_IFSOCK | 0755, "Srwxr-xr-x"},
      {S_IFCHR | 0660, "Dcrw-rw----"},  {S_IFBLK | 0660, "Drw-rw----"}, {S_IFREG | 04755, "urwxr-xr-x"},
      {S_IFREG | 06711, "ugrwx--x--x"}, {S_IFREG, "----------"}};
  for (const auto& [mode, expected] : cases) EXPECT_EQ(mode_text(mode), expected);
}

TEST(FileForms, NamesFitIntoJson) {
  EXPECT_EQ(name_text("Grüße\n.txt"), "Grüße\n.txt");
  EXPECT_EQ(name_text("a\xFFz"), "a\xEF\xBF\xBDz");
}

TEST(FileForms, TypesAreThoseThatBrowsersFind) {
  struct Case {
    std::string name;
    std::string head;
    std::string expected;
    std::string harmless;
  };
  const std::string text = "text/plain; charset=utf-8", bytes = "application/octet-stream";
  const Case cases[] = {
      {"empty", "", bytes, bytes},
      {"text", "plain words\n", text, text},
      {"utf8", "\xEF\xBB\xBFwords", text, text},
      {"utf16", "\xFE\xFF\0w"s, "text/plain; charset=utf-16be", "text/plain; charset=utf-16be"},
      {"binary", "ab\0cd"s, bytes, bytes},
      {"x.json", "{}", "application/json", "application/json"},
      {"page", " \n<!doctype HTML><p>", "text/html; charset=utf-8", text},
      {"script", "<script>alert(1)</script>", "text/html; charset=utf-8", text},
      {"no tag", "<scripts>", text, text},
      {"comment", "<!--x", "text/html; charset=utf-8", text},
      {"drawing", "<?xml version=\"1.0\"?><svg/>", "text/xml; charset=utf-8", text},
      {"paper", "%PDF-1.4", "application/pdf", bytes},
      {"picture", "\x89PNG\r\n\x1A\n...", "image/png", "image/png"},
      {"photo", "\xFF\xD8\xFF\xE0", "image/jpeg", "image/jpeg"},
      {"webp", "RIFF....WEBPVP8 ", "image/webp", "image/webp"},
      {"sound", "RIFF....WAVEfmt ", "audio/wave", "audio/wave"},
      {"film",
       "\0\0\0\x14"s
       "ftypisom\0\0\0\0mp42"s,
       "video/mp4", "video/mp4"},
      {"archive", "\x1F\x8B\x08\0"s, "application/x-gzip", bytes},
      {"program",
       "\x7F"s
       "ELF\x02\x01\x01\0"s,
       bytes, bytes},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(content_type(c.head, c.name), c.expected);
    EXPECT_EQ(harmless_type(c.expected), c.harmless);
  }
}

TEST(FileReading, TellsAllThatIsThereBeforeTheEnd) {
  struct Case {
    const char* name;
    uint64_t position;
    FileLook look;
    bool follow;
    ReadStep expected;
  };
  const Case cases[] = {
      {"more is there", 3, {.size = 9}, true, ReadStep::read},
      {"also of a file that is deleted", 3, {.size = 9, .has_name = false}, true, ReadStep::read},
      {"all was read", 9, {.size = 9}, true, ReadStep::wait},
      {"and nobody follows", 9, {.size = 9}, false, ReadStep::end},
      {"it is shorter now", 9, {.size = 2}, true, ReadStep::restart},
      {"and nobody follows it", 9, {.size = 2}, false, ReadStep::end},
      {"it was emptied", 9, {.size = 0}, true, ReadStep::restart},
      {"another has its name", 9, {.size = 9, .has_name = false}, true, ReadStep::gone},
      {"truncated, then deleted", 9, {.size = 2, .has_name = false}, true, ReadStep::restart},
      {"an empty file", 0, {.size = 0}, true, ReadStep::wait},
  };
  for (const Case& c : cases) EXPECT_EQ(next_step(c.position, c.look, c.follow), c.expected) << c.name;
}

TEST(FileReading, BeginsInsideOfTheFile) {
  EXPECT_EQ(first_position(10, false, 0), 0U);
  EXPECT_EQ(first_position(10, false, 4), 4U);
  EXPECT_EQ(first_position(10, false, 99), 10U);
  EXPECT_EQ(first_position(10, true, 0), 10U);
  EXPECT_EQ(first_position(10, true, 4), 6U);
  EXPECT_EQ(first_position(10, true, 99), 0U);
}

}  // namespace
}  // namespace drover::agent
