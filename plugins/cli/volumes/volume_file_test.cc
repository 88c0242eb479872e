#include "volumes/volume_file.h"

#include <gtest/gtest.h>

#include "drover/api/volumes.pb.h"
#include "drover/json.h"

void fuzz_volume_file(std::string_view text);

namespace drover::cli {
namespace {

constexpr const char* kCapability =
    R"(capability { access_mode = "single-node-writer" attachment_mode = "file-system" })";

TEST(VolumeFile, SaysWhatAVolumeIs) {
  const auto volume = read_volume_file("volume.hcl", R"(
    id           = "database[0]"
    name         = "database"
    type         = "csi"
    namespace    = "prod"
    plugin_id    = "ebs"
    external_id  = "vol-1"
    snapshot_id  = "snap-1"
    capacity_min = "1GiB"
    capacity_max = "200G"
    capability {
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
    }
    capability {
      access_mode     = "multi-node-reader-only"
      attachment_mode = "block-device"
    }
    mount_options {
      fs_type     = "ext4"
      mount_flags = ["noatime", "ro"]
    }
    topology_request {
      required {
        topology { segments { rack = "R1" } }
        topology { segments { rack = "R2", zone = "a" } }
      }
      preferred {
        topology { segments { rack = "R2" } }
      }
    }
    secrets { password = "hidden" }
    parameters { kind = "fast" }
    context { endpoint = "here" })");
  ASSERT_TRUE(volume.ok()) << volume.status().message();
  EXPECT_EQ(volume->id(), "database[0]");
  EXPECT_EQ(volume->namespace_(), "prod");
  EXPECT_EQ(volume->requested_capacity_min(), int64_t{1} << 30);
  EXPECT_EQ(volume->requested_capacity_max(), 200'000'000'000);
  ASSERT_EQ(volume->requested_capabilities_size(), 2);
  EXPECT_EQ(volume->requested_capabilities(1).access_mode(), "multi-node-reader-only");
  EXPECT_EQ(volume->mount_options().fs_type(), "ext4");
  EXPECT_EQ(volume->mount_options().mount_flags(1), "ro");
  ASSERT_EQ(volume->requested_topologies().required_size(), 2);
  EXPECT_EQ(volume->requested_topologies().required(1).segments().at("zone"), "a");
  EXPECT_EQ(volume->requested_topologies().preferred(0).segments().at("rack"), "R2");
  EXPECT_EQ(volume->secrets().at("password"), "hidden");
  EXPECT_EQ(volume->parameters().at("kind"), "fast");
  EXPECT_EQ(volume->context().at("endpoint"), "here");
}

TEST(VolumeFile, ExamplesCanBeReadAndAreOfTheSameVolume) {
  const auto hcl = read_volume_file("example", kVolumeExample), json = read_volume_file("example", kVolumeExampleJson);
  ASSERT_TRUE(hcl.ok()) << hcl.status().message();
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_EQ(message_to_json(*hcl), message_to_json(*json));
}

TEST(VolumeFile, AnExampleWithoutItsCommentsIsAVolumeToo) {
  std::string text = kVolumeExample;
  for (const char* option :
       {"# namespace", "# external_id", "# snapshot_id", "# topology_request", "#   required {", "#     topology {",
        "#       segments {", "#         \"rack\"", "#       }", "#     }", "#   }", "# }", "# secrets", "#   password",
        "# parameters", "#   kind", "# context", "#   endpoint"}) {
    for (size_t at = 0; (at = text.find(option, at)) != std::string::npos; ++at) text[at] = ' ';
  }
  const auto volume = read_volume_file("example", text);
  ASSERT_TRUE(volume.ok()) << volume.status().message();
  EXPECT_EQ(volume->requested_topologies().required(0).segments().at("rack"), "R1");
  EXPECT_EQ(volume->secrets().size(), 1U);
  EXPECT_EQ(volume->snapshot_id(), "snap-12345");
}

TEST(VolumeFile, ErrorsNameTheirPlaceAndNoSecret) {
  const std::string start = "id = \"a\"\ntype = \"csi\"\nplugin_id = \"p\"\n";
  const struct {
    const char* name;
    std::string text;
    const char* error;
  } cases[] = {
      {"no type", std::string("id = \"a\"\nplugin_id = \"p\"\n") + kCapability, "type"},
      {"no id", std::string("type = \"csi\"\nplugin_id = \"p\"\n") + kCapability, "id"},
      {"an empty id", std::string("id = \"\"\ntype = \"csi\"\nplugin_id = \"p\"\n") + kCapability, "missing volume id"},
      {"no plugin", std::string("id = \"a\"\ntype = \"csi\"\n") + kCapability, "plugin_id"},
      {"another type", std::string("id = \"a\"\ntype = \"host\"\nplugin_id = \"p\"\n") + kCapability, "volume.hcl:2"},
      {"no mode", start + "capability {\n  attachment_mode = \"file-system\"\n}", ":4"},
      {"no size", start + kCapability + "\ncapacity_min = \"large\"", "capacity_min"},
      {"a size beyond all", start + kCapability + "\ncapacity_max = \"16000000TiB\"", "capacity_max"},
      {"an unknown word", start + kCapability + "\nsecret { hidden = \"hidden\" }", "secrets"},
      {"secrets of another form", start + kCapability + "\nsecrets = [\"hidden\"]", "secrets"},
      {"no HCL", "id = ", "volume.hcl:1"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto volume = read_volume_file("volume.hcl", c.text);
    ASSERT_FALSE(volume.ok());
    EXPECT_NE(volume.status().message().find(c.error), std::string::npos) << volume.status().message();
    EXPECT_EQ(volume.status().message().find("\"hidden\""), std::string::npos) << volume.status().message();
  }
}

TEST(VolumeFile, PairsAreKeysAndValues) {
  const auto pairs = read_pairs("parameter", {"a=1", "b=x=y", "c=", "a=2,3"});
  ASSERT_TRUE(pairs.ok());
  EXPECT_EQ(*pairs, (std::map<std::string, std::string>{{"a", "2,3"}, {"b", "x=y"}, {"c", ""}}));
  EXPECT_FALSE(read_pairs("parameter", {"a"}).ok());
  EXPECT_FALSE(read_pairs("parameter", {"=a"}).ok());
  const auto secret = read_pairs("secret", {"a=hidden,hidden"});
  ASSERT_FALSE(secret.ok()) << "a comma cannot be sent";
  EXPECT_EQ(secret.status().message().find("hidden"), std::string::npos);
}

TEST(VolumeFile, NoInputBreaksIt) {
  for (const std::string text : {kVolumeExample, kVolumeExampleJson}) {
    for (size_t at = 0; at < text.size(); at += 3) {
      fuzz_volume_file(text.substr(0, at));
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ 0x15);
      fuzz_volume_file(changed);
    }
  }
}

}  // namespace
}  // namespace drover::cli
