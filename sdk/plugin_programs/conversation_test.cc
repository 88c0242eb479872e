// Calls in which both sides go on speaking, over a socket, over TLS and inside one process; and who is let in over TLS.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "../serve/endpoint.h"
#include "../serve/server.h"
#include "drover/clock.h"
#include "drover/plugin_programs/channel.h"
#include "drover/plugin_programs/resident.h"

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;

constexpr const char* kEcho = "/test.Echo/Say";

SteadyTime soon() { return SystemClock().steady() + 20s; }

// Says back what it hears, then how often it heard something.
serve::Methods methods() {
  serve::Methods methods;
  methods[kEcho] = [](serve::Call& call) {
    std::string message = call.request();
    int count = 0;
    while (true) {
      ++count;
      if (!call.send(message)) return cancelled("gone");
      auto next = call.receive(call.stop());
      if (!next) break;
      message = *std::move(next);
    }
    (void)call.send(std::to_string(count));
    return ok_status();
  };
  methods["/test.Echo/Once"] = [](serve::Call& call) {
    (void)call.send(call.request());
    return ok_status();
  };
  methods["/test.Echo/Deaf"] = [](serve::Call& call) {
    while (!call.stop().stop_requested()) (void)call.receive(call.stop());
    return cancelled("gone");
  };
  return methods;
}

class Folder {
 public:
  Folder() { EXPECT_NE(nullptr, ::mkdtemp(path_.data())); }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string socket() const { return path_ + "/socket"; }

 private:
  std::string path_ = "/tmp/drover-talk-XXXXXX";
};

void expect_echo(Channel& channel) {
  const auto dialogue = channel.talk(kEcho);
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(dialogue->say("word " + std::to_string(i)));
    ASSERT_EQ("word " + std::to_string(i), dialogue->next().value_or("nothing"));
  }
  dialogue->finish();
  EXPECT_EQ("300", dialogue->next().value_or("nothing"));
  EXPECT_FALSE(dialogue->next());
  EXPECT_TRUE(dialogue->status().ok()) << dialogue->status().to_string();
  EXPECT_FALSE(dialogue->say("too late"));
}

TEST(Dialogue, GoesOnOverASocket) {
  const Folder folder;
  const auto server = serve::Server::listen(folder.socket(), methods());
  ASSERT_TRUE(server.ok());

  expect_echo(*connect(folder.socket()));

  (void)(*server)->stop(SystemClock().steady(), soon());
}

TEST(Dialogue, GoesOnInsideTheProcess) { expect_echo(*connect(serve::make_endpoint(methods()))); }

TEST(Dialogue, EndsWhenItsCallerCancels) {
  const Folder folder;
  const auto server = serve::Server::listen(folder.socket(), methods());
  ASSERT_TRUE(server.ok());
  const std::unique_ptr<Channel> channels[] = {connect(folder.socket()), connect(serve::make_endpoint(methods()))};
  for (const auto& channel : channels) {
    const auto dialogue = channel->talk("/test.Echo/Deaf");
    ASSERT_TRUE(dialogue->say("hear me"));

    dialogue->cancel();

    EXPECT_FALSE(dialogue->next());
    EXPECT_EQ(Code::cancelled, dialogue->status().code()) << dialogue->status().to_string();
  }
  (void)(*server)->stop(SystemClock().steady(), soon());
}

// A server that shows `shown` and lets `client` in.
struct TlsServer {
  TlsServer(const TlsIdentity& shown, const TlsIdentity& client)
      : server(serve::Server::listen(folder.socket(), methods(),
                                     serve::ServerTls{.identity = shown, .client = client.cert})) {
    EXPECT_TRUE(server.ok());
  }
  ~TlsServer() { (void)(*server)->stop(SystemClock().steady(), soon()); }
  Status call(const std::string& announced, const TlsIdentity& as) const {
    const auto channel = connect({.socket = folder.socket(), .certificate = announced}, &as);
    return channel->call("/test.Echo/Once", "hello", SystemClock().steady() + 5s).status();
  }
  const Folder folder;
  Result<std::unique_ptr<serve::Server>> server;
};

TEST(AutoMtls, LetsInWhoTheOtherNamedAndNobodyElse) {
  const auto plugin = make_tls_identity(), host = make_tls_identity(), stranger = make_tls_identity();
  ASSERT_TRUE(plugin.ok() && host.ok() && stranger.ok());
  const TlsServer server(*plugin, *host);

  EXPECT_TRUE(server.call(plugin->cert, *host).ok()) << server.call(plugin->cert, *host).to_string();
  expect_echo(*connect({.socket = server.folder.socket(), .certificate = plugin->cert}, &*host));
  EXPECT_EQ(Code::unavailable, server.call(plugin->cert, *stranger).code());
  EXPECT_EQ(Code::unavailable, server.call(stranger->cert, *host).code());
  const auto in_the_clear = connect(server.folder.socket());
  EXPECT_FALSE(in_the_clear->call("/test.Echo/Once", "hello", SystemClock().steady() + 5s).ok());
}

}  // namespace
}  // namespace drover::plugin_programs
