// What the kinds of plugins have in common, and the small rules of each.
#include <gtest/gtest.h>

#include <array>

#include "drover/auth_method.h"
#include "drover/check_provider.h"
#include "drover/plugin_kind.h"

#include "drover/v1/check_provider.pb.h"
#include "nomad/plugins/base.pb.h"

namespace drover {
namespace {

TEST(PluginKind, IsFoundByEachOfItsNames) {
  ASSERT_EQ(5u, plugin_kinds().size());
  for (const PluginKind& kind : plugin_kinds()) {
    EXPECT_EQ(&kind, kind_of_type(kind.type));
    EXPECT_EQ(&kind, kind_of_point(kind.point));
    EXPECT_EQ(&kind, kind_of_word(kind.word));
  }
  EXPECT_EQ(nullptr, kind_of_type(hashicorp::nomad::plugins::base::proto::UNKNOWN));
  EXPECT_EQ(nullptr, kind_of_point("module"));
  EXPECT_EQ("a task driver, a device plugin, a check provider, a service provider or an auth method",
            plugin_kinds_text());
}

TEST(CheckOutput, StaysAsItIsUpToItsLimit) {
  EXPECT_EQ("", check::cut_output(""));
  EXPECT_EQ("grün", check::cut_output("grün"));
  const std::string longest(kMaxCheckOutput, 'x');
  EXPECT_EQ(longest, check::cut_output(longest));
}

TEST(CheckOutput, IsCutBetweenCharactersAndMarked) {
  std::string text;
  while (text.size() <= kMaxCheckOutput) text += "ü";
  const std::string cut = check::cut_output(text);
  EXPECT_LE(cut.size(), kMaxCheckOutput);
  EXPECT_GT(cut.size(), kMaxCheckOutput - 20);
  EXPECT_TRUE(cut.ends_with("ü … (cut)")) << cut.substr(cut.size() - 20);
}

TEST(CheckOutput, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(
      "a\xef\xbf\xbd"
      "b",
      check::cut_output("a\xff"
                        "b"));
  EXPECT_EQ("\xef\xbf\xbd\xef\xbf\xbd", check::cut_output("\xc0\xaf")) << "overlong";
  EXPECT_EQ("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", check::cut_output("\xed\xa0\x80")) << "a surrogate";
  EXPECT_EQ("\xef\xbf\xbd", check::cut_output("\xc3")) << "the first half of a character";
  EXPECT_LE(check::cut_output(std::string(10'000, '\xff')).size(), kMaxCheckOutput);
}

TEST(CheckTypes, HaveNamesThatJobsCanWrite) {
  for (const char* name : {"http", "file_age", "grpc-v1", "a"}) EXPECT_TRUE(check::is_type_name(name)) << name;
  for (const char* name : {"", "Http", "1st", "_a", "a b", "ü"}) EXPECT_FALSE(check::is_type_name(name)) << name;
  EXPECT_FALSE(check::is_type_name(std::string(65, 'a')));
}

TEST(AuthSecrets, AreTakenOutOfTheTextOfAnError) {
  const auto without = [](const Status& status, std::string_view one, std::string_view other = {}) {
    return auth::without_secrets(status, std::array{one, other});
  };
  EXPECT_EQ(auth::refused("who is [secret]?"), without(auth::refused("who is ada:lovelace?"), "ada:lovelace"));
  EXPECT_EQ(auth::refused("[secret] and [secret]"), without(auth::refused("abcdefg and abcd"), "abcd", "abcdefg"))
      << "the longer one first";
  EXPECT_EQ(auth::refused("a is no name"), without(auth::refused("a is no name"), "a")) << "too short to be one";
  EXPECT_TRUE(without(ok_status(), "lovelace").ok());
  EXPECT_EQ(auth::refused("ada is not [secret]"), without(auth::refused("ada is not lovelace"), "ada:lovelace"))
      << "the password of a name, too";
  EXPECT_EQ(auth::refused("[secret], [secret] or [secret]"),
            without(auth::refused("love:lace, love or lace"), "ada:love:lace"));
  EXPECT_EQ(auth::refused("who is lovelace?"), without(auth::refused("who is lovelace?"), "lovelace:lovelace"))
      << "the name may be said";
}

}  // namespace
}  // namespace drover
