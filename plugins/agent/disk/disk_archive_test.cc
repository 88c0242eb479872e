// The data of an allocation as a tar, and what others may have put into one.
#include "disk/disk_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "hooks/alloc_dir.h"

namespace drover::agent {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kPlenty = 64 << 20;
const std::vector<std::string> kTasks = {"web"};

struct Alloc {
  Alloc() {
    EXPECT_NE(nullptr, ::mkdtemp(root.data()));
    folders = alloc_folders(root, id);
    EXPECT_TRUE(create_folders(folders).ok());
    EXPECT_TRUE(create_task_folders("web", task_folders(folders, "web")).ok());
  }
  ~Alloc() { fs::remove_all(root); }
  std::string path(const std::string& name) const { return folders.root + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string root = fs::temp_directory_path() / "drover-archive-XXXXXX";
  Uuid id = Uuid::random();
  AllocFolders folders;
};

std::string packed(const Alloc& from, const std::vector<std::string>& tasks = kTasks) {
  std::string bytes;
  const auto sink = [&](std::string_view part) { return bytes.append(part), true; };
  (void)pack_data(from.folders, from.id, tasks, sink, {});  // what went wrong is in the archive
  return bytes;
}

// In parts of this size.
Result<Unpacked> unpack(const Alloc& to, std::string bytes, uint64_t most = kPlenty, size_t part = 1000) {
  const auto next = [&]() -> Result<std::string> {
    std::string now = bytes.substr(0, part);
    bytes.erase(0, part);
    return now;
  };
  return unpack_data(to.folders, kTasks, next, most);
}

struct Item {
  std::string name;
  int type = AE_IFREG;
  std::string content = "text";
  std::string link = {};
  std::string hard_link = {};
};

std::string tar_of(const std::vector<Item>& items) {
  std::string bytes(1 << 20, '\0');
  size_t used = 0;
  archive* writer = archive_write_new();
  archive_write_set_format_pax_restricted(writer);
  archive_write_open_memory(writer, bytes.data(), bytes.size(), &used);
  for (const Item& item : items) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, item.name.c_str());
    archive_entry_set_filetype(entry, static_cast<unsigned>(item.type));
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, item.type == AE_IFREG ? static_cast<la_int64_t>(item.content.size()) : 0);
    if (!item.link.empty()) archive_entry_set_symlink(entry, item.link.c_str());
    if (!item.hard_link.empty()) archive_entry_set_hardlink(entry, item.hard_link.c_str());
    archive_write_header(writer, entry);
    if (item.type == AE_IFREG) archive_write_data(writer, item.content.data(), item.content.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  bytes.resize(used);
  return bytes;
}

TEST(EntryNames, AreBelowTheDataOfTheAllocation) {
  for (const char* good : {"alloc/data", "alloc/data/", "alloc/data/a/b", "web/local", "web/local/..a"})
    EXPECT_TRUE(check_entry_name(good, kTasks).ok()) << good;
  for (const char* bad :
       {"", "/", "/alloc/data", "alloc", "alloc/logs/web.stdout.0", "alloc/data/../logs", "..", "web/secrets/token",
        "other/local/x", "alloc/data//x", "./alloc/data", "alloc/data/./x", "web", "local/x"})
    EXPECT_EQ(Code::invalid_argument, check_entry_name(bad, kTasks).status().code()) << bad;
  EXPECT_FALSE(check_entry_name(std::string_view("alloc/data/a\0b", 14), kTasks).ok());
}

TEST(EntryLinks, StayInTheAllocation) {
  const std::vector<std::string> deep = {"alloc", "data", "deep", "link"};
  const struct {
    const char* to;
    bool stays;
  } cases[] = {{"file", true},
               {"../file", true},
               {"../../../web/local", true},
               {"../../../../x", false},
               {"a/../../b", true},
               {"/alloc/data/x", true},
               {"/local", true},
               {"/local/../etc", false},
               {"/etc/passwd", false},
               {"/", false},
               {"/allocs/x", false},
               {"..", true},
               {"/secrets/token", false}};
  for (const auto& [to, stays] : cases) EXPECT_EQ(stays, stays_in_allocation(deep, to)) << to;
}

TEST(DiskArchive, CarriesFilesFoldersAndLinks) {
  const Alloc from, to;
  from.write("alloc/data/deep/file", "one");
  from.write("web/local/file", std::string(300'000, 'x'));
  from.write("alloc/logs/web.stdout.0", "not data");
  fs::create_symlink("deep/file", from.path("alloc/data/link"));
  fs::create_symlink("/etc/passwd", from.path("alloc/data/out"));
  ASSERT_EQ(0, ::mkfifo(from.path("alloc/data/fifo").c_str(), 0600));
  fs::permissions(from.path("alloc/data/deep/file"), fs::perms(0640));
  fs::permissions(from.path("alloc/data/deep"), fs::perms(0500));
  fs::permissions(from.path("web/local/file"), fs::perms(04755));
  if (::geteuid() == 0) {
    ASSERT_EQ(0, ::chown(from.path("alloc/data/deep/file").c_str(), 1234, 1235));
  }

  const auto done = unpack(to, packed(from));

  ASSERT_TRUE(done.ok()) << done.status().to_string();
  EXPECT_EQ(2u, done->files);
  EXPECT_EQ(1u, done->dropped_links);
  EXPECT_EQ("one", to.read("alloc/data/deep/file"));
  EXPECT_EQ(std::string(300'000, 'x'), to.read("web/local/file"));
  EXPECT_EQ("deep/file", fs::read_symlink(to.path("alloc/data/link")));
  for (const char* absent : {"alloc/data/out", "alloc/data/fifo", "alloc/logs/web.stdout.0"})
    EXPECT_FALSE(fs::exists(fs::symlink_status(to.path(absent)))) << absent;
  struct stat found {};
  ASSERT_EQ(0, ::stat(to.path("alloc/data/deep/file").c_str(), &found));
  EXPECT_EQ(0640u, found.st_mode & 07777u);
  if (::geteuid() == 0) {
    EXPECT_EQ(1234u, found.st_uid);
  }
  EXPECT_EQ(fs::perms(0500), fs::status(to.path("alloc/data/deep")).permissions());
  EXPECT_EQ(fs::perms(0755), fs::status(to.path("web/local/file")).permissions()) << "set-user bits stay behind";
  EXPECT_EQ(fs::perms(0777), fs::status(to.path("alloc/data")).permissions());
}

TEST(DiskArchive, RefusesWhatOthersMayHaveMade) {
  const struct {
    const char* name;
    std::vector<Item> items;
  } cases[] = {
      {"a way up", {{.name = "alloc/data/../../../up"}}},
      {"an absolute path", {{.name = "/tmp/up"}}},
      {"the secrets of a task", {{.name = "web/secrets/token"}}},
      {"a way through a link",
       {{.name = "alloc/data/l", .type = AE_IFLNK, .link = "../logs"}, {.name = "alloc/data/l/file"}}},
      {"a file over a link",
       {{.name = "alloc/data/l", .type = AE_IFLNK, .link = "../logs/x"}, {.name = "alloc/data/l"}}},
      {"a folder over a link",
       {{.name = "alloc/data/l", .type = AE_IFLNK, .link = "../logs"}, {.name = "alloc/data/l", .type = AE_IFDIR}}},
      {"a hard link", {{.name = "alloc/data/h", .hard_link = "alloc/data/file"}}},
      {"a device", {{.name = "alloc/data/d", .type = AE_IFCHR}}},
      {"a file twice", {{.name = "alloc/data/f"}, {.name = "alloc/data/f"}}},
      {"a file without its folder", {{.name = "alloc/data/none/f"}}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const Alloc to;
    EXPECT_FALSE(unpack(to, tar_of(c.items)).ok());
    EXPECT_TRUE(fs::is_empty(to.folders.logs));
    EXPECT_FALSE(fs::exists(to.root + "/up"));
    EXPECT_FALSE(fs::exists(to.path("web/secrets/token")));
  }
}

TEST(DiskArchive, TellsWhatWentWrongAtTheOtherEnd) {
  const Alloc from, to;
  from.write("alloc/data/file", "one");
  fs::remove(from.path("web/local"));
  fs::create_directory_symlink("/etc", from.path("web/local"));
  const std::string bytes = packed(from);
  EXPECT_NE(std::string::npos, bytes.find("NOMAD-" + from.id.to_string() + "-ERROR.log"));
  EXPECT_EQ("the other node could not send everything: web/local is no folder", unpack(to, bytes).status().message());
}

TEST(DiskArchive, HasALimit) {
  const Alloc from, to, other;
  from.write("alloc/data/file", std::string(200'000, 'x'));
  const std::string bytes = packed(from);
  EXPECT_TRUE(unpack(to, bytes, bytes.size()).ok());
  const Status status = unpack(other, bytes, 100'000).status();
  EXPECT_EQ(Code::resource_exhausted, status.code());
  EXPECT_NE(std::string::npos, status.message().find("ephemeral_disk.size")) << status.message();
}

TEST(DiskArchive, ThatIsCutOffIsNone) {
  const Alloc from;
  from.write("alloc/data/file", std::string(50'000, 'x'));
  const std::string bytes = packed(from);
  for (const size_t size : {size_t{0}, size_t{100}, size_t{1000}, size_t{20'000}}) {
    const Alloc to;
    const auto done = unpack(to, bytes.substr(0, size));
    EXPECT_TRUE(!done || done->files == 0) << size;
  }
  const Alloc to;
  EXPECT_FALSE(unpack(to, "these are words and no archive, however long one reads them").ok());
}

TEST(DiskArchive, PassesTheSendersErrorOn) {
  const Alloc to;
  const auto lost = [] { return Result<std::string>(unavailable("the node has gone")); };
  EXPECT_EQ(unavailable("the node has gone"), unpack_data(to.folders, kTasks, lost, kPlenty).status());
}

TEST(DiskArchive, EndsWhenNobodyReadsIt) {
  const Alloc from;
  from.write("alloc/data/file", std::string(300'000, 'x'));
  const auto none = [](std::string_view) { return false; };
  EXPECT_EQ(Code::cancelled, pack_data(from.folders, from.id, kTasks, none, {}).code());
  std::stop_source stop;
  stop.request_stop();
  const auto all = [](std::string_view) { return true; };
  EXPECT_EQ(Code::cancelled, pack_data(from.folders, from.id, kTasks, all, stop.get_token()).code());
}

}  // namespace
}  // namespace drover::agent
