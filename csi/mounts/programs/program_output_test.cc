#include "programs/program_output.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "csi/protocol/messages.h"
#include "csi/protocol/redact.h"
#include "drover/log.h"
#include "gtest/gtest.h"
#include "sdk/testing/waiting.h"

namespace drover::mounts {
namespace {

// Collects what is logged of the plugin "disks" while this lives.
class Heard {
 public:
  std::string all() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  bool has(const std::string& text) const {
    return eventually([&] { return all().find(text) != std::string::npos; });
  }

 private:
  void hear(log::Level level, std::string_view sentence, std::span<const log::Field> fields) {
    const std::lock_guard lock(mutex_);
    text_ += std::string(log::to_string(level)) + " " + std::string(sentence);
    for (const log::Field& field : fields) text_ += " " + std::string(field.name) + "=" + field.value;
    text_ += "\n";
  }
  mutable std::mutex mutex_;
  std::string text_;
  log::Tap tap_{log::Level::trace, [this](log::Level level, std::string_view component, std::string_view sentence,
                                          std::span<const log::Field> fields) {
                  if (component == "mounts") hear(level, sentence, fields);
                }};
};

class Output : public ::testing::Test {
 protected:
  Output() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    csi::v1::NodeStageVolumeRequest request;
    (*request.mutable_secrets())["key"] = "hush\nsecond-line";
    secrets_->add_of(request);
    secrets_->add("from-env");
  }
  ~Output() override {
    output_.close();
    std::filesystem::remove_all(folder_);
  }
  std::string fifo() const { return folder_ + "/disks"; }
  void print(const std::string& text) const { std::ofstream(fifo()) << text << std::flush; }

  std::string folder_ = "/tmp/drover-output-XXXXXX";
  std::shared_ptr<csi::KnownSecrets> secrets_ = std::make_shared<csi::KnownSecrets>();
  SystemClock clock_;
  Heard heard_;
  ProgramOutput output_{"disks", secrets_, clock_};
};

TEST_F(Output, LinesComeIntoTheLogWithTheirLevel) {
  ASSERT_TRUE(output_.open(fifo()).ok());
  struct stat found {};
  ASSERT_EQ(::stat(fifo().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  print("one\n[WARN] two\nthr");
  print("ee\nE1126 21:12:04.214 1 node.go:9] four\nW1126 21:12:04.214 five\n[DEBUG] six\n");
  EXPECT_TRUE(heard_.has("INFO one plugin=disks\n"));
  EXPECT_TRUE(heard_.has("WARN two plugin=disks\n"));
  EXPECT_TRUE(heard_.has("INFO three plugin=disks\n"));
  EXPECT_TRUE(heard_.has("ERROR E1126 21:12:04.214 1 node.go:9] four plugin=disks\n"));
  EXPECT_TRUE(heard_.has("WARN W1126 21:12:04.214 five plugin=disks\n"));
  EXPECT_TRUE(heard_.has("DEBUG six plugin=disks\n"));
}

TEST_F(Output, SecretsDoNot) {
  ASSERT_TRUE(output_.open(fifo()).ok());
  print("the key hush second-line and aHVzaApzZWNvbmQtbGluZQ== with from-env\n");
  EXPECT_TRUE(heard_.has("INFO the key [REDACTED] [REDACTED] and [REDACTED] with [REDACTED] plugin=disks\n"));
  print(R"({"@level":"info","@message":"mounted","key":"hush"})"
        "\n");
  EXPECT_TRUE(heard_.has("INFO mounted plugin=disks key=[REDACTED]\n")) << heard_.all();
}

TEST_F(Output, OfALineThatIsTooLongTheBeginningComes) {
  ASSERT_TRUE(output_.open(fifo()).ok());
  print("long" + std::string(70'000, '.') + "hu");
  print("sh the rest\nnext\n");
  EXPECT_TRUE(heard_.has("INFO next plugin=disks\n"));
  EXPECT_NE(heard_.all().find("INFO long..."), std::string::npos);
  EXPECT_EQ(heard_.all().find("hu"), std::string::npos);
}

TEST_F(Output, WhatWasPrintedWhileNobodyKnewTheSecretsIsThrownAway) {
  ASSERT_EQ(::mkfifo(fifo().c_str(), 0600), 0);
  const Fd held(::open(fifo().c_str(), O_RDWR | O_CLOEXEC));
  print("a secret of yesterday\n");
  ASSERT_TRUE(output_.open(fifo()).ok());
  print("today\n");
  EXPECT_TRUE(heard_.has("INFO today plugin=disks\n"));
  EXPECT_EQ(heard_.all().find("yesterday"), std::string::npos);
}

TEST_F(Output, NothingButAFifoIsReadOrReplaced) {
  std::ofstream(fifo()) << "mine";
  EXPECT_EQ(output_.open(fifo()), failed_precondition(fifo() + " is there, and is no FIFO"));
  std::filesystem::remove(fifo());
  std::filesystem::create_symlink("/etc/passwd", fifo());
  EXPECT_FALSE(output_.open(fifo()).ok());
}

TEST_F(Output, TheLastWordsAreHeardAtTheEnd) {
  ASSERT_TRUE(output_.open(fifo()).ok());
  print("out of memory");
  output_.close();
  EXPECT_NE(heard_.all().find("INFO out of memory plugin=disks\n"), std::string::npos);
}

}  // namespace
}  // namespace drover::mounts
