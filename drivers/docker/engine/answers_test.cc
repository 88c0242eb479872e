#include "engine/answers.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/engine.h"

void fuzz_engine_answers(std::string_view text);

namespace drover::docker {
namespace {

// Docker's, shortened.
constexpr const char* kContainer = R"({
  "Id": "97b58fc3", "Name": "/web-5f1c", "Image": "sha256:a48b", "Created": "2026-11-24T09:44:49Z",
  "State": {"Status": "exited", "Running": false, "OOMKilled": true, "Pid": 0, "ExitCode": 137, "Error": "",
            "StartedAt": "2023-05-01T12:00:00.000000005Z", "FinishedAt": "0001-01-01T00:00:00Z"},
  "HostConfig": {"LogConfig": {"Type": "json-file"}},
  "Config": {"Tty": true, "StopSignal": "SIGQUIT", "Labels": {"a": "b", "n": null}},
  "NetworkSettings": {"SandboxKey": "/var/run/docker/netns/1", "Networks": {
    "empty": {"IPAddress": ""}, "mine": {"IPAddress": "172.17.0.2", "GlobalIPv6Address": "fd00::2"}}}})";

TEST(Answers, AboutAContainer) {
  const auto container = read_container(kContainer);
  ASSERT_TRUE(container.ok()) << container.status().to_string();
  EXPECT_EQ("97b58fc3", container->id);
  EXPECT_EQ("web-5f1c", container->name);
  EXPECT_EQ("sha256:a48b", container->image_id);
  EXPECT_FALSE(container->is_running);
  EXPECT_EQ(137, container->exit_code);
  EXPECT_TRUE(container->oom_killed);
  EXPECT_TRUE(container->has_tty);
  EXPECT_EQ(1'682'942'400'000'000'005, container->started_ns);
  EXPECT_EQ(0, container->finished_ns);
  EXPECT_EQ("SIGQUIT", container->stop_signal);
  EXPECT_EQ("json-file", container->log_driver);
  EXPECT_EQ((std::map<std::string, std::string>{{"a", "b"}}), container->labels);
  EXPECT_EQ("172.17.0.2", container->ip);
  EXPECT_EQ("fd00::2", container->ipv6);
  EXPECT_EQ("mine", container->network);
  EXPECT_EQ("/var/run/docker/netns/1", container->sandbox);
}

TEST(Answers, OfPodmanHaveOtherForms) {
  const auto container =
      read_container(R"({"Id": "1", "Config": {"StopSignal": 15}, "State": {"Running": true, "Pid": 7}})");
  ASSERT_TRUE(container.ok());
  EXPECT_EQ("15", container->stop_signal);
  EXPECT_TRUE(container->is_running);
  EXPECT_EQ("", container->sandbox);
  EngineFacts facts;
  ASSERT_TRUE(read_version(R"({"Version": "4.3.1", "Components": [{"Name": "Podman Engine"}]})", facts).ok());
  EXPECT_TRUE(facts.is_podman);
}

TEST(Answers, AboutTheEngine) {
  EngineFacts facts;
  ASSERT_TRUE(
      read_version(R"({"Version": "20.10.24", "Os": "linux", "Components": [{"Name": "Engine"}]})", facts).ok());
  ASSERT_TRUE(read_info(R"({"CgroupVersion": "2", "Runtimes": {"runc": {}, "nvidia": {}}})", facts).ok());
  ASSERT_TRUE(read_bridge(R"({"IPAM": {"Config": [{"Subnet": "x"}, {"Gateway": "172.17.0.1"}]}})", facts).ok());
  EXPECT_EQ("20.10.24", facts.version);
  EXPECT_EQ("linux", facts.os_type);
  EXPECT_EQ(2, facts.cgroup_version);
  EXPECT_EQ((std::vector<std::string>{"nvidia", "runc"}), facts.runtimes);
  EXPECT_EQ("172.17.0.1", facts.bridge_ip);
  EXPECT_FALSE(facts.is_podman);
}

TEST(Answers, AboutAllContainers) {
  const auto all = read_containers(
      R"([{"Id": "1", "Names": ["/a"], "State": "running", "Created": 5, "Labels": {"l": "x"}}, {"Id": "2"}])");
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(2u, all->size());
  EXPECT_EQ("a", (*all)[0].name);
  EXPECT_TRUE((*all)[0].is_running);
  EXPECT_EQ(5, (*all)[0].created_s);
  EXPECT_FALSE((*all)[1].is_running);
}

TEST(Answers, AboutUseInBothFormsOfControlGroups) {
  const auto one = read_sample(R"({"cpu_stats": {"cpu_usage": {"total_usage": 10, "usage_in_usermode": 7,
    "usage_in_kernelmode": 3, "percpu_usage": [5, 5]}, "system_cpu_usage": 100,
    "throttling_data": {"throttled_periods": 2, "throttled_time": 9}},
    "memory_stats": {"usage": 50, "max_usage": 60, "stats": {"rss": 20, "cache": 30, "swap": 1}}})");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(10u, one->cpu_ns);
  EXPECT_EQ(2, one->cores);
  EXPECT_EQ(9u, one->throttled_ns);
  EXPECT_EQ(20u, one->rss);
  EXPECT_EQ(60u, one->max_usage);
  const auto two = read_sample(R"({"memory_stats": {"usage": 50, "stats": {"anon": 21, "file": 31}}})");
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(21u, two->rss);
  EXPECT_EQ(31u, two->cache);
  EXPECT_FALSE(two->max_usage);
}

TEST(Answers, ThatAreNoneAreAnErrorThatSaysWhich) {
  for (const char* bad : {"", "null", "[]", "{", "\"x\"", "{}"}) {
    SCOPED_TRACE(bad);
    EXPECT_EQ(Code::data_loss, read_container(bad).status().code());
  }
  EXPECT_EQ(data_loss("the engine's list of containers cannot be read"), read_containers("{}").status());
  EXPECT_EQ(data_loss("the engine's answer about a new container has no Id"),
            read_text("{\"Id\": 5}", "Id", "a new container").status());
  EXPECT_EQ(data_loss("the engine's answer about a command cannot be read"), read_exec("no").status());
}

TEST(Answers, BadStatusesHaveTheEnginesText) {
  struct Case {
    int status;
    const char* body;
    Status expected;
  };
  const Case cases[] = {
      {404, R"({"message":"No such image: nope:x"})", not_found("No such image: nope:x")},
      {409, R"({"message":"Container x is not running"})", failed_precondition("Container x is not running")},
      {400, R"({"cause":"c","message":"m","response":400})", invalid_argument("m")},
      {500, "page\nof a proxy\n", internal_error("page\\nof a proxy")},
      {501, "", unimplemented("the engine answers with status 501 and no reason")},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.status);
    EXPECT_EQ(c.expected, error_of(c.status, c.body));
  }
}

TEST(Answers, SayWhichVersionBothSpeak) {
  EXPECT_EQ("v1.41", version_for("1.41"));
  EXPECT_EQ("v1.44", version_for("1.52"));
  for (const char* none : {"", "2.0", "1.", "1.x", "1.4.1"}) EXPECT_EQ("", version_for(none));
}

TEST(Answers, MutatedNeverBreakTheReaders) {
  const std::string seeds[] = {kContainer, R"([{"Id": "1", "Names": ["/a"], "Created": 5}])",
                               R"({"status":"Downloading","progressDetail":{"current":1,"total":2},"id":"a"})",
                               std::string("\x01\0\0\0\0\0\0\2ab", 10), R"({"auths":{"q":{"auth":"YTpi"}}})"};
  std::mt19937 random(7);
  for (const std::string& seed : seeds) {
    for (int round = 0; round < 400; ++round) {
      std::string text = seed;
      for (unsigned edits = 0; edits <= random() % 4; ++edits) {
        const size_t at = random() % text.size();
        if (random() % 3 == 0) {
          text.erase(at, random() % 8);
          if (text.empty()) text = "x";
        } else {
          text[at] = static_cast<char>(random());
        }
      }
      fuzz_engine_answers(text);
    }
  }
}

}  // namespace
}  // namespace drover::docker
