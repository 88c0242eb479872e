// Following a file that grows, shrinks, moves and goes.
#include "files/file_reader.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "drover/api/client.pb.h"
#include "testing/alloc_folder.h"

namespace drover::agent {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class FileReaderTest : public AllocFolderTest {
 protected:
  ~FileReaderTest() override { watch_.stop(); }

  void follow(FileReadOptions options) {
    options.follow = true;
    reader_ = std::jthread([this, options](const std::stop_token& stop) {
      const Status status = read_file(options, files_, watch_, clock_, stop, [this](const v1::FileFrame& frame) {
        std::lock_guard lock(mutex_);
        data_ += frame.data();
        if (!frame.file_event().empty()) data_ += "[" + frame.file_event() + "]";
        if (!frame.data().empty()) last_ = frame;
        if (frame.ByteSizeLong() == 0) ++signs_;
        changed_.notify_all();
        return true;
      });
      std::lock_guard lock(mutex_);
      end_ = status;
      changed_.notify_all();
    });
  }
  testing::AssertionResult until(const std::function<bool()>& wanted) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, 20s, wanted)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "it has read: " << data_ << ", signs of life: " << signs_;
  }
  testing::AssertionResult reads(const std::string& text) {
    return until([&] { return data_ == text; });
  }

  SystemClock clock_;
  FileWatch watch_;
  const AllocTree files_ = tree();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string data_;
  v1::FileFrame last_;
  int signs_ = 0;
  std::optional<Status> end_;
  std::jthread reader_;
};

TEST_F(FileReaderTest, ReadsAPartInFrames) {
  const auto read = [&](bool from_end, uint64_t offset, uint64_t limit) {
    std::string text;
    const Status status =
        read_file({.path = "alloc/data/app.txt", .from_end = from_end, .offset = offset, .limit = limit}, files_,
                  watch_, clock_, {}, [&](const v1::FileFrame& frame) {
                    text += frame.data() + "@" + std::to_string(frame.offset());
                    return true;
                  });
    return status.ok() ? text : status.message();
  };
  EXPECT_EQ(read(false, 0, UINT64_MAX), "shared@6");
  EXPECT_EQ(read(false, 2, 3), "are@5");
  EXPECT_EQ(read(true, 2, UINT64_MAX), "ed@6");
  EXPECT_EQ(read(false, 99, UINT64_MAX), "");
}

TEST_F(FileReaderTest, FollowsWhatIsAppended) {
  const std::string path = root_ + "/alloc/data/app.txt";
  follow({.path = "alloc/data/app.txt", .heartbeat = 1h});  // nothing but the kernel wakes it
  ASSERT_TRUE(reads("shared"));
  ASSERT_TRUE(until([&] { return signs_ == 1; }));  // that was all so far
  put(path, " more", std::ios::app);
  ASSERT_TRUE(reads("shared more"));
  put(path, " and more", std::ios::app);
  ASSERT_TRUE(reads("shared more and more"));
  EXPECT_EQ(last_.file(), "alloc/data/app.txt");
  EXPECT_EQ(last_.offset(), 20);
  EXPECT_EQ(signs_, 1);

  reader_.request_stop();
  ASSERT_TRUE(until([&] { return end_.has_value(); }));
  EXPECT_TRUE(end_->ok());
}

TEST_F(FileReaderTest, BeginsAnewWhenTheFileIsTruncated) {
  const std::string path = root_ + "/alloc/data/app.txt";
  follow({.path = "alloc/data/app.txt", .heartbeat = 1h});
  ASSERT_TRUE(until([&] { return signs_ == 1; }));
  put(path, "");
  ASSERT_TRUE(reads("shared[file truncated]"));
  put(path, "new", std::ios::app);
  ASSERT_TRUE(reads("shared[file truncated]new"));
  EXPECT_EQ(last_.offset(), 3);
}

TEST_F(FileReaderTest, EndsWithTheFile) {
  follow({.path = "alloc/data/app.txt", .heartbeat = 1h});
  ASSERT_TRUE(until([&] { return signs_ == 1; }));
  fs::remove(root_ + "/alloc/data/app.txt");
  ASSERT_TRUE(until([&] { return end_.has_value(); }));
  EXPECT_TRUE(end_->ok());
  EXPECT_EQ(data_, "shared[file deleted]");
}

TEST_F(FileReaderTest, AFileThatAnotherReplacesIsDeleted) {
  follow({.path = "alloc/data/app.txt", .heartbeat = 1h});
  ASSERT_TRUE(until([&] { return signs_ == 1; }));
  put(root_ + "/alloc/data/new", "another one");
  fs::rename(root_ + "/alloc/data/new", root_ + "/alloc/data/app.txt");
  ASSERT_TRUE(until([&] { return end_.has_value(); }));
  EXPECT_EQ(data_, "shared[file deleted]");
}

TEST_F(FileReaderTest, SeesAFolderThatMovesBySignsOfLife) {
  follow({.path = "alloc/data/app.txt", .heartbeat = 20ms});
  ASSERT_TRUE(until([&] { return signs_ > 3; }));
  fs::rename(root_ + "/alloc/data", root_ + "/alloc/old");
  ASSERT_TRUE(until([&] { return end_.has_value(); }));
  EXPECT_EQ(data_, "shared[file deleted]");
}

TEST_F(FileReaderTest, LooksByItselfWhereNobodyTells) {
  watch_.stop();  // as where the kernel watches nothing more
  follow({.path = "alloc/data/app.txt", .heartbeat = 1h, .glance = 5ms});
  ASSERT_TRUE(reads("shared"));
  put(root_ + "/alloc/data/app.txt", " more", std::ios::app);
  ASSERT_TRUE(reads("shared more"));
}

TEST_F(FileReaderTest, EndsAtItsLimit) {
  follow({.path = "alloc/data/app.txt", .limit = 8, .heartbeat = 1h});
  ASSERT_TRUE(reads("shared"));
  put(root_ + "/alloc/data/app.txt", " more", std::ios::app);
  ASSERT_TRUE(until([&] { return end_.has_value(); }));
  EXPECT_EQ(data_, "shared m");
}

TEST_F(FileReaderTest, TwoReadersOfOneFileHearOfIt) {
  const std::string path = root_ + "/alloc/data/app.txt";
  const auto place = files_.find("alloc/data/app.txt");
  const Fd file = *files_.open_file(*place);
  FileWatch::Watched one = watch_.watch(file);
  const FileWatch::Watched two = watch_.watch(file);
  ASSERT_TRUE(one.is_told && two.is_told);

  put(path, "x", std::ios::app);
  one.growth->wait(0, clock_.steady() + 20s, {});
  EXPECT_GT(one.growth->count(), 0U);
  EXPECT_GT(two.growth->count(), 0U);

  one.growth.reset();  // one goes, the other still hears
  const uint64_t before = two.growth->count();
  const FileWatch::Watched other = watch_.watch(file);
  put(path, "y", std::ios::app);
  two.growth->wait(before, clock_.steady() + 20s, {});
  EXPECT_GT(two.growth->count(), before);
}

}  // namespace
}  // namespace drover::agent
