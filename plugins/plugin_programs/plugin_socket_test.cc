#include "plugin_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace drover::plugin_programs {
namespace {

namespace fs = std::filesystem;

class PluginSocketTest : public testing::Test {
 protected:
  PluginSocketTest() {
    char name[] = "/tmp/drover-socket-XXXXXX";
    folder_ = ::mkdtemp(name);
    fs::create_directories(folder_ / "of-plugin");
    fs::create_directories(folder_ / "of-root");
  }
  ~PluginSocketTest() override { fs::remove_all(folder_); }

  static void listen_at(const fs::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(0, ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address)) << path;
    ::close(fd);
  }
  Result<PluginSocket> find(const fs::path& path) const { return PluginSocket::find(path, ::geteuid()); }

  fs::path folder_;
};

TEST_F(PluginSocketTest, IsFoundAndRemoved) {
  listen_at(folder_ / "of-plugin/socket");
  auto socket = find(folder_ / "of-plugin/socket");
  ASSERT_TRUE(socket.ok()) << socket.status().to_string();

  socket->remove();

  EXPECT_FALSE(fs::exists(folder_ / "of-plugin/socket"));
}

TEST_F(PluginSocketTest, WhatIsNoSocketOfThePluginIsRefused) {
  std::ofstream(folder_ / "of-plugin/file") << "text";
  listen_at(folder_ / "of-root/socket");
  fs::create_symlink(folder_ / "of-root/socket", folder_ / "of-plugin/link");

  for (const char* name : {"of-plugin/file", "of-plugin/link", "of-plugin/none", "none/socket"})
    EXPECT_TRUE(find(folder_ / name).status().message().ends_with(" is no socket")) << name;
  EXPECT_EQ("the plugin's address /tmp/a%2Fb holds a percent sign", find("/tmp/a%2Fb").status().message());
  const fs::path socket = folder_ / "of-root/socket";
  EXPECT_EQ("the socket " + socket.string() + " belongs to another user",
            PluginSocket::find(socket, ::geteuid() + 1).status().message());
}

TEST_F(PluginSocketTest, WhatTookItsPlaceStays) {
  listen_at(folder_ / "of-plugin/shadow");
  auto socket = find(folder_ / "of-plugin/shadow");
  ASSERT_TRUE(socket.ok());
  std::ofstream(folder_ / "of-root/shadow") << "secrets";

  fs::rename(folder_ / "of-plugin", folder_ / "elsewhere");
  fs::create_directory_symlink(folder_ / "of-root", folder_ / "of-plugin");
  socket->remove();

  EXPECT_TRUE(fs::exists(folder_ / "of-root/shadow"));
  EXPECT_FALSE(fs::exists(folder_ / "elsewhere/shadow"));
}

}  // namespace
}  // namespace drover::plugin_programs
