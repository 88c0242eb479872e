#include "options.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace drover::csi_kit {
namespace {

using Words = std::vector<std::string>;

Result<Settings> parsed(const Words& words) { return parse_options(words); }

TEST(Options, AreReadInBothForms) {
  const auto settings =
      parsed({"-param", "type=fast", "--param=size=1", "-access-mode=multi-node-multi-writer", "-attachment-mode",
              "block-device", "-capacity", "1GiB", "-timeout", "5s", "-json", "/bin/true", "--", "-json", "--x"});
  ASSERT_TRUE(settings.ok()) << settings.status().to_string();
  EXPECT_EQ(settings->program, "/bin/true");
  EXPECT_EQ(settings->arguments, (Words{"-json", "--x"}));
  EXPECT_EQ(settings->parameters, (TextMap{{"type", "fast"}, {"size", "1"}}));
  EXPECT_EQ(settings->access_mode, "multi-node-multi-writer");
  EXPECT_TRUE(settings->is_block());
  EXPECT_EQ(settings->capacity, int64_t{1} << 30);
  EXPECT_EQ(settings->limit, std::chrono::seconds(5));
  EXPECT_TRUE(settings->is_json);
}

TEST(Options, WhatFollowsTheProgramIsItsOwn) {
  const auto settings = parsed({"/bin/true", "-json", "other"});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->arguments, (Words{"-json", "other"}));
  EXPECT_FALSE(settings->is_json);
}

TEST(Options, AnEndpointIsASocket) {
  EXPECT_EQ(parsed({"-endpoint", "unix:///run/csi.sock"})->socket, "/run/csi.sock");
  EXPECT_EQ(parsed({"-endpoint", "/run/csi.sock"})->socket, "/run/csi.sock");
}

TEST(Options, WhatIsWrongIsSaidWithItsPlace) {
  struct Case {
    Words words;
    const char* error;
  };
  const Case cases[] = {
      {{}, "name the plugin's program, or the socket of one that runs (-endpoint)"},
      {{"-jsom", "/bin/true"}, "unknown option -jsom; did you mean \"json\"?"},
      {{"-json=1", "/bin/true"}, "option -json takes no value"},
      {{"/no/such/plugin"}, "/no/such/plugin: there is no such file"},
      {{"/etc/passwd"}, "/etc/passwd: cannot be executed"},
      {{"-param"}, "option -param needs KEY=VALUE"},
      {{"-param", "a", "/bin/true"}, "option -param: \"a\" is no KEY=VALUE"},
      {{"-param", "a=1", "-param", "a=2", "/bin/true"}, "option -param: \"a\" is given twice"},
      {{"-endpoint", "tcp://x"}, "option -endpoint: is no unix:///PATH"},
      {{"-endpoint", "/run/csi.sock", "/bin/true"}, "option -endpoint: a program is named, too"},
      {{"-access-mode", "any", "/bin/true"}, "option -access-mode: \"any\" is no access mode"},
      {{"-attachment-mode", "any", "/bin/true"}, "option -attachment-mode: \"any\" is no attachment mode"},
      {{"-capacity", "-1", "/bin/true"}, "option -capacity: is no size, as 1GiB"},
      {{"-capacity", "9EiB", "/bin/true"}, "option -capacity: is no size, as 1GiB"},
      {{"-timeout", "1ms", "/bin/true"}, "option -timeout: must be from 100ms to 1h"},
      {{"-context", "a=b", "/bin/true"}, "option -context: is that of -existing-volume, which is missing"},
      {{"-attachment-mode", "block-device", "-fs-type", "ext4", "/bin/true"},
       "option -fs-type: block devices have none"},
      {{"-secrets", "/no/such/file", "/bin/true"}, "option -secrets: /no/such/file: cannot be read"},
  };
  for (const Case& c : cases) {
    const auto settings = parsed(c.words);
    EXPECT_EQ(settings.ok() ? "it is taken" : settings.status().message(), c.error);
  }
}

TEST(Options, SecretsAreReadAndNotSaid) {
  const std::string path = ::testing::TempDir() + "/drover-csi-secrets-" + std::to_string(::getpid());
  std::ofstream(path) << R"({"user": "ada", "password": "lovelace"})";
  EXPECT_EQ(parsed({"-secrets", path, "/bin/true"})->secrets, (TextMap{{"user", "ada"}, {"password", "lovelace"}}));
  for (const char* text : {"lovelace", "[\"lovelace\"]", R"({"password": ["lovelace"]})"}) {
    std::ofstream(path, std::ios::trunc) << text;
    const auto settings = parsed({"-secrets", path, "/bin/true"});
    EXPECT_EQ(settings.status().code(), Code::invalid_argument);
    EXPECT_EQ(settings.status().message().find("lovelace"), std::string::npos) << settings.status().message();
  }
  std::filesystem::remove(path);
}

TEST(Options, HelpNamesEachOption) {
  for (const char* each : {"-endpoint", "-param", "-existing-volume", "-secrets", "-json"})
    EXPECT_NE(help().find(each), std::string::npos) << each;
  EXPECT_TRUE(wants_help(Words{"-x", "--help"}));
  EXPECT_FALSE(wants_help(Words{"/bin/true", "--", "--help"})) << "that is the plugin's";
}

}  // namespace
}  // namespace drover::csi_kit
