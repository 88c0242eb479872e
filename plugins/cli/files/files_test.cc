// How alloc fs and alloc logs read and show.
#include <gtest/gtest.h>

#include "cli_command.h"
#include "drover/api/client.pb.h"
#include "files/file_text.h"
#include "files/frames.h"
#include "files/tail.h"

namespace drover::cli {
namespace {

TEST(FileText, SizesArePlainToRead) {
  const std::pair<uint64_t, const char*> cases[] = {{0, "0 B"},
                                                    {13, "13 B"},
                                                    {1023, "1023 B"},
                                                    {1024, "1.0 KiB"},
                                                    {4096, "4.0 KiB"},
                                                    {10'188, "9.9 KiB"},
                                                    {10'235, "10 KiB"},
                                                    {83'000'000, "79 MiB"},
                                                    {1 << 20, "1.0 MiB"},
                                                    {1ULL << 40, "1.0 TiB"},
                                                    {UINT64_MAX, "16 EiB"}};
  for (const auto& [bytes, text] : cases) EXPECT_EQ(size_text(bytes), text);
}

TEST(FileText, ARowSaysWhatIsAskedFor) {
  v1::AllocFileInfo file;
  file.set_name("logs");
  file.set_is_dir(true);
  file.set_size(4096);
  file.set_file_mode("drwxr-xr-x");
  file.set_mod_time(1'700'000'000'123'456'789);
  file.set_content_type("application/octet-stream");
  using Row = std::vector<std::string>;
  EXPECT_EQ(file_header({}), (Row{"Mode", "Size", "Modified Time", "Name"}));
  EXPECT_EQ(file_row(file, {}), (Row{"drwxr-xr-x", "4.0 KiB", "2023-11-14T22:13:20Z", "logs/"}));
  EXPECT_EQ(file_header({.content_type = true}), (Row{"Mode", "Size", "Modified Time", "Content Type", "Name"}));
  EXPECT_EQ(file_row(file, {.content_type = true, .exact_sizes = true}),
            (Row{"drwxr-xr-x", "4096", "2023-11-14T22:13:20Z", "application/octet-stream", "logs/"}));
}

// A reader's frames of bytes that come in pieces of a size, and its error.
std::string heard(const std::string& bytes, size_t piece) {
  std::string text;
  FrameReader frames([&](const v1::FileFrame& frame) {
    text += frame.data() + "@" + std::to_string(frame.offset()) + "(" + frame.file_event() + ")";
    return frame.offset() != 99;
  });
  for (size_t at = 0; at < bytes.size(); at += piece) {
    if (!frames.take(std::string_view(bytes).substr(at, piece))) break;
  }
  return text + frames.status().message();
}

TEST(Frames, StandBehindEachOther) {
  struct Case {
    const char* name;
    const char* bytes;
    const char* expected;
  };
  const Case cases[] = {
      {"one", R"({"Offset":3,"Data":"YWJj","File":"a"})", "abc@3()"},
      {"a sign of life", "{}", "@0()"},
      {"several", R"({"Offset":1,"Data":"YQ=="}{}{"FileEvent":"file deleted","File":"x"})",
       "a@1()@0()@0(file deleted)"},
      {"with lines between", "{}\n\n{}", "@0()@0()"},
      {"braces in a name", R"({"File":"}{\"}\\","Offset":2}{})", "@2()@0()"},
      {"what ended it", R"({"Offset":1}Permission denied: {no} more)", "@1()Permission denied: {no} more"},
      {"no more wanted", R"({"Offset":99}{"Offset":1})", "@99()"},
      {"not whole", R"({"Offset":3)", ""},
      {"a newer field", R"({"Offset":3,"Later":{"a":"}"}})", "@3()"},
  };
  for (const Case& c : cases) {
    for (size_t piece : {1U, 3U, 1000U}) EXPECT_EQ(heard(c.bytes, piece), c.expected) << c.name << " by " << piece;
  }
  EXPECT_TRUE(heard(R"({"Offset":"x"}{})", 1).starts_with("the agent sent what is no frame: ")) << heard("{x}", 1);
  EXPECT_EQ(heard("{\"Data\":\"" + std::string(2 << 20, 'A'), 4096), "the agent sent a frame that does not end");
}

TEST(Tail, IsWhatTheFlagsSay) {
  struct Case {
    std::vector<std::string> words;
    const char* expected;  // bytes and lines, or the error
  };
  const Case cases[] = {
      {{}, "whole"},
      {{"-f"}, "whole"},
      {{"-tail"}, "16384 bytes, 10 lines"},
      {{"-tail", "-n", "500"}, "60000 bytes, 500 lines"},
      {{"-n=0"}, "16384 bytes, 0 lines"},
      {{"-n=-1"}, "whole"},
      {{"-c", "7"}, "7 bytes"},
      {{"-tail", "-c=0"}, "0 bytes"},
      {{"-n", "1", "-c", "1"}, "Both -n and -c are not allowed"},
      {{"-n=-2"}, "Invalid size is specified: -n=-2"},
      {{"-c=1k"}, "Invalid size is specified: -c=1k"},
      {{"-c="}, "Invalid size is specified: -c="},
  };
  for (const Case& c : cases) {
    const auto arguments = Arguments::parse(c.words, tail_flags());
    ASSERT_TRUE(arguments.ok()) << arguments.status().message();
    const auto tail = tail_of(*arguments);
    std::string text = tail ? "whole" : tail.status().message();
    if (tail && *tail) {
      text = std::to_string((*tail)->bytes) + " bytes";
      if ((*tail)->lines) text += ", " + std::to_string(*(*tail)->lines) + " lines";
    }
    EXPECT_EQ(text, c.expected);
  }
}

TEST(Tail, CountsLines) {
  EXPECT_EQ(last_lines("a\nb\nc\n", 2), "b\nc\n");
  EXPECT_EQ(last_lines("a\nb\nc", 2), "b\nc");
  EXPECT_EQ(last_lines("a\nb\n", 2), "a\nb\n");
  EXPECT_EQ(last_lines("a\nb\n", 9), "a\nb\n");
  EXPECT_EQ(last_lines("\n\n\n", 2), "\n\n");
  EXPECT_EQ(last_lines("\n", 1), "\n");
  EXPECT_EQ(last_lines("a\n", 0), "");
  EXPECT_EQ(last_lines("", 3), "");
}

TEST(Tail, HoldsBackUntilTheEndIsReached) {
  LastLines lines(1);
  EXPECT_EQ(lines.take("one\ntw"), "");
  EXPECT_EQ(lines.take("o\n"), "");
  EXPECT_EQ(lines.end(), "two\n");
  EXPECT_EQ(lines.take("three"), "three");
  EXPECT_EQ(lines.end(), "");
  LastLines all(std::nullopt);
  EXPECT_EQ(all.take("as it comes"), "as it comes");
}

}  // namespace
}  // namespace drover::cli
