#include "csi/protocol/client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <functional>
#include <thread>

#include "csi/protocol/method_path.h"
#include "csi/protocol/redact.h"
#include "drover/base64.h"
#include "drover/clock.h"
#include "drover/fd.h"
#include "drover/pause.h"
#include "drover/plugin_programs/channel.h"
#include "gtest/gtest.h"

namespace drover::csi {
namespace {

using namespace std::chrono_literals;
using plugin_programs::Channel;
using plugin_programs::Dialogue;
using plugin_programs::Messages;

constexpr CallLimits kFast{.each_try = 10s, .tries = 3, .first_pause = 1ms};

struct Heard {
  std::string method, request;
  SteadyTime deadline;
};
using Answer = std::function<Result<std::string>(const Heard&, const std::stop_token&)>;

// A plugin that answers by a list, and then says that it was asked too often.
struct Script {
  std::deque<Answer> answers;
  std::vector<Heard> heard{};
};

class ScriptedChannel final : public Channel {
 public:
  explicit ScriptedChannel(Script& script) : script_(script) {}
  Result<std::string> call(const std::string& method, std::string request, std::optional<SteadyTime> deadline,
                           std::stop_token stop) override {
    script_.heard.push_back({method, std::move(request), deadline.value_or(SteadyTime::max())});
    if (script_.heard.size() > script_.answers.size()) return internal_error("asked too often");
    return script_.answers[script_.heard.size() - 1](script_.heard.back(), stop);
  }
  std::shared_ptr<Messages> open(const std::string&, std::string, Messages::Keep) override { return nullptr; }
  std::shared_ptr<Dialogue> talk(const std::string&) override { return nullptr; }

 private:
  Script& script_;
};

Answer fails(Code code, std::string text = "no") {
  return [=](const Heard&, const std::stop_token&) -> Result<std::string> { return Status(code, text); };
}
Answer says(std::string bytes) {
  return [=](const Heard&, const std::stop_token&) -> Result<std::string> { return bytes; };
}
// Takes all the time of the try.
Answer is_late() {
  return [](const Heard& heard, const std::stop_token& stop) -> Result<std::string> {
    return pause_until(heard.deadline, stop) ? deadline_exceeded("late") : cancelled("gone");
  };
}

std::string named(const std::string& name) {
  v1::GetPluginInfoResponse response;
  response.set_name(name);
  return response.SerializeAsString();
}

Result<v1::GetPluginInfoResponse> ask(Script& script, const CallLimits& limits = kFast, std::stop_token stop = {}) {
  Client client(std::make_unique<ScriptedChannel>(script));
  return client.call<v1::GetPluginInfoResponse>(v1::GetPluginInfoRequest(), limits, stop);
}

TEST(CsiClient, FindsTheMethodByTheRequest) {
  EXPECT_EQ(method_path(*v1::GetPluginInfoRequest::descriptor()), "/csi.v1.Identity/GetPluginInfo");
  EXPECT_EQ(method_path(*v1::ControllerGetVolumeRequest::descriptor()), "/csi.v1.Controller/ControllerGetVolume");
  EXPECT_EQ(method_path(*v1::NodeStageVolumeRequest::descriptor()), "/csi.v1.Node/NodeStageVolume");
  EXPECT_EQ(method_path(*v1::CreateVolumeGroupSnapshotRequest::descriptor()),
            "/csi.v1.GroupController/CreateVolumeGroupSnapshot");
}

TEST(CsiClient, CallsAndReadsTheAnswer) {
  Script script{.answers = {says(named("a.b"))}};
  const SteadyTime before = SystemClock().steady();

  const auto answer = ask(script);

  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer->name(), "a.b");
  ASSERT_EQ(script.heard.size(), 1u);
  EXPECT_EQ(script.heard[0].method, "/csi.v1.Identity/GetPluginInfo");
  EXPECT_GE(script.heard[0].deadline, before + kFast.each_try);
}

TEST(CsiClient, RepeatsWhatMayHaveHappenedOrNot) {
  struct Case {
    const char* name;
    std::deque<Answer> answers;
    size_t calls;
    Code code;
  };
  const Case cases[] = {
      {"gone once", {fails(Code::unavailable), says(named("a"))}, 2, Code::ok},
      {"gone twice", {fails(Code::unavailable), fails(Code::unavailable), says(named("a"))}, 3, Code::ok},
      {"gone for good",
       {fails(Code::unavailable), fails(Code::unavailable), fails(Code::unavailable)},
       3,
       Code::unavailable},
      {"exhausted once", {fails(Code::resource_exhausted), says(named("a"))}, 2, Code::ok},
      {"a plugin that says so itself", {fails(Code::deadline_exceeded), says(named("a"))}, 2, Code::ok},
      {"another call is pending", {fails(Code::aborted)}, 1, Code::aborted},
      {"not there", {fails(Code::not_found)}, 1, Code::not_found},
      {"no such method", {fails(Code::unimplemented)}, 1, Code::unimplemented},
      {"first gone, then refused",
       {fails(Code::unavailable), fails(Code::invalid_argument)},
       2,
       Code::invalid_argument},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Script script{.answers = c.answers};
    EXPECT_EQ(ask(script).status().code(), c.code);
    EXPECT_EQ(script.heard.size(), c.calls);
  }
}

TEST(CsiClient, ALateAnswerIsAskedForAgain) {
  Script script{.answers = {is_late(), says(named("a"))}};
  EXPECT_TRUE(ask(script, {.each_try = 5ms, .tries = 2, .first_pause = 1ms}).ok());
  EXPECT_EQ(script.heard.size(), 2u);

  Script late{.answers = {is_late(), is_late()}};
  const Status status = ask(late, {.each_try = 5ms, .tries = 2, .first_pause = 1ms}).status();
  EXPECT_EQ(status, deadline_exceeded("GetPluginInfo: late"));
}

TEST(CsiClient, GarbageIsNoAnswer) {
  Script script{.answers = {says("\xff\xff\xff")}};
  EXPECT_EQ(ask(script).status(), internal_error("GetPluginInfo: the plugin's answer is not a message"));
}

TEST(CsiClient, EndsWhenItIsNoLongerWanted) {
  std::stop_source stop;
  Script script{.answers = {[&](const Heard&, const std::stop_token& token) -> Result<std::string> {
                  stop.request_stop();
                  wait_for_stop(token);
                  return unavailable("cut");
                }}};
  EXPECT_EQ(ask(script, kFast, stop.get_token()).status().code(), Code::cancelled);
  EXPECT_EQ(script.heard.size(), 1u);

  Script unasked;
  EXPECT_EQ(ask(unasked, kFast, stop.get_token()).status().code(), Code::cancelled);
  EXPECT_TRUE(unasked.heard.empty());
}

TEST(CsiClient, AStopEndsThePauseBeforeTheNextTry) {
  std::stop_source stop;
  std::thread stopper;
  Script script{.answers = {[&](const Heard&, const std::stop_token&) -> Result<std::string> {
                  stopper = std::thread([&] { stop.request_stop(); });
                  return unavailable("gone");
                }}};
  EXPECT_EQ(ask(script, {.each_try = 10s, .tries = 3, .first_pause = 1h}, stop.get_token()).status().code(),
            Code::cancelled);
  stopper.join();
  EXPECT_EQ(script.heard.size(), 1u);
}

TEST(CsiClient, ErrorsDoNotTellSecrets) {
  const std::string key = "t0p \"secret\"";
  Script script{
      .answers = {fails(Code::unauthenticated, "password " + key + " (" + base64_encode(key) + ") is wrong")}};
  Client client(std::make_unique<ScriptedChannel>(script));
  v1::CreateVolumeRequest request;
  (*request.mutable_secrets())["password"] = key;

  const Status status = client.call<v1::CreateVolumeResponse>(request, kFast).status();

  EXPECT_EQ(status, Status(Code::unauthenticated, "CreateVolume: password [REDACTED] ([REDACTED]) is wrong"));
}

TEST(CsiClient, TextsWithoutSecrets) {
  v1::NodePublishVolumeRequest request;
  (*request.mutable_secrets())["user"] = "anna";
  (*request.mutable_secrets())["password"] = "anna-and-more";
  (*request.mutable_secrets())["empty"] = "";
  (*request.mutable_secrets())["lines"] = "a\nb";
  (*request.mutable_volume_context())["user"] = "bert";
  struct Case {
    const char* name;
    const char* text;
    const char* expected;
  };
  const Case cases[] = {
      {"none", "no such volume", "no such volume"},
      {"the longer one first", "anna-and-more anna", "[REDACTED] [REDACTED]"},
      {"twice side by side", "annaanna", "[REDACTED][REDACTED]"},
      {"names and contexts stay", "user password bert", "user password bert"},
      {"several lines", "key a\nb", "key [REDACTED]"},
      {"several lines, escaped", "key a\\nb", "key [REDACTED]"},
      {"for a terminal", "a\x1b[31mb", "a\\u001b[31mb"},
      {"nothing", "", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(without_secrets(c.text, request), c.expected);
  }
  EXPECT_EQ(without_secrets("anna", v1::ProbeRequest()), "anna");
}

v1::NodeStageVolumeRequest with_secret(const std::string& value) {
  v1::NodeStageVolumeRequest request;
  (*request.mutable_secrets())["key"] = value;
  return request;
}

TEST(KnownSecrets, AreTakenOutOfWhatComesLater) {
  KnownSecrets known;
  EXPECT_EQ(known.without("nothing is known"), "nothing is known");
  known.add("from-env");
  known.add_of(with_secret("pass\nword"));
  known.add_of(with_secret("abc"));
  known.add_of(v1::ProbeRequest());
  EXPECT_EQ(known.without("from-env, pass and word"), "[REDACTED], [REDACTED] and [REDACTED]");
  EXPECT_EQ(known.without("as " + base64_encode("pass\nword")), "as [REDACTED]");
  EXPECT_EQ(known.without("whole pass\nword"), "whole [REDACTED]");
  EXPECT_EQ(known.without("abcdef"), "abcdef") << "too short to be looked for in every word";
}

TEST(KnownSecrets, TheOldestOfRequestsAreForgotten) {
  KnownSecrets known;
  known.add("for-good");
  known.add_of(with_secret("used-often"));
  for (int i = 0; i < 1000; ++i) {
    known.add_of(with_secret("secret-" + std::to_string(i) + "."));
    known.add_of(with_secret("used-often"));
  }
  EXPECT_EQ(known.without("for-good used-often secret-999. secret-0."), "[REDACTED] [REDACTED] [REDACTED] secret-0.");
}

TEST(CsiClient, TellsTheSecretsThatGoToThePlugin) {
  Script script{.answers = {fails(Code::internal)}};
  const auto told = std::make_shared<KnownSecrets>();
  Client client(std::make_unique<ScriptedChannel>(script), told);
  EXPECT_FALSE(client.call<v1::NodeStageVolumeResponse>(with_secret("hush"), kFast).ok());
  EXPECT_EQ(told->without("hush"), "[REDACTED]");
}

// A socket in a folder that is gone with the test.
class Listener {
 public:
  Listener() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket_.get(), 1), 0);
  }
  ~Listener() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/csi.sock"; }
  // All that one caller sends until `end` is in it.
  std::string hear(std::string_view end) {
    const Fd caller(::accept(socket_.get(), nullptr, nullptr));
    constexpr std::string_view kSettings("\0\0\0\4\0\0\0\0\0", 9);  // HTTP/2: without it the caller says nothing
    EXPECT_EQ(::send(caller.get(), kSettings.data(), kSettings.size(), MSG_NOSIGNAL), 9);
    std::string heard;
    std::array<char, 4096> piece{};
    for (ssize_t got; heard.find(end) == heard.npos && (got = ::read(caller.get(), piece.data(), piece.size())) > 0;)
      heard.append(piece.data(), static_cast<size_t>(got));
    return heard;
  }

 private:
  std::string folder_ = "/tmp/drover-csi-XXXXXX";
  Fd socket_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

// Servers in some languages refuse a path there.
TEST(CsiClient, NamesLocalhostAsTheAuthority) {
  Listener listener;
  std::string heard;
  std::thread plugin([&] { heard = listener.hear("/csi.v1.Identity/Probe"); });

  Client client(listener.path());
  EXPECT_FALSE(client.call<v1::ProbeResponse>(v1::ProbeRequest(), {.each_try = 20s, .tries = 1}).ok());
  plugin.join();

  EXPECT_NE(heard.find("localhost"), heard.npos);
  EXPECT_EQ(heard.find("csi.sock"), heard.npos);
}

TEST(CsiClient, APluginThatIsNotThereIsUnavailable) {
  Client client("/tmp/drover-there-is-no-such-socket/csi.sock");
  EXPECT_EQ(client.call<v1::ProbeResponse>(v1::ProbeRequest(), {.each_try = 20s, .tries = 2, .first_pause = 1ms})
                .status()
                .code(),
            Code::unavailable);
}

}  // namespace
}  // namespace drover::csi
