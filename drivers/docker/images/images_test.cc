// Names, credentials, progress and uses of images.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "drover/base64.h"
#include "images/credentials.h"
#include "images/helper_program.h"
#include "images/image_keeper.h"
#include "images/image_name.h"
#include "images/pull_progress.h"

namespace drover::docker {
namespace {

using namespace std::chrono_literals;

TEST(ImageName, IsReadAsJobsWriteIt) {
  struct Case {
    const char* text;
    const char* repository;
    const char* tag;
    const char* digest;
    const char* registry;
  };
  const Case cases[] = {
      {"redis", "redis", "latest", "", "https://index.docker.io/v1/"},
      {"redis:3.2", "redis", "3.2", "", "https://index.docker.io/v1/"},
      {"team/app:1", "team/app", "1", "", "https://index.docker.io/v1/"},
      {"docker.io/team/app", "docker.io/team/app", "latest", "", "https://index.docker.io/v1/"},
      {"quay.io/team/app:1", "quay.io/team/app", "1", "", "quay.io"},
      {"localhost:5000/app", "localhost:5000/app", "latest", "", "localhost:5000"},
      {"https://gcr.io/a/b:c", "gcr.io/a/b", "c", "", "gcr.io"},
      {"app@sha256:00ff", "app", "", "sha256:00ff", "https://index.docker.io/v1/"},
      {"r.io/app:1@sha256:00ff", "r.io/app", "1", "sha256:00ff", "r.io"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const auto name = parse_image_name(c.text);
    ASSERT_TRUE(name.ok()) << name.status().to_string();
    EXPECT_EQ(c.repository, name->repository);
    EXPECT_EQ(c.tag, name->tag);
    EXPECT_EQ(c.digest, name->digest);
    EXPECT_EQ(c.registry, name->registry());
  }
}

TEST(ImageName, ThatIsNoneIsRefused) {
  EXPECT_EQ(invalid_argument("image name required for docker driver"), parse_image_name("").status());
  for (const char* bad :
       {"https://", "a b", "a?x", "a#x", "a%2f", "/a", "a/", "a//b", "a:", ":t", "a@x", "../json", "a\nb"})
    EXPECT_EQ(Code::invalid_argument, parse_image_name(bad).status().code()) << bad;
}

TEST(ImageName, IsAPartOfATarget) {
  EXPECT_EQ("quay.io/team/app%3A1", parse_image_name("quay.io/team/app:1")->encoded());
  EXPECT_EQ("app%40sha256%3A00", parse_image_name("app@sha256:00")->encoded());
}

TEST(Credentials, OfAFile) {
  const std::string file = R"({"auths": {"quay.io": {"auth": ")" + base64_encode("me:pass:word") + R"("},
    "https://old.io/v1/": {"username": "u", "password": "p"}, "tok.io": {"identitytoken": "t"}, "empty.io": {}},
    "credHelpers": {"helped.io": "one"}, "credsStore": "store"})";
  const auto quay = look_up(file, "quay.io");
  ASSERT_TRUE(quay.ok() && quay->credentials);
  EXPECT_EQ("me", quay->credentials->username);
  EXPECT_EQ("pass:word", quay->credentials->password);
  EXPECT_EQ("u", look_up(file, "old.io")->credentials->username);
  EXPECT_EQ("t", look_up(file, "tok.io")->credentials->identity_token);
  EXPECT_EQ("one", look_up(file, "helped.io")->helper);
  EXPECT_EQ("store", look_up(file, "empty.io")->helper);
  EXPECT_EQ("store", look_up(file, "else.io")->helper);
  EXPECT_EQ(Code::invalid_argument, look_up("no", "quay.io").status().code());
}

TEST(Credentials, BecomeAHeader) {
  const std::string header = registry_auth({.username = "u", .password = "?a?>>>", .email = "", .server_address = "q"});
  EXPECT_EQ(std::string::npos, header.find_first_of("+/"));
  std::string standard = header;
  for (char& c : standard) c = c == '-' ? '+' : c == '_' ? '/' : c;
  EXPECT_EQ(R"({"email":"","password":"?a?>>>","serveraddress":"q","username":"u"})", *base64_decode(standard));
}

TEST(Credentials, OfATokenAreNoPassword) {
  const auto token = read_helper_answer(R"({"Username": "<token>", "Secret": "s"})", "r");
  ASSERT_TRUE(token.ok());
  EXPECT_EQ("s", token->identity_token);
  EXPECT_EQ("", token->password);
  EXPECT_EQ(Code::invalid_argument, read_helper_answer("{}", "r").status().code());
}

TEST(Credentials, AreAskedForInOrder) {
  char name[] = "/tmp/drover-credentials-XXXXXX";
  const std::string folder = ::mkdtemp(name);
  const std::string path = std::getenv("PATH");
  const auto program = [&](const std::string& helper, const std::string& script) {
    const std::string at = folder + "/docker-credential-" + helper;
    std::ofstream(at) << "#!/bin/sh\n" << script;
    ::chmod(at.c_str(), 0755);
  };
  program("good", "read registry; echo \"{\\\"Username\\\": \\\"$1\\\", \\\"Secret\\\": \\\"$registry\\\"}\"\n");
  program("bad", "echo a secret; exit 3\n");
  ::setenv("PATH", (folder + ":" + path).c_str(), 1);
  std::ofstream(folder + "/config.json") << R"({"auths": {"quay.io": {"username": "file", "password": "p"}}})";

  const ImageName image = *parse_image_name("quay.io/a"), other = *parse_image_name("r.io/a");
  PluginOptions plugin;
  ContainerOptions options;
  EXPECT_FALSE(*find_credentials(image, options, plugin, {}));
  plugin.auth_helper = "good";
  plugin.auth_config = folder + "/config.json";
  EXPECT_EQ("file", (**find_credentials(image, options, plugin, {})).username);
  const auto helped = find_credentials(other, options, plugin, {});
  ASSERT_TRUE(helped.ok() && *helped);
  EXPECT_EQ("get", (*helped)->username);
  EXPECT_EQ("r.io", (*helped)->password);
  options.auth = AuthOption{.username = "task", .password = "p"};
  EXPECT_EQ("task", (**find_credentials(image, options, plugin, {})).username);
  options.auth.reset();
  plugin.auth_helper = "bad";
  const Status failed = find_credentials(other, options, plugin, {}).status();
  EXPECT_EQ("Failed to find docker auth for repo \"r.io/a\": docker-credential-bad failed, with exit code 3",
            failed.message());
  plugin.auth_helper = "../x";
  EXPECT_EQ(Code::invalid_argument, find_credentials(other, options, plugin, {}).status().code());
  ::setenv("PATH", path.c_str(), 1);
  std::filesystem::remove_all(folder);
}

TEST(PullProgress, CountsLayersAndBytes) {
  PullProgress progress;
  const SteadyTime begun{};
  ASSERT_TRUE(
      progress
          .feed("{\"status\":\"Pulling from x\",\"id\":\"t\"}\r\n{\"status\":\"Pulling fs layer\",\"id\":\"a\"}\n",
                begun)
          .ok());
  ASSERT_TRUE(
      progress.feed("{\"status\":\"Waiting\",\"id\":\"b\"}\n{\"status\":\"Downloading\",\"id\":\"a\",", begun).ok());
  ASSERT_TRUE(progress.feed("\"progressDetail\":{\"current\":1048576,\"total\":4194304}}\n", begun + 5s).ok());
  EXPECT_EQ("Pulled 0/2 (1.0MiB/4.0MiB) layers: 1 waiting/1 pulling - est 30.0s remaining", progress.text(begun + 10s));
  EXPECT_EQ("1.0MiB of 4.0MiB", progress.amount());
  EXPECT_EQ(begun + 5s, progress.last_progress());
  // The same again is no progress.
  ASSERT_TRUE(progress
                  .feed("{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":{\"current\":1048576,\"total\":"
                        "4194304}}\n",
                        begun + 50s)
                  .ok());
  EXPECT_EQ(begun + 5s, progress.last_progress());
  ASSERT_TRUE(progress.feed("{\"status\":\"Pull complete\",\"id\":\"a\"}\n", begun + 60s).ok());
  EXPECT_EQ("Pulled 1/2 (4.0MiB/4.0MiB) layers: 1 waiting/0 pulling", progress.text(begun + 60s));
  EXPECT_TRUE(progress.finish(begun + 60s).ok());
}

TEST(PullProgress, FindsTheErrorInAGoodAnswer) {
  PullProgress progress;
  EXPECT_EQ(Status(Code::unknown, "manifest unknown"), progress.feed("{\"error\":\"manifest unknown\"}\n", {}));
  EXPECT_EQ(Status(Code::unknown, "manifest unknown"), progress.finish({}));
  PullProgress unended;
  ASSERT_TRUE(unended.feed("{\"error\":\"x\"}", {}).ok());
  EXPECT_EQ(Status(Code::unknown, "x"), unended.finish({}));
  PullProgress garbage;
  EXPECT_EQ(Code::data_loss, garbage.feed("<html>\n", {}).code());
  PullProgress endless;
  EXPECT_EQ(Code::data_loss, endless.feed(std::string(2 << 20, 'x'), {}).code());
}

TEST(ImageUses, EndWithTheLastTask) {
  ImageUses uses;
  const SteadyTime t{};
  uses.use("i", "a");
  uses.use("i", "b");
  uses.release("i", "a", t);
  EXPECT_FALSE(uses.oldest_unused());
  uses.release("i", "b", t + 1s);
  EXPECT_EQ(t + 1s, uses.oldest_unused());
  EXPECT_TRUE(uses.unused_since(t).empty());
  uses.use("i", "c");  // cancels it
  EXPECT_FALSE(uses.oldest_unused());
  uses.release("i", "c", t + 5s);
  uses.release("i", "c", t + 9s);  // twice changes nothing
  EXPECT_EQ((std::vector<std::string>{"i"}), uses.unused_since(t + 5s));
  EXPECT_TRUE(uses.unused_since(t + 50s).empty());
}

}  // namespace
}  // namespace drover::docker
