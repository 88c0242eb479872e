// The server's answers, limits and times, over real connections.
#include <sys/resource.h>

#include "drover/log.h"
#include "testing/server_fixture.h"

namespace drover::api {
namespace {

constexpr size_t kLarge = 40 << 20;

class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &usual_), 0);
    rlimit none = usual_;
    none.rlim_cur = 3;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoMoreDescriptors() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &usual_), 0); }

 private:
  rlimit usual_{};
};

// Waits until one more connection is served.
bool has_room(const std::string& address) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < give_up) {
    if (Client(address).get("/v1/test/thing/one").status() == 200) return true;
  }
  return false;
}

TEST_F(HttpServer, KeepsAConnectionForTheNextRequest) {
  Client client(start());

  for (const char* id : {"one", "two", "three"}) {
    const Received answer = client.get("/v1/test/thing/" + std::string(id));
    EXPECT_EQ(answer.status(), 200);
    EXPECT_EQ(answer.body, R"({"ID":")" + std::string(id) + R"("})");
    EXPECT_TRUE(answer.has("X-Nomad-Index: 3")) << answer.head;
    EXPECT_TRUE(answer.has("Content-Type: application/json")) << answer.head;
    EXPECT_TRUE(answer.has("Vary: Accept-Encoding")) << answer.head;
  }
}

TEST_F(HttpServer, ClosesAConnectionWhenAsked) {
  Client client(start());
  client.send("GET /v1/test/thing/one HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");

  const std::string all = client.receive_all();

  EXPECT_TRUE(all.starts_with("HTTP/1.1 200 ")) << all;
  EXPECT_TRUE(all.ends_with(R"({"ID":"one"})")) << all;
}

TEST_F(HttpServer, AnswersRequestsThatWereSentTogetherInTheirOrder) {
  Client client(start());
  client.send(
      "GET /v1/test/thing/one HTTP/1.1\r\nHost: test\r\n\r\nGET /v1/test/thing/two HTTP/1.1\r\nHost: test\r\n\r\n");

  EXPECT_EQ(client.receive().body, R"({"ID":"one"})");
  EXPECT_EQ(client.receive().body, R"({"ID":"two"})");
}

TEST_F(HttpServer, AnErrorIsTextAndTheConnectionStays) {
  Client client(start());

  Received answer = client.get("/v1/test/thing/missing");
  EXPECT_EQ(answer.status(), 404);
  EXPECT_EQ(answer.body, "thing not found");
  answer = client.get("/v1/nothing");
  EXPECT_EQ(answer.status(), 404);
  answer = client.get("/v1/test/names?index=x");
  EXPECT_EQ(answer.status(), 400);
  EXPECT_EQ(answer.body, "Invalid index");
  EXPECT_EQ(client.get("/v1/test/thing/one").status(), 200);
}

TEST_F(HttpServer, CompressesForThoseWhoReadIt) {
  Client client(start());

  const Received plain = client.get("/v1/test/thing/big");
  const Received compressed = client.get("/v1/test/thing/big", "Accept-Encoding: gzip\r\n");
  const Received small = client.get("/v1/test/thing/one", "Accept-Encoding: gzip\r\n");

  EXPECT_GT(plain.body.size(), 100000u);
  EXPECT_FALSE(plain.has("Content-Encoding: gzip"));
  EXPECT_TRUE(compressed.has("Content-Encoding: gzip")) << compressed.head;
  EXPECT_LT(compressed.body.size(), 10000u);
  EXPECT_TRUE(compressed.body.starts_with("\x1f\x8b"));
  EXPECT_FALSE(small.has("Content-Encoding: gzip")) << "it would grow";
}

TEST_F(HttpServer, AddsTheConfiguredHeaders) {
  ServerOptions options;
  options.headers = {{"X-House", "mine"}};
  Client client(start(std::move(options)));

  EXPECT_TRUE(client.get("/v1/test/thing/one").has("X-House: mine"));
}

TEST_F(HttpServer, TheRootLeadsToTheUserInterfaceWithItsQuery) {
  Client client(start());
  for (const char* query : {"", "?", "?x=y&z=/"}) {
    const Received answer = client.get("/" + std::string(query));
    EXPECT_EQ(answer.status(), 307) << query;
    EXPECT_TRUE(answer.has("Location: /ui/" + std::string(query))) << answer.head;
  }
}

TEST_F(HttpServer, ATooLargeBodyIsRefusedWhileItIsSent) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  Client client(start(std::move(options)));
  client.send("PUT /v1/test/thing/7 HTTP/1.1\r\nHost: test\r\nContent-Length: 300000\r\n\r\n");
  client.send(std::string(300000, ' '));

  const Received answer = client.receive();

  EXPECT_EQ(answer.status(), 413) << answer.head;
  EXPECT_EQ(answer.body, "the request body is larger than 1000 bytes");
}

TEST_F(HttpServer, ATooLargeChunkedBodyIsRefused) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  Client client(start(std::move(options)));
  client.send("PUT /v1/test/thing/7 HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n");
  client.send("7d0\r\n" + std::string(2000, ' ') + "\r\n0\r\n\r\n");

  EXPECT_EQ(client.receive().status(), 413);
}

TEST_F(HttpServer, TooLargeAHeaderIsRefused) {
  Client client(start());
  client.send("GET /v1/test/thing/7 HTTP/1.1\r\nX-Long: " + std::string(100000, 'x') + "\r\n\r\n");

  EXPECT_EQ(client.receive().status(), 431);
}

TEST_F(HttpServer, ABodyUpToTheLimitIsTaken) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  Client client(start(std::move(options)));
  client.send("PUT /v1/test/thing/7 HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n{" + std::string(998, ' ') +
              "}");

  EXPECT_EQ(client.receive().status(), 200);
}

TEST_F(HttpServer, ASlowClientIsToldSo) {
  for (const char* begun :
       {"GET /v1/te", "PUT /v1/test/thing/7 HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n{"}) {
    ServerOptions options;
    options.read_timeout = 1s;
    Client client(start(std::move(options)));
    client.send(begun);

    const Received answer = client.receive();

    EXPECT_EQ(answer.status(), 408) << begun << answer.head;
    EXPECT_EQ(answer.body, "the request did not arrive in time");
  }
}

TEST_F(HttpServer, ADripFeedDoesNotExtendTheTime) {
  ServerOptions options;
  options.read_timeout = 1s;
  Client client(start(std::move(options)));
  client.send("GET /v1/test/thing/7 HTTP/1.1\r\n");
  std::mutex mutex;
  std::condition_variable_any never;
  std::jthread drip([&](std::stop_token stop) {
    std::unique_lock lock(mutex);
    do {
      if (!client.send("X: y\r\n")) return;
    } while (!never.wait_for(lock, stop, 100ms, [] { return false; }) && !stop.stop_requested());
  });

  EXPECT_EQ(client.receive().status(), 408);
}

TEST_F(HttpServer, AnIdleConnectionIsClosedWithoutAWord) {
  ServerOptions options;
  options.idle_timeout = 1s;
  Client client(start(std::move(options)));
  ASSERT_EQ(client.get("/v1/test/thing/one").status(), 200);

  EXPECT_EQ(client.receive_all(), "");
}

TEST_F(HttpServer, AMalformedRequestIsRefused) {
  const std::string address = start();
  for (const char* text : {"nonsense\r\n\r\n", "GET /v1/test HTTP/9.9\r\n\r\n", "GET /x HTTP/1.1\r\nNo colon\r\n\r\n",
                           "PUT /x HTTP/1.1\r\nContent-Length: many\r\n\r\n", "\x16\x03\x01\x02\x01\r\n\r\n"}) {
    Client client(address);
    client.send(text);

    const Received answer = client.receive();

    EXPECT_EQ(answer.status(), 400) << text << answer.head;
    EXPECT_TRUE(answer.body.starts_with("malformed request: ")) << answer.body;
  }
}

TEST_F(HttpServer, AClientThatGoesAwayCancelsItsCall) {
  Client client(start());
  client.send("GET /v1/test/thing/wait HTTP/1.1\r\nHost: test\r\n\r\n");
  ASSERT_TRUE(caller_.holds_call());

  client.hang_up();

  EXPECT_TRUE(caller_.is_cancelled());
}

TEST_F(HttpServer, ACallMayTakeItsTime) {
  ServerOptions options;
  options.read_timeout = 1s;  // of a request, not of its answer
  Client client(start(std::move(options)));
  client.send("GET /v1/test/thing/wait HTTP/1.1\r\nHost: test\r\n\r\n");
  ASSERT_TRUE(caller_.holds_call());
  thing::ThingReply reply;
  reply.set_id("late");
  Client slow(server_->address());
  slow.send("GET /v1/te");
  ASSERT_EQ(slow.receive().status(), 408) << "the time of a request is over";

  caller_.answer(Reply{reply.SerializeAsString(), {}});

  EXPECT_EQ(client.receive().body, R"({"ID":"late"})");
}

// An answer that no buffer on the way takes whole.
Reply large_reply() {
  thing::ThingReply reply;
  reply.set_id(std::string(kLarge, 'x'));
  return {reply.SerializeAsString(), {}};
}

TEST_F(HttpServer, AnAnswerMayTakeItsTimeWhileTheClientReads) {
  ServerOptions options;
  options.read_timeout = 2s;
  Client client(start(std::move(options)));
  client.send("GET /v1/test/thing/wait HTTP/1.1\r\nHost: test\r\n\r\n");
  ASSERT_TRUE(caller_.holds_call());
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);

  caller_.answer(large_reply());

  for (int i = 0; i < 9; ++i) {
    never.wait_for(lock, 300ms, [] { return false; });
    ASSERT_TRUE(client.receive_more(kLarge / 10)) << i;
  }
  EXPECT_GT(client.receive().body.size(), kLarge);
  EXPECT_EQ(client.get("/v1/test/thing/one").status(), 200) << "the connection is kept";
}

TEST_F(HttpServer, AClientThatReadsNothingOfItsAnswerIsLetGo) {
  ServerOptions options;
  options.read_timeout = 1s;
  options.max_connections_per_address = 1;
  const std::string address = start(std::move(options));
  Client client(address);
  client.send("GET /v1/test/thing/wait HTTP/1.1\r\nHost: test\r\n\r\n");
  ASSERT_TRUE(caller_.holds_call());
  ASSERT_TRUE(Client(address).receive_all().starts_with("HTTP/1.1 429 "));

  caller_.answer(large_reply());

  EXPECT_TRUE(has_room(address));
  EXPECT_LT(client.receive().body.size(), kLarge);
}

TEST_F(HttpServer, WithoutDescriptorsItWaitsForSome) {
  const std::string address = start();
  Client waiting(address);
  ASSERT_EQ(waiting.get("/v1/test/thing/one").status(), 200);
  std::atomic<int> warnings = 0;
  const log::Tap tap(log::Level::warn, [&](log::Level, std::string_view component, auto, auto) {
    if (component == "http") ++warnings;
  });
  Client late;
  {
    const NoMoreDescriptors limit;
    late.connect_to(address);
    late.send("GET /v1/test/thing/late HTTP/1.1\r\nHost: test\r\n\r\n");
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(waiting.get("/v1/test/thing/one").status(), 200);
  }

  EXPECT_EQ(late.receive().body, R"({"ID":"late"})");
  EXPECT_EQ(warnings, 1);
}

TEST_F(HttpServer, StreamsFramesAsTheyCome) {
  Client client(start());
  client.send("GET /v1/test/follow HTTP/1.1\r\nHost: test\r\n\r\n");
  StreamReceiver* stream = caller_.stream();
  ASSERT_NE(stream, nullptr);
  thing::Frame frame;
  frame.set_data("one");

  EXPECT_TRUE(stream->message(frame.SerializeAsString()));
  const std::string head = client.receive_head();
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 ")) << head;
  EXPECT_NE(head.find("Transfer-Encoding: chunked"), std::string::npos) << head;
  EXPECT_EQ(client.receive_chunk(), R"({"Data":"b25l"})");
  frame.set_data("two");
  EXPECT_TRUE(stream->message(frame.SerializeAsString()));
  EXPECT_EQ(client.receive_chunk(), R"({"Data":"dHdv"})");
  caller_.end_stream(ok_status());
  EXPECT_EQ(client.receive_chunk(), "");

  EXPECT_EQ(client.get("/v1/test/thing/one").status(), 200) << "the connection is kept";
}

TEST_F(HttpServer, StreamsPlainBytesWhenAsked) {
  Client client(start());
  client.send("GET /v1/test/follow?plain=true HTTP/1.1\r\nHost: test\r\n\r\n");
  StreamReceiver* stream = caller_.stream();
  ASSERT_NE(stream, nullptr);
  thing::Frame frame;
  frame.set_data("hello\n");

  EXPECT_TRUE(stream->message(frame.SerializeAsString()));

  EXPECT_NE(client.receive_head().find("Content-Type: text/plain"), std::string::npos);
  EXPECT_EQ(client.receive_chunk(), "hello\n");
}

TEST_F(HttpServer, AStreamThatFailsAtOnceIsAnError) {
  Client client(start());
  Received answer = client.get("/v1/test/follow?id=missing");
  EXPECT_EQ(answer.status(), 404);

  client.send("GET /v1/test/follow HTTP/1.1\r\nHost: test\r\n\r\n");
  ASSERT_NE(caller_.stream(), nullptr);
  caller_.end_stream(invalid_argument("no such file"));

  answer = client.receive();
  EXPECT_EQ(answer.status(), 400);
  EXPECT_EQ(answer.body, "no such file");
}

TEST_F(HttpServer, WhatEndsAStreamStandsBehindItsFrames) {
  Client client(start());
  client.send("GET /v1/test/follow HTTP/1.1\r\nHost: test\r\n\r\n");
  StreamReceiver* stream = caller_.stream();
  ASSERT_NE(stream, nullptr);
  thing::Frame frame;
  frame.set_data("one");
  EXPECT_TRUE(stream->message(frame.SerializeAsString()));
  client.receive_head();
  EXPECT_EQ(client.receive_chunk(), R"({"Data":"b25l"})");
  caller_.end_stream(permission_denied("the right is lost"));
  EXPECT_EQ(client.receive_chunk(), "the right is lost");
  EXPECT_EQ(client.receive_chunk(), "");
}

TEST_F(HttpServer, AClientThatGoesAwayCancelsItsStream) {
  Client client(start());
  client.send("GET /v1/test/follow HTTP/1.1\r\nHost: test\r\n\r\n");
  StreamReceiver* stream = caller_.stream();
  ASSERT_NE(stream, nullptr);

  client.hang_up();

  EXPECT_TRUE(caller_.is_cancelled());
  EXPECT_FALSE(stream->message(thing::Frame().SerializeAsString()));
}

TEST_F(HttpServer, AClientThatDoesNotReadHoldsTheStreamBackUntilItGoes) {
  Client client(start());
  client.send("GET /v1/test/follow?plain=true HTTP/1.1\r\nHost: test\r\n\r\n");
  StreamReceiver* stream = caller_.stream();
  ASSERT_NE(stream, nullptr);
  thing::Frame frame;
  frame.set_data(std::string(1 << 20, 'x'));
  std::atomic<int> sent = 0;
  std::thread writer([&] {
    while (sent < 1000 && stream->message(frame.SerializeAsString())) ++sent;
  });

  client.receive_head();
  client.hang_up();
  writer.join();

  EXPECT_LT(sent, 1000);
}

TEST_F(HttpServer, OneAddressHoldsSoManyConnections) {
  ServerOptions options;
  options.max_connections_per_address = 2;
  const std::string address = start(std::move(options));
  Client first(address);
  ASSERT_EQ(first.get("/v1/test/thing/one").status(), 200);
  {
    Client second(address);
    ASSERT_EQ(second.get("/v1/test/thing/one").status(), 200);
    Client third(address);

    EXPECT_TRUE(third.receive_all().starts_with("HTTP/1.1 429 "));
  }
  EXPECT_TRUE(has_room(address)) << "the place of a connection that has ended is free";
}

TEST_F(HttpServer, ARefusalReachesAClientThatSpeaks) {
  ServerOptions options;
  options.max_connections_per_address = 1;
  const std::string address = start(std::move(options));
  Client first(address);
  ASSERT_EQ(first.get("/v1/test/thing/one").status(), 200);

  for (int i = 0; i < 20; ++i) {
    Client more(address);
    more.send("GET /v1/test/thing/one HTTP/1.1\r\nHost: test\r\n\r\n");
    more.send(std::string(20000, 'x'));  // on its way while the refusal is
    EXPECT_TRUE(more.receive_all().starts_with("HTTP/1.1 429 "));
  }
}

TEST_F(HttpServer, EachRequestIsALineAtDebugWithoutItsQuery) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> lines;
  const log::Tap tap(log::Level::debug, [&](log::Level level, std::string_view component, std::string_view sentence,
                                            std::span<const log::Field> fields) {
    if (component != "http") return;
    std::string line = std::string(log::to_string(level)) + " " + std::string(sentence);
    for (const log::Field& field : fields)
      line += " " + std::string(field.name) + (field.name == "duration" ? "" : "=" + field.value);
    std::lock_guard lock(mutex);
    lines.push_back(std::move(line));
    changed.notify_all();
  });
  Client client(start());

  EXPECT_EQ(client.get("/v1/test/thing/one?token=hidden").status(), 200);
  EXPECT_EQ(client.get("/v1/nothing").status(), 404);

  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, kPatience, [&] { return lines.size() >= 2; }));
  EXPECT_EQ(lines[0], "DEBUG request complete method=GET path=/v1/test/thing/one duration");
  EXPECT_EQ(lines[1], "DEBUG request complete method=GET path=/v1/nothing duration");
}

TEST_F(HttpServer, StoppingEndsConnectionsAndCalls) {
  Client idle(start());
  ASSERT_EQ(idle.get("/v1/test/thing/one").status(), 200);
  Client busy(server_->address());
  busy.send("GET /v1/test/follow HTTP/1.1\r\nHost: test\r\n\r\n");
  ASSERT_NE(caller_.stream(), nullptr);
  std::thread ender([&] {
    EXPECT_TRUE(caller_.is_cancelled());
    caller_.end_stream(cancelled("the caller has gone"));
  });

  server_->stop();
  ender.join();

  EXPECT_EQ(idle.receive_all(), "");
  server_->stop();
}

TEST_F(HttpServer, APortInUseIsNamed) {
  const std::string address = start();
  ServerOptions options;
  options.addresses = {address};
  Server second(std::move(options), routes_, caller_, metrics_);

  const Status status = second.start();

  EXPECT_EQ(status.code(), Code::already_exists);
  EXPECT_EQ(status.message(), "HTTP API on " + address + ": port " + address.substr(address.rfind(':') + 1) +
                                  " is in use by another program; stop it, or set ports { http = … }");
}

TEST_F(HttpServer, AnAddressThatIsNoneIsNamed) {
  ServerOptions options;
  options.addresses = {"localhost:0"};
  Server server(std::move(options), routes_, caller_, metrics_);

  EXPECT_EQ(server.start().to_string(),
            "invalid_argument: HTTP API on localhost:0: \"localhost\" is not an IP address");
}

}  // namespace
}  // namespace drover::api
