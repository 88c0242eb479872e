#include "engine/frames.h"

#include <gtest/gtest.h>

#include "task/log_line.h"

namespace drover::docker {
namespace {

std::string frame(char stream, const std::string& content) {
  std::string out(8, '\0');
  out[0] = stream;
  for (int i = 0; i < 4; ++i) out[4 + i] = static_cast<char>(content.size() >> (24 - 8 * i));
  return out + content;
}

struct Heard {
  std::string out, error;
  int frames = 0;
  Status feed(FrameParser& parser, std::string_view bytes) {
    return parser.feed(bytes, [this](Output output, std::string_view content, bool is_first) {
      (output == Output::out ? out : error) += content;
      frames += is_first;
      return ok_status();
    });
  }
};

TEST(Frames, AreToldApartWhereverTheStreamIsCut) {
  const std::string stream = frame(1, "one\n") + frame(2, "two\n") + frame(1, "") + frame(1, std::string(70'000, 'x'));
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{8}, size_t{9}, size_t{4096}, stream.size()}) {
    SCOPED_TRACE(piece);
    FrameParser parser;
    Heard heard;
    for (size_t at = 0; at < stream.size(); at += piece) {
      ASSERT_TRUE(heard.feed(parser, std::string_view(stream).substr(at, piece)).ok());
    }
    EXPECT_EQ("one\n" + std::string(70'000, 'x'), heard.out);
    EXPECT_EQ("two\n", heard.error);
    EXPECT_EQ(3, heard.frames);
    EXPECT_TRUE(parser.is_between());
  }
}

TEST(Frames, AreNotBetweenInsideAHeaderOrAContent) {
  FrameParser parser;
  Heard heard;
  const std::string stream = frame(1, "ab");
  ASSERT_TRUE(heard.feed(parser, stream.substr(0, 5)).ok());
  EXPECT_FALSE(parser.is_between());
  ASSERT_TRUE(heard.feed(parser, stream.substr(5, 4)).ok());
  EXPECT_FALSE(parser.is_between());
  ASSERT_TRUE(heard.feed(parser, stream.substr(9)).ok());
  EXPECT_TRUE(parser.is_between());
}

TEST(Frames, RefuseWhatIsNone) {
  for (const std::string& bad : {std::string("{\"message\":\"no\"}"), std::string("\x04\0\0\0\0\0\0\1x", 9),
                                 std::string("\x01\0\1\0\0\0\0\1x", 9)}) {
    FrameParser parser;
    Heard heard;
    EXPECT_EQ(Code::data_loss, heard.feed(parser, bad).code());
    EXPECT_EQ(Code::data_loss, heard.feed(parser, frame(1, "later")).code());
    EXPECT_EQ("", heard.out);
  }
}

TEST(Frames, TellTheEnginesOwnMessage) {
  FrameParser parser;
  Heard heard;
  EXPECT_EQ(unavailable("the engine: the log is broken"), heard.feed(parser, frame(3, "the log is broken")));
  FrameParser other;
  std::string endless = frame(3, "");
  endless[4] = 0x7f;
  EXPECT_EQ(Code::data_loss, heard.feed(other, endless).code());
}

TEST(Frames, StopAtTheFirstErrorOfTheListener) {
  FrameParser parser;
  EXPECT_EQ(cancelled("enough"),
            parser.feed(frame(1, "x"), [](Output, std::string_view, bool) { return cancelled("enough"); }));
}

constexpr int64_t kNoon = 1'682'942'400'000'000'000;

TEST(LogStamps, AreTakenOff) {
  LogStamps stamps({});
  EXPECT_EQ("hello\n", stamps.strip("2023-05-01T12:00:00.000000005Z hello\n", true));
  EXPECT_EQ("more of it\n", stamps.strip("more of it\n", false));
  EXPECT_EQ((LogPosition{.time = kNoon + 5, .count = 1}), stamps.position(true));
  EXPECT_EQ(LogPosition{}, stamps.position(false));
}

TEST(LogStamps, MayComeInPieces) {
  LogStamps stamps({});
  EXPECT_EQ("", stamps.strip("2023-05-01T12:00", true));
  EXPECT_EQ("", stamps.strip(":00Z", false));
  EXPECT_EQ("a b\n", stamps.strip(" a b\n", false));
}

TEST(LogStamps, LeaveOutWhatWasReadBefore) {
  LogStamps stamps({.time = kNoon + 5, .count = 1});
  EXPECT_EQ("", stamps.strip("2023-05-01T12:00:00.000000004Z older\n", true));
  EXPECT_EQ("", stamps.strip("2023-05-01T12:00:00.000000005Z old\n", true));
  EXPECT_EQ("", stamps.strip("still old\n", false));
  EXPECT_EQ("new\n", stamps.strip("2023-05-01T12:00:00.000000006Z new\n", true));
  // The other output, at the same moment.
  EXPECT_EQ("new, too\n", stamps.strip("2023-05-01T12:00:00.000000006Z new, too\n", true));
  EXPECT_EQ((LogPosition{.time = kNoon + 6, .count = 2}), stamps.position(true));
  EXPECT_EQ((LogPosition{.time = kNoon + 6, .count = 1}), stamps.position(false));
}

TEST(LogStamps, OfWholeSecondsAreCounted) {
  LogStamps stamps({.time = kNoon, .count = 2});
  EXPECT_EQ("", stamps.strip("2023-05-01T12:00:00Z 1\n", true));
  EXPECT_EQ("", stamps.strip("2023-05-01T12:00:00Z 2\n", true));
  EXPECT_EQ("3\n", stamps.strip("2023-05-01T12:00:00Z 3\n", true));
  EXPECT_EQ((LogPosition{.time = kNoon, .count = 3}), stamps.position(true));
}

TEST(LogPosition, IsKeptAsText) {
  const LogPosition position{.time = kNoon + 5, .count = 7};
  EXPECT_EQ("01682942400000000005 0000000007\n", write_position(position));
  EXPECT_EQ(position, read_position(write_position(position)));
  for (const char* bad : {"", "x", "-1682942400000000005 0000000007", "0168294240000000000x 000000000x"})
    EXPECT_EQ(LogPosition{}, read_position(bad)) << bad;
  EXPECT_EQ("", since_position({}));
  EXPECT_EQ("1682942399.999999005", since_position(position));
}

}  // namespace
}  // namespace drover::docker
