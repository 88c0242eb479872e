#include "cpu/profile_message.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "pprof.pb.h"

namespace drover::status {
namespace {

pprof::Profile decoded(const std::string& bytes) {
  google::protobuf::io::ArrayInputStream text(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::GzipInputStream gzip(&text, google::protobuf::io::GzipInputStream::GZIP);
  pprof::Profile profile;
  EXPECT_TRUE(profile.ParseFromZeroCopyStream(&gzip));
  return profile;
}

// Everything in one text: "samples count 5000/30 home.cc:main …"
std::string shown(const pprof::Profile& profile) {
  std::string text;
  for (const pprof::ValueType& type : profile.sample_type())
    text += profile.string_table(static_cast<int>(type.type())) + "/" +
            profile.string_table(static_cast<int>(type.unit())) + " ";
  for (const pprof::Sample& sample : profile.sample()) {
    text += "\n";
    for (const int64_t value : sample.value()) text += std::to_string(value) + " ";
    for (const uint64_t id : sample.location_id()) {
      const pprof::Location& location = profile.location(static_cast<int>(id) - 1);
      EXPECT_EQ(location.id(), id);
      text += std::to_string(location.address());
      if (location.mapping_id() > 0) {
        const pprof::Mapping& mapping = profile.mapping(static_cast<int>(location.mapping_id()) - 1);
        text += "@" + profile.string_table(static_cast<int>(mapping.filename()));
      }
      for (const pprof::Line& line : location.line()) {
        const pprof::Function& function = profile.function(static_cast<int>(line.function_id()) - 1);
        text += ":" + profile.string_table(static_cast<int>(function.name()));
      }
      text += " ";
    }
  }
  return text;
}

TEST(ProfileMessage, SaysWhatWasMetHowOften) {
  const CpuSamples samples{
      .stacks = {{{0x1010, 0x2010}, 3}, {{0x1010, 0x2020, 0x9999}, 2}}, .lost = 4, .duration = std::chrono::seconds(2)};
  const std::vector<CodeMapping> mappings = {{0x1000, 0x2000, 0, "/bin/a"}, {0x2000, 0x3000, 0x500, "/lib/b.so"}};
  const auto name_of = [](uint64_t address) -> std::optional<FunctionName> {
    if (address < 0x2000) return FunctionName{"work()", "_Z4workv"};
    if (address < 0x3000) return FunctionName{"main", "main"};
    return std::nullopt;
  };
  const pprof::Profile profile = decoded(profile_message(samples, mappings, 17, name_of));
  EXPECT_EQ(shown(profile),
            "samples/count cpu/nanoseconds "
            "\n3 30000000 4112@/bin/a:work() 8208@/lib/b.so:main "
            "\n2 20000000 4112@/bin/a:work() 8224@/lib/b.so:main 39321 ");
  EXPECT_EQ(profile.string_table(0), "");
  EXPECT_EQ(profile.function_size(), 2);
  EXPECT_EQ(profile.mapping(1).file_offset(), 0x500U);
  EXPECT_EQ(profile.time_nanos(), 17);
  EXPECT_EQ(profile.duration_nanos(), 2'000'000'000);
  EXPECT_EQ(profile.period(), 10'000'000);
  ASSERT_EQ(profile.comment_size(), 1);
  EXPECT_EQ(profile.string_table(static_cast<int>(profile.comment(0))), "4 samples were lost");
}

TEST(ProfileMessage, ReadsWhereCodeIs) {
  const char* maps =
      "55d0a000-55d0b000 r--p 00000000 fe:00 123                        /usr/bin/dro ver\n"
      "55d0b000-55d0d000 r-xp 00001000 fe:00 123                        /usr/bin/dro ver\n"
      "7f000000-7f001000 rwxp 00000000 00:00 0 \n"
      "7fff0000-7fff2000 r-xp 00000000 00:00 0                          [vdso]\n"
      "nonsense\n"
      "zz-7fff2000 r-xp 00000000 00:00 0  /lib/x\n";
  EXPECT_EQ(code_mappings(maps),
            (std::vector<CodeMapping>{{0x55d0b000, 0x55d0d000, 0x1000, "/usr/bin/dro ver"},
                                      {0x7fff0000, 0x7fff2000, 0, "[vdso]"}}));
  EXPECT_TRUE(code_mappings("").empty());
}

TEST(ProfileMessage, TakesATimeThatIsBounded) {
  EXPECT_EQ(*profile_time(0), std::chrono::seconds(1));
  EXPECT_EQ(*profile_time(300), std::chrono::seconds(300));
  EXPECT_EQ(profile_time(301).status(), invalid_argument("seconds must be at most 300, not 301"));
  EXPECT_EQ(profile_time(-1).status().code(), Code::invalid_argument);
}

TEST(ProfileMessage, NamesFunctionsThatLibrariesShow) {
  const auto name = exported_function(reinterpret_cast<uint64_t>(&std::qsort));
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->name, "qsort");
  EXPECT_EQ(exported_function(1), std::nullopt);
}

}  // namespace
}  // namespace drover::status
