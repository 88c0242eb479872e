#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "drover/api/client.pb.h"
#include "logs/log_collector.h"
#include "logs/log_files.h"
#include "logs/log_reader.h"

namespace drover::agent {
namespace {

using namespace std::chrono_literals;

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(std::filesystem::temp_directory_path() / "drover-agent-logs-XXXXXX") {
    if (!::mkdtemp(path_.data())) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(LogRotation, BreaksBehindLineEndsWhereItCan) {
  const std::string far = std::string(10, 'a') + "\n" + std::string(40 * 1024, 'b');
  struct Case {
    const char* name;
    uint64_t size;
    uint64_t limit;
    std::string data;
    bool at_line_start;
    size_t expected;
  };
  const Case cases[] = {
      {"fits", 0, 100, "hello\n", true, 6},
      {"fits exactly", 94, 100, "hello\n", true, 6},
      {"breaks behind the last line that fits", 90, 100, "one\ntwo\nthree\n", true, 8},
      {"a line that begins here moves whole", 90, 100, "a long line without end", true, 0},
      {"a line that began earlier is cut", 90, 100, "a long line without end", false, 10},
      {"a line longer than a file is cut", 0, 10, "a long line without end", true, 10},
      {"a line end too far back does not count", 0, 40 * 1024, far, true, 40 * 1024},
      {"a full file takes nothing", 100, 100, "x", true, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(c.expected, fit_into_log(c.size, c.limit, c.data, c.at_line_start));
  }
}

TEST(LogOffsets, LieInTheFileTheyFallInto) {
  const std::vector<LogExtent> files = {{3, 10}, {4, 10}, {5, 4}};
  struct Case {
    const char* name;
    bool from_end;
    uint64_t offset;
    uint64_t number;
    uint64_t expected;
  };
  const Case cases[] = {
      {"the beginning", false, 0, 3, 0},
      {"inside", false, 7, 3, 7},
      {"a boundary is the later file", false, 10, 4, 0},
      {"beyond the end", false, 99, 5, 4},
      {"the end", true, 0, 5, 4},
      {"back from the end", true, 6, 4, 8},
      {"further back than there is", true, 99, 3, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    auto position = locate_log_offset(files, c.from_end, c.offset);
    ASSERT_TRUE(position);
    EXPECT_EQ(c.number, position->number);
    EXPECT_EQ(c.expected, position->offset);
  }
  EXPECT_FALSE(locate_log_offset({}, false, 0));
}

TEST(LogWriter, RotatesAndRemovesTheOldest) {
  TemporaryFolder folder;
  auto writer = LogWriter::open(folder.path(), "web.stdout", {.bytes = 10, .files = 2});
  ASSERT_TRUE(writer.ok());

  ASSERT_TRUE(writer->append("line 1\nline 2\nline 3\nline 4\n").ok());

  const auto files = list_log_files(folder.path(), "web.stdout");
  ASSERT_EQ(2u, files.size());
  EXPECT_EQ(2u, files[0].number);
  EXPECT_EQ("line 3\n", read_file(folder.path() + "/web.stdout.2"));
  EXPECT_EQ("line 4\n", read_file(folder.path() + "/web.stdout.3"));
}

TEST(LogWriter, GoesOnWithTheNewestFile) {
  TemporaryFolder folder;
  write_file(folder.path() + "/web.stdout.0", "old\n");
  write_file(folder.path() + "/web.stdout.1", "new\n");
  write_file(folder.path() + "/web.stdout.x", "");
  auto writer = LogWriter::open(folder.path(), "web.stdout", {.bytes = 100, .files = 10});
  ASSERT_TRUE(writer->append("more\n").ok());
  EXPECT_EQ("new\nmore\n", read_file(folder.path() + "/web.stdout.1"));
}

struct Pipe {
  explicit Pipe(std::string_view text) {
    EXPECT_EQ(0, ::pipe2(ends, O_CLOEXEC | O_NONBLOCK));
    EXPECT_EQ(static_cast<ssize_t>(text.size()), ::write(ends[1], text.data(), text.size()));
  }
  ~Pipe() {
    for (const int end : ends) ::close(end);
  }
  std::string rest() const {
    char text[100];
    const ssize_t size = ::read(ends[0], text, sizeof text);
    return {text, static_cast<size_t>(std::max<ssize_t>(size, 0))};
  }
  int ends[2];
};

TEST(LogWriter, TakesFromAPipeAsMuchAsItIsShown) {
  TemporaryFolder folder;
  auto writer = LogWriter::open(folder.path(), "web.stdout", {.bytes = 10, .files = 2});
  const Pipe pipe("line 1\nline 2\nline 3\nline 4\n");

  ASSERT_TRUE(writer->take(pipe.ends[0], "line 1\nline 2\nline 3\n").ok());

  EXPECT_EQ("line 2\n", read_file(folder.path() + "/web.stdout.1"));
  EXPECT_EQ("line 3\n", read_file(folder.path() + "/web.stdout.2"));
  EXPECT_EQ("line 4\n", pipe.rest());
}

// Else it would come again and again, before what can be written.
TEST(LogWriter, TakesFromAPipeWhatItCannotWrite) {
  TemporaryFolder folder;
  auto writer = LogWriter::open(folder.path(), "web.stdout", {.bytes = 10, .files = 2});
  std::filesystem::create_directory(folder.path() + "/web.stdout.1");
  const Pipe pipe("line 1\nline 2\nline 3\nline 4\n");

  EXPECT_FALSE(writer->take(pipe.ends[0], "line 1\nline 2\nline 3\n").ok());

  EXPECT_EQ("line 1\n", read_file(folder.path() + "/web.stdout.0"));
  EXPECT_EQ("line 4\n", pipe.rest());
}

// A task's end of the FIFO: opened for reading and writing, as drivers do.
class TaskEnd {
 public:
  explicit TaskEnd(const std::string& fifo) : fd_(::open(fifo.c_str(), O_RDWR | O_CLOEXEC)) {}
  ~TaskEnd() { ::close(fd_); }
  void print(std::string_view text) const {
    ASSERT_EQ(static_cast<ssize_t>(text.size()), ::write(fd_, text.data(), text.size()));
  }

 private:
  int fd_;
};

TEST(LogCollector, WritesWhatTasksPrint) {
  TemporaryFolder folder;
  LogCollector collector;
  ASSERT_TRUE(collector.start().ok());
  const LogStream stream{folder.path(), "web", "stdout", {.bytes = 16, .files = 3}};
  ASSERT_TRUE(collector.open(stream).ok());
  EXPECT_EQ(std::filesystem::perms(0600), std::filesystem::status(stream.fifo()).permissions());

  TaskEnd task(stream.fifo());
  task.print("first line\nsecond line\n");
  collector.close(stream);

  EXPECT_EQ("first line\n", read_file(folder.path() + "/web.stdout.0"));
  EXPECT_EQ("second line\n", read_file(folder.path() + "/web.stdout.1"));
  EXPECT_FALSE(std::filesystem::exists(stream.fifo()));
}

TEST(LogCollector, LosesNothingBetweenTwoLives) {
  TemporaryFolder folder;
  const LogStream stream{folder.path(), "web", "stderr", {}};
  auto first = std::make_unique<LogCollector>();
  ASSERT_TRUE(first->start().ok());
  ASSERT_TRUE(first->open(stream).ok());
  TaskEnd task(stream.fifo());
  task.print("before\n");
  first->drain(stream);
  first.reset();

  task.print(std::string(200'000, 'x') + "\n");  // nobody reads: it waits in the pipe
  LogCollector second;
  ASSERT_TRUE(second.start().ok());
  ASSERT_TRUE(second.open(stream).ok());
  task.print("after\n");
  second.close(stream);

  EXPECT_EQ("before\n" + std::string(200'000, 'x') + "\nafter\n", read_file(folder.path() + "/web.stderr.0"));
}

struct Received {
  std::mutex mutex;
  std::condition_variable changed;
  std::string data;
  std::vector<std::string> files;
  int heartbeats = 0;

  bool take(const v1::FileFrame& frame) {
    std::lock_guard lock(mutex);
    if (frame.ByteSizeLong() == 0) ++heartbeats;
    data += frame.data();
    if (!frame.file_event().empty()) data += "[" + frame.file_event() + "]";
    if (!frame.file().empty() && (files.empty() || files.back() != frame.file())) files.push_back(frame.file());
    changed.notify_all();
    return true;
  }
  bool until(const std::function<bool()>& wanted) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, 20s, wanted);
  }
};

TEST(LogReader, ReadsAcrossFilesFromAnOffset) {
  TemporaryFolder folder;
  write_file(folder.path() + "/web.stdout.4", "0123456789");
  write_file(folder.path() + "/web.stdout.5", "abcde");
  SystemClock clock;
  LogGrowth growth;
  const auto read = [&](bool from_end, uint64_t offset) {
    Received received;
    Status status = read_logs({.folder = folder.path(), .base = "web.stdout", .from_end = from_end, .offset = offset},
                              growth, clock, {}, [&](const v1::FileFrame& frame) { return received.take(frame); });
    EXPECT_TRUE(status.ok());
    return received.data;
  };
  EXPECT_EQ("0123456789abcde", read(false, 0));
  EXPECT_EQ("cde", read(false, 12));
  EXPECT_EQ("89abcde", read(true, 7));
  EXPECT_EQ("", read(true, 0));
  EXPECT_EQ(Code::not_found,
            read_logs({.folder = folder.path(), .base = "db.stdout"}, growth, clock, {}, [](const auto&) {
              return true;
            }).code());
}

TEST(LogReader, FollowsRotationAndShowsThatItLives) {
  TemporaryFolder folder;
  LogCollector collector;
  ASSERT_TRUE(collector.start().ok());
  const LogStream stream{folder.path(), "web", "stdout", {.bytes = 16, .files = 10}};
  ASSERT_TRUE(collector.open(stream).ok());
  auto growth = collector.growth(stream.key());
  SystemClock clock;
  Received received;
  std::jthread reader([&](const std::stop_token& stop) {
    EXPECT_TRUE(read_logs({.folder = folder.path(), .base = stream.base(), .follow = true, .heartbeat = 20ms}, *growth,
                          clock, stop, [&](const v1::FileFrame& frame) { return received.take(frame); })
                    .ok());
  });
  TaskEnd task(stream.fifo());

  task.print("first line\n");
  ASSERT_TRUE(received.until([&] { return received.data == "first line\n"; }));
  task.print("second line\n");
  ASSERT_TRUE(received.until([&] { return received.data == "first line\nsecond line\n"; }));
  ASSERT_TRUE(received.until([&] { return received.heartbeats > 0; }));

  reader.request_stop();
  reader.join();
  EXPECT_EQ((std::vector<std::string>{"alloc/logs/web.stdout.0", "alloc/logs/web.stdout.1"}), received.files);
}

TEST(LogReader, TellsOfFilesThatAreTruncatedOrDeleted) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/web.stdout.0";
  write_file(path, "first");
  LogGrowth growth;
  SystemClock clock;
  Received received;
  std::jthread reader([&](const std::stop_token& stop) {
    EXPECT_TRUE(read_logs({.folder = folder.path(), .base = "web.stdout", .follow = true, .heartbeat = 1h}, growth,
                          clock, stop, [&](const v1::FileFrame& frame) { return received.take(frame); })
                    .ok());
  });
  const auto becomes = [&](const std::string& text) { return received.until([&] { return received.data == text; }); };
  ASSERT_TRUE(received.until([&] { return received.heartbeats == 1; }));  // the end of what there is, at once

  std::filesystem::resize_file(path, 0);
  growth.grew();
  ASSERT_TRUE(becomes("first[file truncated]"));
  std::filesystem::remove(path);
  growth.grew();
  ASSERT_TRUE(becomes("first[file truncated][file deleted]"));
  write_file(folder.path() + "/web.stdout.1", "second");
  growth.grew();
  EXPECT_TRUE(becomes("first[file truncated][file deleted]second"));
}

TEST(LogReader, EndsWhereTheLogEndedWhenItBegan) {
  TemporaryFolder folder;
  write_file(folder.path() + "/web.stdout.0", "0123456789");
  LogGrowth growth;
  SystemClock clock;
  std::string data;
  const Status status =
      read_logs({.folder = folder.path(), .base = "web.stdout"}, growth, clock, {}, [&](const v1::FileFrame& frame) {
        data += frame.data();
        write_file(folder.path() + "/web.stdout.0", "0123456789" + data);
        write_file(folder.path() + "/web.stdout.1", "later");
        return data.size() < 100;
      });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ("0123456789", data);
}

}  // namespace
}  // namespace drover::agent
