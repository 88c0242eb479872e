#include "drover/mounts.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(MountInfo, NamesPlacesTypesAndSources) {
  const auto mounts = parse_mountinfo(
      "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n"
      "37 36 0:44 / /back\\134slash rw - tmpfs drover-secrets rw\n"
      "a line that says nothing\n"
      "38 36 0:45 / /no\\9octal rw -\n");
  ASSERT_EQ(2u, mounts.size());
  EXPECT_EQ("/mnt 2", mounts[0].path);
  EXPECT_EQ("ext3", mounts[0].type);
  EXPECT_EQ("rw,errors=continue", mounts[0].options);
  EXPECT_EQ("/back\\slash", mounts[1].path);
  EXPECT_EQ("drover-secrets", mounts[1].source);
  EXPECT_EQ("/no\\9octal", unescape_mount("/no\\9octal"));
}

}  // namespace
}  // namespace drover
