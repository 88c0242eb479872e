// An allocation's folder with a task "web", and things outside of it that nobody may read. For tests of its files.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "files/alloc_tree.h"

namespace drover::agent {

class AllocFolderTest : public ::testing::Test {
 protected:
  AllocFolderTest() : outside_(std::filesystem::temp_directory_path() / "drover-files-XXXXXX") {
    if (!::mkdtemp(outside_.data())) outside_.clear();
    root_ = outside_ + "/0f5c1f0e-aaaa-bbbb-cccc-1234567890ab";
    put(outside_ + "/passwords", "not yours");
    put(root_ + "/alloc/data/app.txt", "shared");
    put(root_ + "/alloc/logs/web.stdout.0", "");
    put(root_ + "/web/local/index.html", "<html></html>");
    put(root_ + "/web/secrets/token", "secret");
  }
  ~AllocFolderTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(outside_, ignored);
  }

  static void put(const std::string& path, const std::string& text, std::ios::openmode how = std::ios::trunc) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::out | how) << text;
  }
  void link(const std::string& target, const std::string& path) const {
    std::filesystem::create_symlink(target, root_ + "/" + path);
  }
  AllocTree tree() const {
    auto opened = AllocTree::open(root_);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    return *std::move(opened);
  }

  std::string outside_, root_;
};

}  // namespace drover::agent
