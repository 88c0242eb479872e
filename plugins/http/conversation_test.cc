// Calls in which both sides go on speaking, over real WebSockets.
#include "testing/server_fixture.h"

namespace drover::api {
namespace {

constexpr const char* kUpgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";

class Conversations : public HttpServer {
 protected:
  // The connection after the upgrade.
  std::unique_ptr<Client> talk(const std::string& path = "/v1/test/talk/one") {
    auto client = std::make_unique<Client>(server_ ? server_->address() : start());
    client->send("GET " + path + " HTTP/1.1\r\nHost: test\r\n" + kUpgrade + "\r\n");
    EXPECT_TRUE(client->receive_head().starts_with("HTTP/1.1 101 "));
    return client;
  }
  void say(const std::string& id) {
    thing::ThingReply reply;
    reply.set_id(id);
    StreamReceiver* stream = caller_.stream();
    ASSERT_NE(nullptr, stream);
    EXPECT_TRUE(stream->message(reply.SerializeAsString()));
  }
  static std::string close_frame(int code, const std::string& reason) {
    return "8:" + std::string{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)} + reason;
  }
};

TEST_F(Conversations, GoOnInBothDirectionsAndEndInOrder) {
  const auto client = talk();
  say("hello");
  EXPECT_EQ("1:{\"ID\":\"hello\"}", client->receive_frame());
  ASSERT_TRUE(client->send_frame("{\"ID\": \"and \"}"));
  ASSERT_TRUE(client->send_frame("{}"));  // a sign of life
  ASSERT_TRUE(client->send_frame("{\"ID\": \"you\"}"));
  EXPECT_EQ("and you", caller_.uploaded(7));
  say("bye");

  caller_.end_stream(ok_status());

  EXPECT_EQ("1:{\"ID\":\"bye\"}", client->receive_frame());
  EXPECT_EQ(close_frame(1000, ""), client->receive_frame());
}

TEST_F(Conversations, TellWhyTheyEnd) {
  const struct {
    const char* name;
    Status status;
    int code;
    std::string reason;
  } cases[] = {
      {"the caller's fault", not_found("no such thing"), 1008, "no such thing"},
      {"ours", internal_error("broken"), 1011, "broken"},
      {"too long for a frame", invalid_argument(std::string(300, 'x')), 1008, std::string(120, 'x') + "..."},
      {"just short enough", invalid_argument(std::string(123, 'x')), 1008, std::string(123, 'x')},
      {"a cut character", invalid_argument(std::string(119, 'x') + "\xc3\xa4 and more"), 1008,
       std::string(119, 'x') + "..."},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto client = talk();
    say("first");
    EXPECT_EQ("1:{\"ID\":\"first\"}", client->receive_frame());
    caller_.end_stream(c.status);
    EXPECT_EQ(close_frame(c.code, c.reason), client->receive_frame());
  }
}

TEST_F(Conversations, OneThatCannotBeginIsClosedWithTheReason) {
  EXPECT_EQ(close_frame(1008, "thing not found"), talk("/v1/test/talk/missing")->receive_frame());
}

TEST_F(Conversations, AClientThatGoesCancelsTheCall) {
  auto client = talk();
  ASSERT_NE(nullptr, caller_.stream());

  client->hang_up();

  EXPECT_TRUE(caller_.is_cancelled());
}

TEST_F(Conversations, TheClientIsAskedForSignsOfLife) {
  ServerOptions options;
  options.ping_interval = 1s;
  start(std::move(options));
  const auto client = talk();

  EXPECT_EQ("9:", client->receive_frame());
  EXPECT_EQ("9:", client->receive_frame());
  say("still here");
  EXPECT_EQ("1:{\"ID\":\"still here\"}", client->receive_frame());
}

TEST_F(Conversations, AClientThatGoesWhileTheHandlerTakesNothingCancelsTheCall) {
  ServerOptions options;
  options.ping_interval = 1s;
  start(std::move(options));
  caller_.take_nothing();
  const auto client = talk();
  ASSERT_NE(nullptr, caller_.stream());
  ASSERT_TRUE(client->send_frame("{\"ID\": \"nobody takes this\"}"));

  client->hang_up();

  EXPECT_TRUE(caller_.is_cancelled());
}

TEST_F(Conversations, AFrameThatCannotBeReadEndsThem) {
  const auto client = talk();
  ASSERT_NE(nullptr, caller_.stream());
  ASSERT_TRUE(client->send_frame("{\"ID\": 1"));
  EXPECT_TRUE(caller_.is_cancelled());

  caller_.end_stream(cancelled("the caller has gone"));

  const std::string end = client->receive_frame();
  EXPECT_EQ(close_frame(1008, ""), end.substr(0, 4)) << end;
  EXPECT_GT(end.size(), 10u);
}

TEST_F(Conversations, TheFirstFrameMayCarryTheToken) {
  const auto wrong = talk("/v1/test/talk/one?ws_handshake=true");
  ASSERT_TRUE(wrong->send_frame("{\"version\": 2}"));
  EXPECT_EQ(close_frame(1008, "the first frame must be {\"version\": 1, \"auth_token\": \"…\"}"),
            wrong->receive_frame());

  const auto right = talk("/v1/test/talk/one?ws_handshake=true");
  ASSERT_TRUE(right->send_frame("{\"version\": 1, \"auth_token\": \"secret\"}"));
  say("welcome");
  EXPECT_EQ("1:{\"ID\":\"welcome\"}", right->receive_frame());
  EXPECT_EQ("", caller_.uploaded(0));
}

TEST_F(Conversations, TheTokenOfTheFirstFrameIsHeldAgainstTheLimits) {
  Client guesser(start());
  for (int i = 0; i < 300; ++i)
    ASSERT_EQ(guesser.get("/v1/test/thing/denied", "X-Nomad-Token: guess\r\n").status(), 403) << i;

  // Attempts come back with time: it may take some more to use them up.
  std::string end;
  for (int i = 0; i < 200 && !end.starts_with(close_frame(1008, "too many attempts")); ++i) {
    Client(server_->address()).get("/v1/test/thing/denied", "X-Nomad-Token: guess\r\n");
    const auto client = talk("/v1/test/talk/missing?ws_handshake=true");
    ASSERT_TRUE(client->send_frame("{\"version\": 1, \"auth_token\": \"guess\"}"));
    end = client->receive_frame();
  }
  EXPECT_EQ(close_frame(1008, "too many attempts from this address; wait for some seconds"), end);
  const auto silent = talk("/v1/test/talk/missing?ws_handshake=true");
  ASSERT_TRUE(silent->send_frame("{\"version\": 1}"));
  EXPECT_EQ(close_frame(1008, "thing not found"), silent->receive_frame()) << "without a token nothing is guessed";
}

TEST_F(Conversations, OnlyWhoHasSaidTheTokenMayBeSilent) {
  ServerOptions options;
  options.read_timeout = 1s;
  start(std::move(options));
  const auto known = talk("/v1/test/talk/one?ws_handshake=true");
  ASSERT_TRUE(known->send_frame("{\"version\": 1, \"auth_token\": \"secret\"}"));
  ASSERT_NE(nullptr, caller_.stream());
  const auto unknown = talk("/v1/test/talk/one?ws_handshake=true");

  EXPECT_EQ("", unknown->receive_all());

  say("still here");
  EXPECT_EQ("1:{\"ID\":\"still here\"}", known->receive_frame());
}

TEST_F(Conversations, WithoutAnUpgradeNothingIsCalled) {
  Client client(start());

  const Received answer = client.get("/v1/test/talk/one");

  EXPECT_EQ(400, answer.status());
  EXPECT_EQ("this is a conversation over a WebSocket: ask for an upgrade to it", answer.body);
}

TEST_F(Conversations, APageOfAnotherOriginIsRefused) {
  start();
  const struct {
    const char* origin;
    int status;
  } cases[] = {{"http://test", 101},
               {"https://TEST", 101},
               {"http://evil.example", 403},
               {"http://test.evil", 403},
               {"null", 403}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.origin);
    Client client(server_->address());
    client.send(std::string("GET /v1/test/talk/one HTTP/1.1\r\nHost: test\r\nOrigin: ") + c.origin + "\r\n" + kUpgrade +
                "\r\n");
    EXPECT_TRUE(client.receive_head().starts_with("HTTP/1.1 " + std::to_string(c.status))) << c.status;
    if (c.status == 101) {
      ASSERT_NE(nullptr, caller_.stream());
      caller_.end_stream(ok_status());
    }
  }
}

TEST_F(Conversations, EndWithTheServer) {
  const auto client = talk();
  ASSERT_NE(nullptr, caller_.stream());
  std::thread handler([this] {
    EXPECT_TRUE(caller_.is_cancelled());
    caller_.end_stream(cancelled("the caller has gone"));
  });

  server_->stop();

  handler.join();
  EXPECT_NE("open", client->receive_all());
}

}  // namespace
}  // namespace drover::api
