#include "fetcher/digest.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace drover::artifacts {
namespace {

constexpr const char* kSha256OfA = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";

std::string shown(const Result<Checksum>& sum) { return sum ? sum->kind + ":" + sum->hex : sum.status().message(); }

TEST(ArtifactChecksum, Forms) {
  const std::string md5(32, 'A'), sha1(40, '1'), sha512(128, 'f');
  EXPECT_EQ(shown(parse_checksum("md5:" + md5)), "md5:" + std::string(32, 'a'));
  EXPECT_EQ(shown(parse_checksum(sha1)), "sha1:" + sha1);
  EXPECT_EQ(shown(parse_checksum("SHA256:" + std::string(kSha256OfA))), "sha256:" + std::string(kSha256OfA));
  EXPECT_EQ(shown(parse_checksum(sha512)), "sha512:" + sha512);
  for (const std::string& wrong : {std::string("md5:12"), "sha256:" + md5, std::string(40, 'x'), std::string()}) {
    EXPECT_EQ(shown(parse_checksum(wrong)), "invalid checksum: " + wrong);
  }
}

TEST(ArtifactChecksum, ListsOfSums) {
  const std::string one(40, '1'), two(40, '2');
  EXPECT_EQ(shown(find_checksum(two + "  other\n" + one + "  dir/a.tgz\r\n", "a.tgz")), "sha1:" + one);
  EXPECT_EQ(shown(find_checksum(one + " *a.tgz\n", "a.tgz")), "sha1:" + one);
  EXPECT_EQ(shown(find_checksum("SHA1 (b) = " + two + "\nSHA1 (a.tgz) = " + one + "\n", "a.tgz")), "sha1:" + one);
  EXPECT_EQ(shown(find_checksum(one + "\n", "a.tgz")), "sha1:" + one);
  EXPECT_EQ(shown(find_checksum(two + "  other\n", "a.tgz")), "no checksum found for a.tgz");
}

TEST(ArtifactChecksum, Files) {
  const std::string path = std::filesystem::path(::testing::TempDir()) / ("sum." + std::to_string(::getpid()));
  std::ofstream(path) << "a";
  EXPECT_EQ(check_file(path, {"sha256", kSha256OfA}), ok_status());
  EXPECT_EQ(check_file(path, {"md5", std::string(32, '0')}).message(),
            "Checksums did not match: expected md5:" + std::string(32, '0') +
                ", got 0cc175b9c0f1b6a831c399e269772661");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace drover::artifacts
