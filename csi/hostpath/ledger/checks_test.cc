#include "checks.h"

#include "../testing/requests.h"
#include "gtest/gtest.h"
#include "hostpath.pb.h"

namespace drover::hostpath {
namespace {

TEST(HostpathChecks, Names) {
  struct Case {
    const char* what;
    std::string name;
    bool is_good;
  };
  const Case cases[] = {
      {"plain", "db", true},
      {"never a path", "../../etc/passwd", true},
      {"longest", std::string(128, 'n'), true},
      {"too long", std::string(129, 'n'), false},
      {"empty", "", false},
      {"tab, newline, return", "a\tb\nc\rd", true},
      {"nul", std::string("a\0b", 3), false},
      {"escape", "a\x1b[0m", false},
      {"vertical tab", "a\x0b", false},
      {"delete", "a\x7f", false},
      {"U+0080", "a\xc2\x80", false},
      {"U+009F", "a\xc2\x9f", false},
      {"U+00A0", "a\xc2\xa0", true},
      {"umlaut", "gr\xc3\xbc\xc3\x9f", true},
  };
  for (const Case& c : cases) EXPECT_EQ(check_name(c.name).ok(), c.is_good) << c.what;
}

TEST(HostpathChecks, Identifiers) {
  struct Case {
    const char* what;
    std::string id;
    bool is_good;
  };
  const Case cases[] = {
      {"ours", "1c0e8f5c-88ad-4d6e-9a15-4d3a2c1f0b11", true},
      {"someone else's", "reallyfakevolumeid", true},
      {"empty", "", false},
      {"path", "../../etc", false},
      {"slash", "a/b", false},
      {"newline", "a\nb", false},
      {"longest", std::string(128, 'a'), true},
      {"too long", std::string(129, 'a'), false},
  };
  for (const Case& c : cases) EXPECT_EQ(check_id(c.id, "volume_id").ok(), c.is_good) << c.what;
  EXPECT_TRUE(check_id(std::string(256, 'n'), "node_id", 256).ok());
  EXPECT_FALSE(check_id(std::string(257, 'n'), "node_id", 256).ok());
}

TEST(HostpathChecks, Paths) {
  struct Case {
    const char* path;
    bool is_good;
  };
  const Case cases[] = {
      {"/mnt/a", true},   {"/mnt/a b", true},       {"", false},         {"mnt/a", false},
      {"/", false},       {"/mnt/../etc", false},   {"/mnt/..", false},  {"/mnt/./a", false},
      {"/mnt//a", false}, {"/mnt/a/", false},       {"/mnt/..a", true},  {"/mnt/a\nb", false},
      {"/data", false},   {"/data/volumes", false}, {"/database", true}, {"/data-2/x", true},
  };
  for (const Case& c : cases) EXPECT_EQ(check_path(c.path, "target_path", "/data").ok(), c.is_good) << c.path;
  EXPECT_FALSE(check_path("/srv", "target_path", "/srv/data").ok()) << "it would cover the plugin's own folder";
  EXPECT_TRUE(check_path("/" + std::string(4094, 'p'), "target_path", "/data").ok());
  EXPECT_FALSE(check_path("/" + std::string(4095, 'p'), "target_path", "/data").ok());
}

TEST(HostpathChecks, Texts) {
  Texts texts;
  texts["key"] = std::string(4093, 'x');
  EXPECT_TRUE(check_texts(texts, "volume_context").ok());
  texts["key"] += "x";
  EXPECT_EQ(check_texts(texts, "volume_context"), invalid_argument("volume_context is longer than 4096 bytes"));
}

TEST(HostpathChecks, Capabilities) {
  struct Case {
    const char* what;
    csi::v1::VolumeCapability capability;
    const char* error;
  };
  csi::v1::VolumeCapability no_type = mounted(), no_mode = mounted(), late_mode = mounted(), typed = mounted(),
                            grouped = mounted(), flagged = mounted(), odd = mounted();
  no_type.clear_access_type();
  no_mode.clear_access_mode();
  late_mode.mutable_access_mode()->set_mode(static_cast<Mode::Mode>(99));
  typed.mutable_mount()->set_fs_type("ext4");
  grouped.mutable_mount()->set_volume_mount_group("1000");
  flagged.mutable_mount()->add_mount_flags("noexec");
  odd.mutable_mount()->add_mount_flags("data=journal");
  const Case cases[] = {
      {"mount", mounted(), ""},
      {"block", block(), ""},
      {"flags", flagged, ""},
      {"no access type", no_type, "volume_capability has no access type"},
      {"no mode", no_mode, "volume_capability has no known access mode"},
      {"mode of a later version", late_mode, "volume_capability has no known access mode"},
      {"file system", typed, "fs_type must be empty: volumes are folders, in the file system that is there"},
      {"group", grouped, "volume_mount_group is not supported"},
      {"odd flag", odd, nullptr},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const auto got = capability_of(c.capability);
    if (c.error) {
      EXPECT_EQ(got.status().message(), c.error);
    } else {
      EXPECT_EQ(got.status().code(), Code::invalid_argument);
    }
  }
  for (int mode = 1; mode <= Mode::Mode_MAX; ++mode)
    EXPECT_TRUE(capability_of(mounted(static_cast<Mode::Mode>(mode))).ok()) << mode;
}

TEST(HostpathChecks, ABlockDeviceIsNoFileSystem) {
  csi::v1::CreateVolumeRequest request = create("a");
  EXPECT_FALSE(*are_block(request.volume_capabilities()));
  *request.add_volume_capabilities() = block();
  EXPECT_EQ(are_block(request.volume_capabilities()).status().code(), Code::invalid_argument);
  request.clear_volume_capabilities();
  EXPECT_EQ(are_block(request.volume_capabilities()).status(), invalid_argument("volume_capabilities is missing"));
}

}  // namespace
}  // namespace drover::hostpath
