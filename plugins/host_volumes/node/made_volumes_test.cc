#include "node/made_volumes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "drover/v1/node.pb.h"
#include "node/mkdir.h"
#include "node/node_state.pb.h"
#include "sdk/testing/fake_host.h"

namespace drover::host_volumes {
namespace {

namespace fs = std::filesystem;

class MemoryStore final : public LocalStore {
 public:
  Result<std::optional<std::string>> get(std::string_view key) override {
    const auto at = rows.find(std::string(key));
    return at == rows.end() ? std::optional<std::string>() : std::optional(at->second);
  }
  Status write(std::span<const Write> writes) override {
    for (const Write& write : writes) {
      if (!write.value) {
        rows.erase(write.key);
      } else {
        rows[write.key] = *write.value;
      }
    }
    return ok_status();
  }
  Result<std::vector<std::pair<std::string, std::string>>> list(std::string_view prefix) override {
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& row : rows) {
      if (row.first.starts_with(prefix)) found.push_back(row);
    }
    return found;
  }
  std::map<std::string, std::string> rows;
};

class NodeHost final : public testing::FakeHost {
 public:
  LocalStore& local_store() override { return store; }
  MemoryStore store;
};

std::string id_of(char c) { return std::string(16, c); }

class MadeVolumesTest : public ::testing::Test {
 protected:
  MadeVolumesTest() {
    std::string name = ::testing::TempDir() + "/drover-made-volumes-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    fs::create_directory(folder_ + "/plugins");
    start();
  }
  ~MadeVolumesTest() override {
    volumes_->stop();
    fs::remove_all(folder_);
  }

  // Also as after a crash of the agent: nothing is left of the one before but its records.
  void start() {
    if (volumes_) volumes_->stop();
    volumes_.emplace();
    const Status started =
        volumes_->start({.host = &host_,
                         .folders = {.plugins = folder_ + "/plugins", .volumes = folder_ + "/volumes"},
                         .taken = {"site"}});
    ASSERT_TRUE(started.ok()) << started.message();
    node_ = v1::Node();
    ASSERT_TRUE(volumes_->describe(node_).ok());
  }
  void write_plugin(const std::string& script) const {
    const std::string path = folder_ + "/plugins/script";
    std::ofstream(path) << "#!/bin/sh\n[ $1 = fingerprint ] && { echo '{\"version\": \"1.5\"}'; exit; }\n" << script;
    ::chmod(path.c_str(), 0755);
  }
  static StoredVolume order(char id, const std::string& name, const std::string& plugin = kMkdir) {
    StoredVolume order;
    order.set_id(id_of(id));
    order.set_name(name);
    order.set_namespace_("default");
    order.set_plugin_id(plugin);
    order.set_step_index(10);
    return order;
  }
  Result<MadeVolume> make(const StoredVolume& order, uint64_t term = 1) { return volumes_->make(order, term, {}); }
  // "name=path" of what the node offers by identifier.
  std::string offered() {
    volumes_->refresh(node_);
    std::map<std::string, std::string> all;
    for (const auto& [name, volume] : node_.host_volumes()) all[name] = volume.path();
    std::string text;
    for (const auto& [name, path] : all) text += name + "=" + fs::path(path).filename().string().substr(0, 2) + " ";
    return text;
  }

  std::string folder_;
  NodeHost host_;
  v1::Node node_;
  std::optional<MadeVolumes> volumes_;
};

TEST_F(MadeVolumesTest, OneThatIsMadeIsOfferedAlsoAfterACrash) {
  int told = 0;
  volumes_->watch([&] { ++told; });
  const auto made = make(order('\x11', "data"));
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_TRUE(fs::is_directory(made->path));
  EXPECT_GT(told, 0);
  EXPECT_EQ(volumes_->find("default", "data"), made->path);
  EXPECT_EQ(volumes_->find("other", "data"), std::nullopt) << "of another namespace";
  EXPECT_EQ(offered(), "data=11 ");
  EXPECT_EQ(node_.host_volumes().at("data").id(), id_of('\x11'));
  EXPECT_FALSE(volumes_->refresh(node_)) << "as before";
  EXPECT_EQ(node_.attributes().at("plugins.host_volume.mkdir.version"), "0.0.1");

  fs::remove(made->path);
  start();
  EXPECT_EQ(offered(), "data=11 ");
  EXPECT_TRUE(fs::is_directory(made->path)) << "made again";
}

TEST_F(MadeVolumesTest, ANameIsOneVolumes) {
  ASSERT_TRUE(make(order('\x11', "data")).ok());
  EXPECT_EQ(make(order('\x22', "data")).status().code(), Code::already_exists);
  EXPECT_EQ(make(order('\x33', "site")).status().code(), Code::already_exists) << "the configuration's";
  EXPECT_TRUE(make(order('\x11', "data")).ok()) << "the same once more";
  EXPECT_EQ(offered(), "data=11 ");
}

TEST_F(MadeVolumesTest, WhatComesTooLateDoesNothing) {
  ASSERT_TRUE(make(order('\x11', "data"), 5).ok());
  EXPECT_EQ(make(order('\x22', "other"), 4).status().code(), Code::aborted) << "of an earlier leader";
  StoredVolume later = order('\x11', "data");
  later.set_step_index(20);
  ASSERT_TRUE(volumes_->erase(later, 5, {}).ok());
  EXPECT_EQ(offered(), "");
  EXPECT_FALSE(fs::exists(folder_ + "/volumes/11111111-1111-1111-1111-111111111111"));
  EXPECT_EQ(make(order('\x11', "data"), 5).status().code(), Code::aborted) << "sent before it was deleted";
  start();
  EXPECT_EQ(make(order('\x11', "data"), 5).status().code(), Code::aborted) << "the same after a restart";
  EXPECT_TRUE(volumes_->erase(later, 5, {}).ok()) << "deleting may be repeated";
  EXPECT_TRUE(make(order('\x22', "data"), 5).ok()) << "its name is free";

  host_.forward_clock().advance(std::chrono::hours(2));
  start();
  EXPECT_EQ(host_.store.rows.size(), 1U) << "forgotten";
}

TEST_F(MadeVolumesTest, WhatAPluginRefusesIsAsItWas) {
  write_plugin("echo '{\"error\": \"full\"}'; exit 1");
  EXPECT_EQ(make(order('\x11', "data", "script")).status().code(), Code::failed_precondition);
  EXPECT_TRUE(host_.store.rows.empty());
  write_plugin(
      "mkdir -p $DHV_VOLUMES_DIR/$DHV_VOLUME_ID; echo \"{\\\"path\\\": \\\"$DHV_VOLUMES_DIR/$DHV_VOLUME_ID\\\"}\"");
  ASSERT_TRUE(make(order('\x11', "data", "script")).ok());
  write_plugin("exit 1");
  StoredVolume next = order('\x11', "data", "script");
  next.set_step_index(20);
  next.set_capacity_min(100);
  EXPECT_EQ(make(next).status().code(), Code::failed_precondition) << "a change";
  EXPECT_EQ(volumes_->erase(next, 1, {}).code(), Code::failed_precondition);
  EXPECT_EQ(offered(), "data=11 ");
}

TEST_F(MadeVolumesTest, OneThatCannotBeRestoredIsNotOffered) {
  write_plugin("mkdir -p $DHV_VOLUMES_DIR/v; echo \"{\\\"path\\\": \\\"$DHV_VOLUMES_DIR/v\\\"}\"");
  start();
  EXPECT_EQ(node_.attributes().at("plugins.host_volume.script.version"), "1.5");
  ASSERT_TRUE(make(order('\x11', "data", "script")).ok());
  write_plugin("exit 1");
  start();
  EXPECT_EQ(offered(), "");
  EXPECT_EQ(volumes_->find("default", "data"), std::nullopt);
}

TEST_F(MadeVolumesTest, OneThatWasThereBeforeIsLookedForAndLeft) {
  StoredVolume there = order('\x11', "data", "");
  there.set_is_registered(true);
  there.set_host_path(folder_ + "/mine");
  EXPECT_EQ(make(there).status().code(), Code::failed_precondition) << "it is not there";
  fs::create_directory(folder_ + "/mine");
  ASSERT_TRUE(make(there).ok());
  EXPECT_EQ(volumes_->find("default", "data"), folder_ + "/mine");
  there.set_step_index(20);
  ASSERT_TRUE(volumes_->erase(there, 1, {}).ok());
  EXPECT_EQ(volumes_->find("default", "data"), std::nullopt);
  EXPECT_TRUE(fs::exists(folder_ + "/mine"));
}

TEST_F(MadeVolumesTest, AFolderOfTheConfigurationGoesBefore) {
  ASSERT_TRUE(make(order('\x11', "data")).ok());
  v1::HostVolume& own = (*node_.mutable_host_volumes())["data"];
  own.set_name("data");
  own.set_path("/srv/data");
  (*node_.mutable_host_volumes())["old"].set_id(id_of('\x77'));
  EXPECT_TRUE(volumes_->refresh(node_));
  EXPECT_EQ(node_.host_volumes().at("data").path(), "/srv/data");
  EXPECT_EQ(node_.host_volumes().at("data").id(), "");
  EXPECT_FALSE(node_.host_volumes().contains("old")) << "it is not offered any more";
}

}  // namespace
}  // namespace drover::host_volumes
