#include "node/program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "node/mkdir.h"
#include "node/node_state.pb.h"

void fuzz_host_volume_answer(std::string_view text);

namespace drover::host_volumes {
namespace {

namespace fs = std::filesystem;

TEST(HostVolumeAnswers, AreReadOrRefused) {
  struct Case {
    const char* text;
    const char* path;  // null: refused
    int64_t bytes;
  };
  const Case cases[] = {
      {R"({"path": "/srv/v", "bytes": 50000000})", "/srv/v", 50'000'000},
      {R"({"path": "/srv/v"})", "/srv/v", 0},
      {R"({"path": "/srv/v", "bytes": null, "more": [1]})", "/srv/v", 0},
      {R"({"path": "srv/v"})", nullptr, 0},
      {R"({"path": ""})", nullptr, 0},
      {R"({"path": "/srv/\n"})", nullptr, 0},
      {R"({"path": 7})", nullptr, 0},
      {R"({"path": "/v", "bytes": -1})", nullptr, 0},
      {R"({"path": "/v", "bytes": 1.5})", nullptr, 0},
      {R"({"path": "/v", "bytes": 18446744073709551615})", nullptr, 0},
      {R"(["/srv/v"])", nullptr, 0},
      {"", nullptr, 0},
      {"made it", nullptr, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const auto made = read_made(c.text);
    ASSERT_EQ(made.ok(), c.path != nullptr);
    if (!made) continue;
    EXPECT_EQ(made->path, c.path);
    EXPECT_EQ(made->bytes, c.bytes);
  }
}

TEST(HostVolumeAnswers, VersionsAndReasons) {
  for (const char* good : {"0.0.1", "v2", "1.2.3-beta+5"})
    EXPECT_EQ(*read_version("{\"version\": \"" + std::string(good) + "\"}"), good);
  for (const char* bad :
       {R"({"version": ""})", R"({"version": "new"})", R"({"version": 1})", "{}", "0.0.1", R"({"version": "1 2"})"})
    EXPECT_FALSE(read_version(bad)) << bad;
  EXPECT_EQ(read_reason(R"({"error": "no\nroom"})"), "no room");
  EXPECT_EQ(read_reason(R"({"path": "/v"})"), "");
  EXPECT_EQ(read_reason("no room"), "");
  EXPECT_EQ(read_reason(R"({"error": ")" + std::string(2000, 'x') + "\"}").size(), 512U);
}

TEST(HostVolumeAnswers, ChangedOnesHarmNobody) {
  const std::string whole = R"({"path": "/srv/v", "bytes": 50000000, "version": "1.2", "error": "none"})";
  std::minstd_rand random(7);
  for (size_t at = 0; at < whole.size(); ++at) {
    fuzz_host_volume_answer(std::string_view(whole).substr(0, at));
    std::string changed = whole;
    changed[at] = static_cast<char>(random());
    fuzz_host_volume_answer(changed);
  }
}

class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() {
    std::string name = ::testing::TempDir() + "/drover-host-volumes-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    fs::create_directory(folder_ + "/plugins");
    fs::create_directory(folder_ + "/volumes");
    volume_.set_id(std::string(16, '\x11'));
    volume_.set_name("data");
    volume_.set_namespace_("prod");
    volume_.set_node_id(std::string(16, '\x22'));
    volume_.set_node_pool("gpu");
    volume_.set_plugin_id("script");
    volume_.set_capacity_min(5);
    volume_.set_capacity_max(10);
    (*volume_.mutable_parameters())["key"] = "a \"value\"";
  }
  ~ProgramTest() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& script, mode_t mode = 0755) const {
    const std::string path = folder_ + "/plugins/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << script;
    ::chmod(path.c_str(), mode);
  }
  Programs programs(std::chrono::nanoseconds step = std::chrono::seconds(30)) const {
    return Programs({.plugins = folder_ + "/plugins", .volumes = folder_ + "/volumes"},
                    {.fingerprint = std::chrono::seconds(30), .step = step});
  }
  std::string read(const std::string& path) const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
  StoredVolume volume_;
};

TEST_F(ProgramTest, IsToldByItsEnvironment) {
  write("script", R"(test "$1" = "$DHV_OPERATION" || exit 9
env | grep ^DHV_ | sort > "$DHV_VOLUMES_DIR/$1.env"
mkdir -p "$DHV_VOLUMES_DIR/$DHV_VOLUME_ID"
echo 'not looked at' >&2
printf '{"path": "%s", "bytes": 7}' "$DHV_VOLUMES_DIR/$DHV_VOLUME_ID"
)");
  const auto made = programs().create(volume_, {});
  ASSERT_TRUE(made.ok()) << made.status().message();
  const std::string id = "11111111-1111-1111-1111-111111111111", node = "22222222-2222-2222-2222-222222222222";
  EXPECT_EQ(made->path, folder_ + "/volumes/" + id);
  EXPECT_EQ(made->bytes, 7);
  const std::string common = "DHV_NAMESPACE=prod\nDHV_NODE_ID=" + node + "\nDHV_NODE_POOL=gpu\n";
  EXPECT_EQ(read(folder_ + "/volumes/create.env"),
            "DHV_CAPACITY_MAX_BYTES=10\nDHV_CAPACITY_MIN_BYTES=5\n" + common +
                "DHV_OPERATION=create\nDHV_PARAMETERS={\"key\":\"a \\\"value\\\"\"}\nDHV_PLUGIN_DIR=" + folder_ +
                "/plugins\nDHV_VOLUMES_DIR=" + folder_ + "/volumes\nDHV_VOLUME_ID=" + id + "\nDHV_VOLUME_NAME=data\n");
  volume_.set_host_path(made->path);
  EXPECT_TRUE(programs().erase(volume_, {}).ok());
  const std::string told = read(folder_ + "/volumes/delete.env");
  EXPECT_EQ(told.substr(0, told.find('\n')), "DHV_CREATED_PATH=" + made->path);
  EXPECT_EQ(told.find("CAPACITY"), std::string::npos);
}

TEST_F(ProgramTest, WhatItDoesWrongIsSaid) {
  struct Case {
    const char* script;
    const char* said;
  };
  const std::string whole = "create of volume 11111111-1111-1111-1111-111111111111 by plugin \"script\": ";
  const Case cases[] = {
      {"echo '{\"error\": \"no room\"}'; exit 3", "exit status 3: no room"},
      {"echo broken; exit 1", "exit status 1"},
      {"head -c 200000 /dev/zero", "printed too much"},
      {"sleep 600", "took longer than"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.script);
    write("script", c.script);
    const bool is_slow = std::string_view(c.script).starts_with("sleep");
    const auto made = programs(is_slow ? std::chrono::milliseconds(100) : std::chrono::seconds(30)).create(volume_, {});
    EXPECT_EQ(made.status().code(), Code::failed_precondition);
    EXPECT_TRUE(made.status().message().starts_with(whole)) << made.status().message();
    EXPECT_NE(made.status().message().find(c.said), std::string::npos) << made.status().message();
  }
  write("script", "echo made");
  EXPECT_EQ(programs().create(volume_, {}).status().message(), "plugin \"script\": its answer is no JSON object");
  write("script", "echo '{\"path\": \"/no/such/folder\"}'");
  EXPECT_EQ(programs().create(volume_, {}).status().message(), "plugin \"script\": its answer's path is not there");
}

TEST_F(ProgramTest, IsAFileOfTheFolderAndNothingElse) {
  write("good", "echo '{\"version\": \"1.0\"}'");
  write("silent", "exit 0");
  write("data", "", 0644);
  write("open", "echo '{\"version\": \"1.0\"}'", 0777);
  fs::create_directory(folder_ + "/plugins/folder");
  std::ofstream(folder_ + "/outside") << "#!/bin/sh\n";
  ::chmod((folder_ + "/outside").c_str(), 0755);
  fs::create_symlink(folder_ + "/outside", folder_ + "/plugins/link");
  std::string found;
  for (const auto& [name, file] : programs().present()) found += name + " ";
  EXPECT_EQ(found, "good silent ");
  EXPECT_EQ(*programs().version("good", {}), "1.0");
  EXPECT_FALSE(programs().version("silent", {}));
  for (const char* name : {"../outside", "link", "folder", "data", "open", "none", "", ".", "..", "a/b"}) {
    volume_.set_plugin_id(name);
    EXPECT_EQ(programs().create(volume_, {}).status(),
              failed_precondition("no host volume plugin \"" + std::string(name) + "\" on this node"));
  }
}

TEST_F(ProgramTest, MkdirMakesAFolderAsItIsAsked) {
  volume_.clear_parameters();
  const std::string all = folder_ + "/new/volumes";
  const auto usual = make_folder(all, volume_);
  ASSERT_TRUE(usual.ok()) << usual.status().message();
  EXPECT_EQ(usual->path, all + "/11111111-1111-1111-1111-111111111111");
  EXPECT_EQ(fs::status(usual->path).permissions(), fs::perms(0700));
  std::ofstream(usual->path + "/file") << "kept";
  (*volume_.mutable_parameters())["mode"] = "0751";
  ASSERT_TRUE(make_folder(all, volume_).ok()) << "once more";
  EXPECT_EQ(read(usual->path + "/file"), "kept");
  EXPECT_EQ(fs::status(usual->path).permissions(), fs::perms(0700)) << "it stays as it is";

  volume_.set_host_path(usual->path);
  ASSERT_TRUE(erase_folder(folder_ + "/other", volume_).ok()) << "whichever folder it is now";
  EXPECT_FALSE(fs::exists(usual->path));
  EXPECT_TRUE(erase_folder(all, volume_).ok()) << "once more";
  // One that was left half made is made whole.
  fs::create_directory(usual->path + ".new");
  ASSERT_TRUE(make_folder(all, volume_).ok());
  EXPECT_EQ(fs::status(usual->path).permissions(), fs::perms(0751));
  EXPECT_FALSE(fs::exists(usual->path + ".new"));
}

TEST_F(ProgramTest, MkdirRefusesWhatItDoesNotKnow) {
  struct Case {
    const char *name, *value, *said;
  };
  for (const Case& c :
       {Case{"mode", "0799", "invalid value for \"mode\""}, Case{"mode", "17777", "invalid value for \"mode\""},
        Case{"uid", "-1", "invalid value for \"uid\""}, Case{"gid", "", "invalid value for \"gid\""},
        Case{"uid", "4294967295", "invalid value for \"uid\""},
        Case{"owner", "me", "unknown mkdir parameter: \"owner\""}}) {
    StoredVolume volume = volume_;
    volume.clear_parameters();
    (*volume.mutable_parameters())[c.name] = c.value;
    EXPECT_EQ(make_folder(folder_ + "/volumes", volume).status(), invalid_argument(c.said));
  }
  EXPECT_TRUE(fs::is_empty(folder_ + "/volumes"));
}

}  // namespace
}  // namespace drover::host_volumes
