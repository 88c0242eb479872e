// The files API reaches what it shall, and above all nothing else.
#include "files/alloc_tree.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "drover/api/client.pb.h"
#include "files/file_reader.h"
#include "testing/alloc_folder.h"

namespace drover::agent {
namespace {

namespace fs = std::filesystem;

class AllocTreeTest : public AllocFolderTest {
 protected:
  // The content, or the error.
  std::string cat(const std::string& path) const {
    const AllocTree files = tree();
    const auto place = files.find(path);
    if (!place) return place.status().message();
    std::string text;
    const Status status = copy_file(files, *place, 0, 1 << 20, {}, [&](std::string_view bytes) {
      text.append(bytes);
      return true;
    });
    return status.ok() ? text : status.message();
  }
  std::string ls(const std::string& path) const {
    const AllocTree files = tree();
    const auto place = files.find(path);
    if (!place) return place.status().message();
    v1::ListFilesResponse listed;
    const Status status = files.list(*place, listed);
    std::string names;
    for (const v1::AllocFileInfo& file : listed.files())
      names += (names.empty() ? "" : " ") + file.name() + (file.is_dir() ? "/" : "");
    return status.ok() ? names : status.message();
  }
  v1::AllocFileInfo stat(const std::string& path) const {
    const AllocTree files = tree();
    const auto place = files.find(path);
    v1::AllocFileInfo info;
    EXPECT_TRUE(place.ok()) << place.status().to_string();
    if (place) files.describe(*place, info);
    return info;
  }
};

constexpr const char* kOut = "Path escapes the alloc directory";

TEST_F(AllocTreeTest, ListsReadsAndDescribes) {
  EXPECT_EQ(ls("/"), "alloc/ web/");
  EXPECT_EQ(ls("web"), "local/ secrets/");
  EXPECT_EQ(cat("alloc/data/app.txt"), "shared");
  EXPECT_EQ(cat("/alloc/../alloc/data/./app.txt"), "shared");
  EXPECT_EQ(cat("alloc/data"), "file \"alloc/data\" is a directory");
  EXPECT_EQ(ls("alloc/data/app.txt"), "file \"alloc/data/app.txt\" is not a directory");
  EXPECT_EQ(cat("alloc/none"), "stat alloc/none: no such file or directory");
  EXPECT_EQ(cat("alloc/data/app.txt/x"), "stat alloc/data/app.txt/x: not a directory");

  fs::permissions(root_ + "/web/local/index.html", fs::perms(0640));
  const v1::AllocFileInfo page = stat("web/local/index.html");
  EXPECT_EQ(page.name(), "index.html");
  EXPECT_FALSE(page.is_dir());
  EXPECT_EQ(page.size(), 13);
  EXPECT_EQ(page.file_mode(), "-rw-r-----");
  EXPECT_EQ(page.content_type(), "text/html; charset=utf-8");
  EXPECT_GT(page.mod_time(), 1'600'000'000'000'000'000);
  EXPECT_EQ(stat("/").name(), fs::path(root_).filename());
  EXPECT_TRUE(stat("/").is_dir());
}

TEST_F(AllocTreeTest, ANameThatIsNoTextSpoilsNoList) {
  put(root_ + "/web/local/a\xFFz", "x");
  EXPECT_EQ(ls("web/local"), "a\xEF\xBF\xBDz index.html");
}

TEST_F(AllocTreeTest, AnAllocationThatIsGoneIsNotFound) {
  fs::remove_all(root_);
  EXPECT_EQ(AllocTree::open(root_).status(),
            not_found("state for allocation " + fs::path(root_).filename().string() + " not found on client"));
}

TEST_F(AllocTreeTest, FollowsLinksInside) {
  link("../alloc/data", "web/relative");
  link(root_ + "/alloc/data/app.txt", "web/absolute");
  EXPECT_EQ(cat("web/relative/app.txt"), "shared");
  EXPECT_EQ(cat("web/absolute"), "shared");
  EXPECT_EQ(stat("web/absolute").name(), "absolute");
  EXPECT_EQ(stat("web/absolute").file_mode().substr(0, 1), "-");

  // By the name that a link on the way to the allocation gives it.
  fs::create_directory_symlink(outside_, outside_ + "/by-link");
  link(outside_ + "/by-link/" + fs::path(root_).filename().string() + "/alloc", "web/linked");
  root_ = outside_ + "/by-link/" + fs::path(root_).filename().string();
  EXPECT_EQ(cat("web/linked/data/app.txt"), "shared");
  EXPECT_EQ(cat("web/absolute"), "shared");
}

TEST_F(AllocTreeTest, NoLinkLeadsOut) {
  link("/etc", "web/etc");
  link("../../passwords", "web/up");
  link("../../", "web/above");
  link(outside_ + "/passwords", "web/other");
  link("/proc/self/root/etc/passwd", "web/proc");
  link("/proc/self/cwd", "web/cwd");
  link("etc", "web/chain");
  EXPECT_EQ(cat("web/etc/passwd"), kOut);
  EXPECT_EQ(cat("web/up"), kOut);
  EXPECT_EQ(ls("web/above"), kOut);
  EXPECT_EQ(cat("web/other"), kOut);
  EXPECT_EQ(cat("web/proc"), kOut);
  EXPECT_EQ(ls("web/cwd"), kOut);
  EXPECT_EQ(ls("web/chain"), kOut);
  EXPECT_EQ(cat("../passwords"), kOut);
  EXPECT_EQ(cat("web/../../passwords"), kOut);
  // A list shows links, and does not look behind them.
  const AllocTree files = tree();
  v1::ListFilesResponse listed;
  ASSERT_TRUE(files.list(*files.find("web"), listed).ok());
  for (const v1::AllocFileInfo& file : listed.files()) {
    if (file.name() == "up") {
      EXPECT_EQ(file.file_mode(), "Lrwxrwxrwx");
      EXPECT_EQ(file.content_type(), "application/octet-stream");
    }
  }
}

TEST_F(AllocTreeTest, SecretsStaySecretByEveryPath) {
  link("secrets", "web/open");
  link("../secrets/token", "web/local/token");
  link(root_ + "/web", "alloc/tasks");
  link("..", "alloc/up");
  for (const char* path : {"web/secrets", "web/secrets/token", "/web//secrets/./token", "web/local/../secrets/token",
                           "web/open", "web/open/token", "web/local/token", "alloc/tasks/secrets/token",
                           "alloc/up/web/secrets/token", "web/secrets/none", "web/open/none"}) {
    EXPECT_EQ(cat(path), "Reading secret file prohibited: " + std::string(path));
    EXPECT_EQ(ls(path), "Reading secret file prohibited: " + std::string(path));
  }
  put(root_ + "/alloc/secrets/own", "a folder of the tasks' own");
  EXPECT_EQ(cat("alloc/secrets/own"), "a folder of the tasks' own");
}

TEST_F(AllocTreeTest, WhatIsNoFileIsNotOpened) {
  ASSERT_EQ(::mkfifo((root_ + "/web/pipe").c_str(), 0600), 0);
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (root_ + "/web/s").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);

  EXPECT_EQ(cat("web/pipe"), "file \"web/pipe\" is a named pipe, which is not read");
  EXPECT_EQ(cat("web/s"), "file \"web/s\" is a socket, which is not read");
  EXPECT_EQ(stat("web/pipe").file_mode(), "prw-------");
  EXPECT_EQ(ls("web"), "local/ pipe s secrets/");
  // Nobody has had it open: a writer that does not wait finds no reader.
  EXPECT_EQ(::open((root_ + "/web/pipe").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1);
  EXPECT_EQ(errno, ENXIO);
}

TEST_F(AllocTreeTest, ADeviceIsNotRead) {
  if (::mknod((root_ + "/web/zero").c_str(), S_IFCHR | 0600, 0x0105) != 0)
    GTEST_SKIP() << "needs root to make a device";
  EXPECT_EQ(cat("web/zero"), "file \"web/zero\" is a device, which is not read");
  EXPECT_EQ(stat("web/zero").file_mode(), "Dcrw-------");
}

TEST_F(AllocTreeTest, AHugeFileWithHolesIsReadInParts) {
  const std::string path = root_ + "/web/huge";
  put(path, "begin");
  ASSERT_EQ(::truncate(path.c_str(), int64_t{1} << 40), 0);
  EXPECT_EQ(stat("web/huge").size(), int64_t{1} << 40);
  const AllocTree files = tree();
  const auto place = files.find("web/huge");
  size_t pieces = 0;
  std::string text;
  ASSERT_TRUE(copy_file(files, *place, (uint64_t{1} << 40) - 3, UINT64_MAX, {}, [&](std::string_view bytes) {
                text.append(bytes);
                return ++pieces > 0;
              }).ok());
  EXPECT_EQ(text, std::string(3, '\0'));
  EXPECT_EQ(pieces, 1U);
  // The reader's end is the end.
  ASSERT_TRUE(copy_file(files, *place, 0, UINT64_MAX, {}, [&](std::string_view bytes) {
                EXPECT_EQ(bytes.size(), kFrameBytes);
                return ++pieces < 3;
              }).ok());
  EXPECT_EQ(pieces, 3U);
}

TEST_F(AllocTreeTest, RenamesInFlightNeverShowWhatIsOutside) {
  put(root_ + "/web/spot/app.txt", "inside");
  put(outside_ + "/elsewhere/app.txt", "outside");
  fs::create_directory_symlink(outside_ + "/elsewhere", root_ + "/web/trap");
  std::atomic<bool> is_over{false};
  std::thread mover([&] {
    const std::string spot = root_ + "/web/spot", trap = root_ + "/web/trap", spare = root_ + "/web/spare";
    while (!is_over) {
      for (const auto& [from, to] :
           {std::pair(spot, spare), std::pair(trap, spot), std::pair(spot, trap), std::pair(spare, spot)})
        ::rename(from.c_str(), to.c_str());
    }
  });
  size_t reads = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string seen = cat("web/spot/app.txt");
    ASSERT_NE(seen, "outside");
    if (seen == "inside") ++reads;
  }
  is_over = true;
  mover.join();
  EXPECT_GT(reads, 0U);
}

TEST_F(AllocTreeTest, AFolderWithoutMeasureIsRefused) {
  for (int i = 0; i <= 10'000; ++i) {
    const Fd made(::open((root_ + "/web/local/" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  }
  EXPECT_EQ(ls("web/local"), "directory \"web/local\" has more than 10000 entries; name one of them");
  EXPECT_EQ(cat("web/local/9999"), "");
}

TEST_F(AllocTreeTest, AFileThatTheAgentMayNotReadSaysSo) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  fs::permissions(root_ + "/alloc/data/app.txt", fs::perms::none);
  EXPECT_EQ(cat("alloc/data/app.txt"), "open alloc/data/app.txt: permission denied");
}

}  // namespace
}  // namespace drover::agent
