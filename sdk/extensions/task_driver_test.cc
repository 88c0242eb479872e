// The parts of a driver's work that the SDK does for it.
#include "drover/task_driver.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "drover/task_event_feed.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

using namespace std::chrono_literals;

// Only what must be there.
class Bare : public TaskDriver {
 public:
  driver::DriverCapabilities capabilities() const override { return {}; }
  driver::FingerprintResponse fingerprint() override { return {}; }
  Result<std::string> encode_config(std::string_view) override { return std::string(); }
  Result<driver::StartTaskResponse> start_task(const driver::TaskConfig&) override { return unimplemented(""); }
  Status recover_task(const driver::TaskHandle&) override { return ok_status(); }
  Result<driver::ExitResult> wait_task(std::string_view, std::stop_token) override { return unimplemented(""); }
  Status stop_task(std::string_view, std::chrono::nanoseconds, std::string_view) override { return ok_status(); }
  Status destroy_task(std::string_view, bool) override { return ok_status(); }
  Result<driver::InspectTaskResponse> inspect_task(std::string_view) override { return unimplemented(""); }
  Result<driver::TaskStats> task_stats(std::string_view) override { return unimplemented(""); }
  Status signal_task(std::string_view, std::string_view) override { return ok_status(); }
};

// Repeats the command's words, and waits for its caller to go when the first is "wait".
class Echo final : public Bare {
 public:
  Status exec_task_streaming(const ExecCommand& command, ExecStream& stream) override {
    while (const auto request = stream.receive(stream.stop())) {
      if (request->stdin().close()) break;
    }
    driver::ExecTaskStreamingResponse response;
    for (const std::string& word : command.command) response.mutable_stdout()->mutable_data()->append(word);
    response.mutable_stderr()->set_data("no");
    if (!stream.send(response)) return cancelled("gone");
    if (command.command.front() == "wait") {
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      never.wait(lock, stream.stop(), [] { return false; });
      return cancelled("gone");
    }
    response.Clear();
    response.set_exited(true);
    response.mutable_result()->set_exit_code(7);
    return stream.send(response) ? ok_status() : cancelled("gone");
  }
};

TEST(ExecTask, IsMadeOfTheStreamingForm) {
  Echo driver;

  const auto answer = driver.exec_task({.task_id = "t", .command = {"a", "b"}, .tty = false}, 20s);

  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ("ab", answer->stdout());
  EXPECT_EQ("no", answer->stderr());
  EXPECT_EQ(7, answer->result().exit_code());
}

TEST(ExecTask, EndsWithItsTime) {
  Echo driver;

  EXPECT_EQ(Code::deadline_exceeded,
            driver.exec_task({.task_id = "t", .command = {"wait"}, .tty = false}, 20ms).status().code());
  EXPECT_EQ(Code::invalid_argument,
            driver.exec_task({.task_id = "t", .command = {"a"}, .tty = false}, 0s).status().code());
}

TEST(ExecTask, KeepsTheFirstMebibyte) {
  Echo driver;

  const auto answer = driver.exec_task({.task_id = "t", .command = {std::string(2 << 20, 'x')}, .tty = false}, 20s);

  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(size_t{1} << 20, answer->stdout().size());
}

TEST(TaskDriver, SaysWhichOptionalCallsItLacks) {
  Bare driver;

  EXPECT_EQ(unimplemented("driver does not support exec"),
            driver.exec_task({.task_id = "t", .command = {"a"}, .tty = false}, 1s).status());
  EXPECT_EQ(Code::unimplemented, driver.create_network({}).status().code());
  EXPECT_EQ(Code::unimplemented, driver.destroy_network({}).code());
}

class Follower {
 public:
  explicit Follower(TaskEventFeed& feed)
      : thread_([this, &feed](std::stop_token stop) {
          feed.follow([this](const driver::DriverTaskEvent& event) { hear(event); }, stop);
        }) {}
  std::string wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 20s, [&] { return count_ >= count; })) << heard_;
    return heard_;
  }

 private:
  void hear(const driver::DriverTaskEvent& event) {
    std::lock_guard lock(mutex_);
    heard_ += event.task_id() + ":" + event.message() + ":" + event.annotations().at("k") + ";";
    ++count_;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string heard_;
  size_t count_ = 0;
  std::jthread thread_;
};

TEST(TaskEventFeed, KeepsForTheFirstFollowerAndTellsEachEventOnce) {
  TaskEventFeed feed;
  driver::TaskConfig task;
  task.set_id("t");
  feed.tell(task, "one", {{"k", "1"}});
  {
    Follower first(feed);
    EXPECT_EQ("t:one:1;", first.wait_for(1));
    feed.tell(task, "two", {{"k", "2"}});
    EXPECT_EQ("t:one:1;t:two:2;", first.wait_for(2));
  }
  feed.tell(task, "three", {{"k", "3"}});

  Follower second(feed);

  EXPECT_EQ("t:three:3;", second.wait_for(1));
}

TEST(TaskEventFeed, KeepsOnlyTheNewest) {
  TaskEventFeed feed;
  driver::TaskConfig task;
  for (size_t i = 0; i < TaskEventFeed::kKept + 1; ++i) feed.tell(task, "", {{"k", std::to_string(i)}});

  Follower follower(feed);

  const std::string heard = follower.wait_for(TaskEventFeed::kKept);
  EXPECT_TRUE(heard.starts_with("::1;")) << heard.substr(0, 20);
  EXPECT_TRUE(heard.ends_with("::256;"));
}

}  // namespace
}  // namespace drover
