#include "source.h"

#include <gtest/gtest.h>

namespace drover::artifacts {
namespace {

std::string shown(std::string_view text, const Options& options = {}) {
  const auto source = parse_source(text, options);
  if (!source) return source.status().message();
  std::string out = source->getter + " " + source->url;
  if (!source->part.empty()) out += " //" + source->part;
  for (const auto& [name, value] : source->options) out += " " + name + "=" + value;
  return out;
}

TEST(ArtifactSource, Forms) {
  const std::pair<const char*, const char*> cases[] = {
      {"https://example.com/a.tgz", "http https://example.com/a.tgz"},
      {"http://example.com/a?x=1&y", "http http://example.com/a?x=1&y"},
      {"https://example.com/a?checksum=md5:1&x=1&archive=false",
       "http https://example.com/a?x=1 archive=false checksum=md5:1"},
      {"https://example.com/a.zip//inner/dir?ref=2", "http https://example.com/a.zip //inner/dir ref=2"},
      {"git::https://example.com/r.git//sub?ref=v1.2&depth=1", "git https://example.com/r.git //sub depth=1 ref=v1.2"},
      {"github.com/o/r", "git https://github.com/o/r.git"},
      {"github.com/o/r.git/a/b?ref=x", "git https://github.com/o/r.git //a/b ref=x"},
      {"github.com/o/r//a", "git https://github.com/o/r.git //a"},
      {"gitlab.com/o/r", "git https://gitlab.com/o/r.git"},
      {"git@github.com:o/r.git//a?ref=x", "git ssh://git@github.com/o/r.git //a ref=x"},
      {"git::ssh://git@host/r.git", "git ssh://git@host/r.git"},
      {"git::git@host:r.git", "git ssh://git@host/r.git"},
      {"hg::http://example.com/r?rev=3", "hg http://example.com/r rev=3"},
      {"s3::https://s3.amazonaws.com/bucket/key?region=eu-west-1",
       "s3 https://s3.amazonaws.com/bucket/key region=eu-west-1"},
      {"bucket.s3-eu-west-1.amazonaws.com/key", "s3 https://bucket.s3-eu-west-1.amazonaws.com/key"},
      {"www.googleapis.com/storage/v1/bucket/key", "gcs https://www.googleapis.com/storage/v1/bucket/key"},
      {"gcs::https://www.googleapis.com/storage/v1/b/k", "gcs https://www.googleapis.com/storage/v1/b/k"},
      {"https://example.com/a%20b?ref=a%2Bb+c", "http https://example.com/a%20b ref=a+b c"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(shown(text), expected) << text;
}

TEST(ArtifactSource, TheBlocksOptionsWin) {
  EXPECT_EQ(shown("https://example.com/a?archive=zip", {{"archive", "false"}, {"filename", "b"}}),
            "http https://example.com/a archive=false filename=b");
}

TEST(ArtifactSource, Errors) {
  const std::pair<const char*, const char*> cases[] = {
      {"file:///etc/passwd", "download not supported for scheme 'file'"},
      {"git::file:///srv/repo", "download not supported for scheme 'file'"},
      {"git::ext::sh -c x", "invalid source string: ext::sh -c x; write a URL (https://…) or a repository "
                            "(git::https://…, github.com/OWNER/REPO)"},
      {"ftp://example.com/a", "download not supported for scheme 'ftp'"},
      {"smb::https://example.com/a", "download not supported for scheme 'smb'"},
      {"http::ssh://example.com/a", "download not supported for scheme 'ssh'"},
      {"github.com/o", "GitHub URLs should be github.com/username/repo"},
      {"https://example.com/a//b/../../c", "subdirectory component contain path traversal out of the repository"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(shown(text), expected) << text;
}

}  // namespace
}  // namespace drover::artifacts
