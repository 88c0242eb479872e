#include "paths.h"

#include "gtest/gtest.h"

namespace drover::mounts {
namespace {

const Usage kWrites{false, "single-node-writer", "file-system"};

TEST(PathPart, IsOnePartWhateverTheTextHolds) {
  struct Case {
    const char* text;
    const char* part;
  };
  for (const Case& c : {Case{"data", "data"}, {"data[3]", "data[3]"}, {"..", "%2E."}, {".", "%2E"}, {".x", "%2Ex"},
                        {"a/b", "a%2Fb"}, {"../../etc", "%2E.%2F..%2Fetc"}, {"50%", "50%25"}, {"a b:c", "a%20b%3Ac"},
                        {"\xC3\xA9", "%C3%A9"}}) {
    SCOPED_TRACE(c.text);
    const auto part = path_part(c.text);
    ASSERT_TRUE(part.ok());
    EXPECT_EQ(*part, c.part);
  }
}

TEST(PathPart, RefusesWhatIsEmptyOrTooLong) {
  EXPECT_EQ(path_part("").status().code(), Code::invalid_argument);
  EXPECT_TRUE(path_part(std::string(255, 'a')).ok());
  EXPECT_EQ(path_part(std::string(256, 'a')).status().code(), Code::invalid_argument);
  EXPECT_EQ(path_part(std::string(86, '/')).status().code(), Code::invalid_argument);
  EXPECT_TRUE(path_part(std::string("a\0b", 3)).ok());
}

TEST(VolumePaths, HoldNamespaceAndUsage) {
  const Uuid alloc = *Uuid::parse("01234567-89ab-cdef-0123-456789abcdef");

  EXPECT_EQ(*staging_path("default", "data", kWrites), "staging/default/data/rw-file-system-single-node-writer");
  EXPECT_NE(*staging_path("other", "data", kWrites), *staging_path("default", "data", kWrites));
  EXPECT_EQ(*target_path(alloc, "data", {true, "multi-node-reader-only", "block-device"}),
            "per-alloc/" + alloc.to_string() + "/data/ro-block-device-multi-node-reader-only");
  EXPECT_FALSE(target_path(alloc, "", kWrites).ok());
}

TEST(Folders, AreBelowTheClientsFolder) {
  const Folders folders("/var/lib/drover");
  const Uuid alloc;

  EXPECT_EQ(*folders.base("node", "a/b"), "/var/lib/drover/client/csi/node/a%2Fb");
  EXPECT_EQ(folders.base("other", "a").status().code(), Code::invalid_argument);
  EXPECT_EQ(folders.socket_folder(alloc, 0), "/var/lib/drover/client/csi/plugins/" + alloc.to_string());
  EXPECT_EQ(folders.socket_folder(alloc, 1), "/var/lib/drover/client/csi/plugins/" + alloc.to_string() + "-1");
  EXPECT_EQ(*folders.program_folder("../x"), "/var/lib/drover/client/csi/programs/%2E.%2Fx");
  EXPECT_EQ(*folders.output("disks"), "/var/lib/drover/client/csi/output/disks");
  EXPECT_EQ(folders.output("").status().code(), Code::invalid_argument);
}

TEST(Folders, RefuseASocketThatTheSystemCannotHave) {
  const size_t rest = std::string("/client/csi/plugins/").size() + 36 + std::string("/csi.sock").size();
  const Folders longest(std::string(107 - rest, 'd')), longer(std::string(108 - rest, 'd'));

  EXPECT_TRUE(Folders::socket(longest.socket_folder({}, 0)).ok());
  const Status refused = Folders::socket(longer.socket_folder({}, 0)).status();
  EXPECT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_NE(refused.message().find("a shorter data_dir"), std::string::npos) << refused.message();
}

TEST(Folders, KnowWhatIsAVolume) {
  const Folders folders("/d");

  EXPECT_TRUE(folders.is_volume("/d/client/csi/node/p/staging/default/v/rw"));
  EXPECT_TRUE(folders.is_volume("/d/client/csi/monolith/p/per-alloc/a/v/rw"));
  EXPECT_FALSE(folders.is_volume("/d/client/csi/node/p"));
  EXPECT_FALSE(folders.is_volume("/d/client/csi/plugins/a"));
  EXPECT_FALSE(folders.is_volume("/elsewhere/staging/v"));
}

}  // namespace
}  // namespace drover::mounts
