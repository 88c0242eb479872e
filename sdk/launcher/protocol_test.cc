#include "protocol.h"

#include <gtest/gtest.h>

namespace drover::launcher {
namespace {

TEST(LauncherProtocol, CarriesAStartRequestWhole) {
  const StartRequest sent{.id = "a/b/c",
                          .arguments = {"/bin/sh", "sh", "", std::string("nul\0inside", 10)},
                          .environment = {"A=1", "B=two words"},
                          .directory = "/tmp",
                          .stdout_path = "/o",
                          .stderr_path = "/e",
                          .changes_user = true,
                          .user = 65534,
                          .group = 4294967295,
                          .groups = {1, 2},
                          .cgroup_files = {"/sys/fs/cgroup/x/cgroup.procs"}};
  Writer out(Kind::start, 7);
  sent.write(out);
  std::string bytes = out.finish() + "next", frame;

  ASSERT_EQ(Take::frame, take_frame(bytes, frame));

  EXPECT_EQ("next", bytes);
  Reader in(frame);
  EXPECT_EQ(Kind::start, in.kind());
  EXPECT_EQ(7u, in.request());
  const StartRequest got = StartRequest::read(in);
  ASSERT_TRUE(in.ok());
  EXPECT_EQ(sent.id, got.id);
  EXPECT_EQ(sent.arguments, got.arguments);
  EXPECT_EQ(sent.environment, got.environment);
  EXPECT_EQ(sent.directory, got.directory);
  EXPECT_EQ(sent.stdout_path, got.stdout_path);
  EXPECT_EQ(sent.stderr_path, got.stderr_path);
  EXPECT_EQ(sent.changes_user, got.changes_user);
  EXPECT_EQ(sent.user, got.user);
  EXPECT_EQ(sent.group, got.group);
  EXPECT_EQ(sent.groups, got.groups);
  EXPECT_EQ(sent.cgroup_files, got.cgroup_files);
}

TEST(LauncherProtocol, EveryCutOfAFrameIsNoticed) {
  Writer out(Kind::exited, 0);
  TaskRecord{.id = "a", .pid = 2, .start_time = 3, .has_exited = true, .exit_code = 4}.write(out);
  const std::string whole = out.finish();
  for (size_t length = 0; length < whole.size() - kLengthBytes; ++length) {
    Reader in(std::string_view(whole).substr(kLengthBytes, length));
    TaskRecord::read(in);
    EXPECT_FALSE(in.ok()) << length;
  }
}

TEST(LauncherProtocol, WaitsForTheRestOfAFrameAndRefusesAHugeOne) {
  std::string whole = Writer(Kind::list, 1).finish(), frame;
  for (size_t length = 0; length < whole.size(); ++length) {
    std::string part = whole.substr(0, length);
    EXPECT_EQ(Take::more, take_frame(part, frame)) << length;
  }
  std::string huge = "\xff\xff\xff\xff";
  EXPECT_EQ(Take::broken, take_frame(huge, frame));
}

TEST(LauncherProtocol, ACountThatTheFrameCannotHoldTakesNoMemory) {
  Writer out(Kind::start, 1);
  out.number(UINT64_MAX);  // a text's length
  out.number(UINT64_MAX);
  std::string bytes = out.finish(), frame;
  ASSERT_EQ(Take::frame, take_frame(bytes, frame));
  Reader in(frame);
  StartRequest::read(in);
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace drover::launcher
