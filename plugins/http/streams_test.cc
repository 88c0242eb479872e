// The same server over all kinds of streams: TCP, TLS, Unix sockets; and what is particular to each.
#include <csignal>

#include "testing/server_fixture.h"

namespace drover::api {
namespace {

enum class Kind { tcp, tls, unix_socket };

constexpr const char* kUpgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";

// A Unix socket that listens.
class Listening {
 public:
  explicit Listening(const std::string& name)
      : path_(::testing::TempDir() + "drover-" + std::to_string(::getpid()) + name),
        fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    std::filesystem::remove(path_);
    sockaddr_un here{};
    here.sun_family = AF_UNIX;
    path_.copy(here.sun_path, sizeof(here.sun_path) - 1);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&here), sizeof(here)), 0) << path_;
    EXPECT_EQ(::listen(fd_.get(), 100), 0);
  }
  ~Listening() { std::filesystem::remove(path_); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  Fd take() { return std::move(fd_); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  Fd fd_;
};

class Streams : public HttpServer {
 protected:
  Streams() { std::signal(SIGPIPE, SIG_IGN); }  // the client's side of TLS has no other way to ask for that
  ~Streams() override { served_.reset(); }
  std::string start_tls(ServerOptions options = {}) {
    if (!options.tls) options.tls = pair_.settings();
    return start(std::move(options));
  }
  std::string start_unix(ServerOptions options = {}) {
    start(std::move(options));
    auto served = server_->serve(socket_.take());
    EXPECT_TRUE(served.ok());
    served_ = *std::move(served);
    return socket_.path();
  }
  std::unique_ptr<Client> client(const std::string& address, bool has_tls = false) {
    auto client = std::make_unique<Client>(address);
    EXPECT_TRUE(!has_tls || client->begin_tls(context_.get()));
    return client;
  }

  const Pair pair_{"server"};
  const TlsClientContext context_ = pair_.client();
  Listening socket_{"api.sock"};
  std::unique_ptr<ApiListener::Served> served_;
};

class EveryKind : public Streams, public ::testing::WithParamInterface<Kind> {
 protected:
  std::unique_ptr<Client> one(ServerOptions options = {}) {
    if (address_.empty()) {
      switch (GetParam()) {
        case Kind::tcp:
          address_ = start(std::move(options));
          break;
        case Kind::tls:
          address_ = start_tls(std::move(options));
          break;
        case Kind::unix_socket:
          address_ = start_unix(std::move(options));
          break;
      }
    }
    return client(address_, GetParam() == Kind::tls);
  }
  static constexpr const char* kToken = "X-Nomad-Token: task\r\n";

  std::string address_;
};

INSTANTIATE_TEST_SUITE_P(
    Http, EveryKind, ::testing::Values(Kind::tcp, Kind::tls, Kind::unix_socket), [](const auto& info) {
      return std::string(info.param == Kind::tcp ? "Tcp" : info.param == Kind::tls ? "Tls" : "Unix");
    });

TEST_P(EveryKind, KeepsAConnectionForFurtherRequests) {
  const auto client = one();
  for (const char* id : {"one", "two", "three", "big"})
    EXPECT_EQ(client->get("/v1/test/thing/" + std::string(id), kToken).status(), 200) << id;
}

TEST_P(EveryKind, AnswersRequestsThatWereSentTogether) {
  const auto client = one();
  std::string both;
  for (const char* id : {"one", "two", "three"})
    both += "GET /v1/test/thing/" + std::string(id) + " HTTP/1.1\r\nHost: test\r\n" + kToken + "\r\n";
  client->send(both);

  for (const char* id : {"one", "two", "three"})
    EXPECT_EQ(client->receive().body, R"({"ID":")" + std::string(id) + R"("})");
}

TEST_P(EveryKind, ARequestThatComesWhileACallIsOutIsAnsweredAfterIt) {
  const auto client = one();
  client->send("GET /v1/test/thing/wait HTTP/1.1\r\nHost: test\r\n" + std::string(kToken) + "\r\n");
  ASSERT_TRUE(caller_.holds_call());
  client->send("GET /v1/test/thing/early HTTP/1.1\r\nHost: test\r\n" + std::string(kToken) + "\r\n");
  thing::ThingReply reply;
  reply.set_id("late");

  caller_.answer(Reply{reply.SerializeAsString(), {}});

  EXPECT_EQ(client->receive().body, R"({"ID":"late"})");
  EXPECT_EQ(client->receive().body, R"({"ID":"early"})");
}

TEST_P(EveryKind, ClosesInOrderWhenAsked) {
  const auto client = one();
  client->send("GET /v1/test/thing/one HTTP/1.1\r\nHost: test\r\nConnection: close\r\n" + std::string(kToken) + "\r\n");

  const std::string all = client->receive_all();

  EXPECT_TRUE(all.starts_with("HTTP/1.1 200 ")) << all;
  EXPECT_TRUE(all.ends_with(R"({"ID":"one"})")) << all;
}

TEST_P(EveryKind, AClientThatGoesAwayCancelsItsCall) {
  const auto client = one();
  client->send("GET /v1/test/thing/wait HTTP/1.1\r\nHost: test\r\n" + std::string(kToken) + "\r\n");
  ASSERT_TRUE(caller_.holds_call());

  client->hang_up();

  EXPECT_TRUE(caller_.is_cancelled());
}

TEST_P(EveryKind, TakesBodiesOfAnyLength) {
  const auto client = one();
  const std::string body(1'000'000, 'x');
  client->send("PUT /v1/test/large HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n" + std::string(kToken) +
               "\r\n");
  client->send(body);
  ASSERT_TRUE(caller_.has_all());
  caller_.end_stream(ok_status());

  EXPECT_EQ(client->receive().status(), 200);
  EXPECT_EQ(caller_.uploaded(body.size()).size(), body.size());
  EXPECT_EQ(client->get("/v1/test/thing/one", kToken).status(), 200) << "the connection stays";
}

TEST_P(EveryKind, StreamsAsItComes) {
  const auto client = one();
  client->send("GET /v1/test/follow HTTP/1.1\r\nHost: test\r\n" + std::string(kToken) + "\r\n");
  StreamReceiver* stream = caller_.stream();
  ASSERT_NE(stream, nullptr);
  thing::Frame frame;
  frame.set_data("one");
  EXPECT_TRUE(stream->message(frame.SerializeAsString()));
  EXPECT_TRUE(client->receive_head().starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(client->receive_chunk(), R"({"Data":"b25l"})");

  caller_.end_stream(ok_status());

  EXPECT_EQ(client->receive_chunk(), "");
  EXPECT_EQ(client->get("/v1/test/thing/one", kToken).status(), 200) << "the connection is kept";
}

TEST_P(EveryKind, CarriesConversations) {
  const auto client = one();
  client->send("GET /v1/test/talk/one HTTP/1.1\r\nHost: test\r\n" + std::string(kToken) + kUpgrade + "\r\n");
  ASSERT_TRUE(client->receive_head().starts_with("HTTP/1.1 101 "));
  StreamReceiver* stream = caller_.stream();
  ASSERT_NE(stream, nullptr);
  thing::ThingReply reply;
  reply.set_id("hello");
  EXPECT_TRUE(stream->message(reply.SerializeAsString()));
  EXPECT_EQ("1:{\"ID\":\"hello\"}", client->receive_frame());
  ASSERT_TRUE(client->send_frame("{\"ID\": \"you\"}"));
  EXPECT_EQ("you", caller_.uploaded(3));

  caller_.end_stream(ok_status());

  EXPECT_EQ(client->receive_frame().substr(0, 2), "8:");
}

TEST_P(EveryKind, TooSlowARequestIsToldSo) {
  ServerOptions options;
  options.read_timeout = 1s;
  const auto client = one(std::move(options));
  client->send("PUT /v1/test/thing/7 HTTP/1.1\r\nHost: test\r\n" + std::string(kToken) + "Content-Length: 10\r\n\r\n{");

  EXPECT_EQ(client->receive().status(), 408);
}

TEST_P(EveryKind, TooLargeABodyIsRefusedWhileItIsSent) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  const auto client = one(std::move(options));
  client->send("PUT /v1/test/thing/7 HTTP/1.1\r\nHost: test\r\n" + std::string(kToken) +
               "Content-Length: 300000\r\n\r\n");
  client->send(std::string(300000, ' '));

  EXPECT_EQ(client->receive().status(), 413);
}

// --- TLS

TEST_F(Streams, PlainHttpOnATlsPortIsToldSo) {
  Client client(start_tls());

  const Received answer = client.get("/v1/test/thing/one");

  EXPECT_EQ(answer.status(), 400);
  EXPECT_EQ(answer.body, "Client sent an HTTP request to an HTTPS server.\n");
  EXPECT_EQ(client.receive_all(), "") << "it is closed";
}

TEST_F(Streams, WhoDoesNotGetThroughTheHandshakeInTimeIsLetGo) {
  ServerOptions options;
  options.handshake_timeout = 500ms;
  options.max_connections_per_address = 3;
  const std::string address = start_tls(std::move(options));
  Client silent(address);
  Client half(address);
  half.send(std::string("\x16\x03\x01\x02", 4));

  EXPECT_NE(silent.receive_all(), "open");
  EXPECT_NE(half.receive_all(), "open");
  EXPECT_EQ(client(address, true)->get("/v1/test/thing/one").status(), 200);
}

TEST_F(Streams, OldVersionsAndOtherSuitesAreNotSpoken) {
  const std::string address = start_tls();
  const auto old = pair_.client();
  SSL_CTX_set_security_level(old.get(), 0);
  SSL_CTX_set_min_proto_version(old.get(), TLS1_VERSION);
  SSL_CTX_set_max_proto_version(old.get(), TLS1_1_VERSION);
  EXPECT_FALSE(Client(address).begin_tls(old.get()));
  for (const char* suite : {"ECDHE-ECDSA-AES256-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256", "AES128-SHA"}) {
    const auto other = pair_.client();
    SSL_CTX_set_max_proto_version(other.get(), TLS1_2_VERSION);
    ASSERT_EQ(SSL_CTX_set_cipher_list(other.get(), suite), 1) << suite;
    EXPECT_FALSE(Client(address).begin_tls(other.get())) << suite;
  }
  const auto right = pair_.client();
  SSL_CTX_set_max_proto_version(right.get(), TLS1_2_VERSION);
  Client client(address);
  EXPECT_TRUE(client.begin_tls(right.get()));
  EXPECT_STREQ(SSL_get_cipher(client.tls()), "ECDHE-ECDSA-AES256-GCM-SHA384");
}

TEST_F(Streams, OnlyTheNewestVersionWhereThatIsAskedFor) {
  ServerOptions options;
  options.tls = pair_.settings();
  options.tls->min_version = TLS1_3_VERSION;
  const std::string address = start_tls(std::move(options));
  const auto old = pair_.client();
  SSL_CTX_set_max_proto_version(old.get(), TLS1_2_VERSION);

  EXPECT_FALSE(Client(address).begin_tls(old.get()));
  EXPECT_EQ(client(address, true)->get("/v1/test/thing/one").status(), 200);
}

TEST_F(Streams, ClientsShowACertificateWhereThatIsAskedFor) {
  const Pair own("client");
  const Pair stranger("stranger");
  ServerOptions options;
  options.tls = pair_.settings();
  options.tls->verify_clients = true;
  options.tls->ca_file = own.cert();
  const std::string address = start_tls(std::move(options));
  const auto get = [&](const Pair* shown) {
    const auto context = shown ? shown->client() : TlsClientContext(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
    Client client(address);
    return client.begin_tls(context.get()) ? client.get("/v1/test/thing/one").status() : 0;
  };

  EXPECT_EQ(get(&own), 200);
  EXPECT_EQ(get(nullptr), 0);
  EXPECT_EQ(get(&stranger), 0);
}

std::string shown_by(Client& client) {
  std::unique_ptr<X509, Freed<X509_free>> certificate(SSL_get1_peer_certificate(client.tls()));
  const std::unique_ptr<BIO, Freed<BIO_free_all>> text(BIO_new(BIO_s_mem()));
  EXPECT_EQ(PEM_write_bio_X509(text.get(), certificate.get()), 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return {data, static_cast<size_t>(size)};
}

TEST_F(Streams, NewFilesAreForNewConnections) {
  Pair changing("changing");
  ServerOptions options;
  options.tls = changing.settings();
  const std::string address = start_tls(std::move(options));
  const std::string first = changing.text();
  const auto trusting = [](const Pair& pair) {
    auto context = pair.client();
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
    return context;
  }(changing);
  Client before(address);
  ASSERT_TRUE(before.begin_tls(trusting.get()));
  EXPECT_EQ(shown_by(before), first);

  changing.renew();
  ASSERT_TRUE(server_->reload_tls().ok());

  Client after(address);
  ASSERT_TRUE(after.begin_tls(trusting.get()));
  EXPECT_EQ(shown_by(after), changing.text());
  EXPECT_NE(changing.text(), first);
  EXPECT_EQ(before.get("/v1/test/thing/one").status(), 200);

  const std::string second = changing.text();
  std::ofstream(changing.key()) << "no key\n";
  EXPECT_EQ(server_->reload_tls().to_string(),
            "failed_precondition: tls.key_file: " + changing.key() + " is not a PEM file");
  Client later(address);
  ASSERT_TRUE(later.begin_tls(trusting.get()));
  EXPECT_EQ(shown_by(later), second) << "what cannot be used changes nothing";
}

TEST_F(Streams, ReloadingUnderLoadDropsNothing) {
  const std::string address = start_tls();
  std::atomic<int> answered = 0, failed = 0;
  std::atomic<bool> is_over = false;
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&] {
      while (!is_over) {
        const auto one = client(address, true);
        for (int n = 0; n < 20; ++n) one->get("/v1/test/thing/one").status() == 200 ? ++answered : ++failed;
      }
    });
  }
  while (answered < 500 && failed == 0) ASSERT_TRUE(server_->reload_tls().ok());
  is_over = true;
  for (std::thread& one : clients) one.join();

  EXPECT_EQ(failed, 0);
}

// --- sockets that are handed in

TEST_F(Streams, AFurtherSocketWantsAToken) {
  const std::string path = start_unix();
  const struct {
    const char* header;
    int status;
  } cases[] = {{"", 401},
               {"Authorization: Basic abc\r\n", 401},
               {"X-Nomad-Token: two words\r\n", 400},
               {"X-Nomad-Token: anonymous\r\n", 403},
               {"X-Nomad-Token: unknown\r\n", 403},
               {"X-Nomad-Token: person\r\n", 200},
               {"Authorization: bearer task\r\n", 200}};
  for (const auto& c : cases) {
    EXPECT_EQ(Client(path).get("/v1/test/thing/one", c.header).status(), c.status) << c.header;
    EXPECT_EQ(Client(path).get("/v1/nothing", c.header).status(), c.status == 200 ? 404 : c.status) << c.header;
  }
  EXPECT_EQ(Client(server_->address()).get("/v1/test/thing/one").status(), 200) << "the agent's own asks for none";
}

TEST_F(Streams, AnUploadIsNotReadBeforeItsTokenIsKnown) {
  Client client(start_unix());
  client.send("PUT /v1/test/large HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n" + std::string(1000, 'x'));

  EXPECT_EQ(client.receive().status(), 401);
  EXPECT_EQ(caller_.uploaded(0), "");
}

TEST_F(Streams, OneSocketHoldsSoManyConnections) {
  const std::string path = start_unix();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(std::make_unique<Client>(path));
    ASSERT_EQ(clients.back()->get("/v1/test/thing/one", "X-Nomad-Token: task\r\n").status(), 200) << i;
  }

  EXPECT_TRUE(Client(path).receive_all().starts_with("HTTP/1.1 429 "));
  EXPECT_EQ(Client(server_->address()).get("/v1/test/thing/one").status(), 200);
}

TEST_F(Streams, ASocketThatEndsTakesItsConnectionsAlong) {
  const std::string path = start_unix();
  Client idle(path);
  ASSERT_EQ(idle.get("/v1/test/thing/one", "X-Nomad-Token: task\r\n").status(), 200);
  Client other(server_->address());
  ASSERT_EQ(other.get("/v1/test/thing/one").status(), 200);

  served_.reset();

  EXPECT_EQ(idle.receive_all(), "");
  EXPECT_EQ(other.get("/v1/test/thing/one").status(), 200);
}

TEST_F(Streams, ASocketMayOutliveTheServer) {
  start_unix();
  server_->stop();
  EXPECT_EQ(server_->serve(Listening("late.sock").take()).status().to_string(),
            "failed_precondition: the HTTP API has ended");
  server_.reset();
  served_.reset();
}

// --- limits

TEST_F(Streams, OneTooManyIsToldSoTenTimesASecondAndThenNotAtAll) {
  ServerOptions options;
  options.max_connections_per_address = 1;
  const std::string address = start(std::move(options));
  Client first(address);
  ASSERT_EQ(first.get("/v1/test/thing/one").status(), 200);
  const auto begin = std::chrono::steady_clock::now();
  int told = 0, silent = 0;
  for (int i = 0; i < 300; ++i) Client(address).receive_all().empty() ? ++silent : ++told;
  const auto took = std::chrono::steady_clock::now() - begin;

  EXPECT_GE(told, 100);
  EXPECT_LE(told, 100 + 10 * (std::chrono::ceil<std::chrono::seconds>(took).count() + 1));
  EXPECT_EQ(told + silent, 300);
}

TEST_F(Streams, AnAddressThatGuessesTokensMustWait) {
  Client client(start());
  for (int i = 0; i < 300; ++i)
    ASSERT_EQ(client.get("/v1/test/thing/denied", "X-Nomad-Token: guess\r\n").status(), 403) << i;

  int refused = 0;
  for (int i = 0; i < 200 && refused == 0; ++i) {
    const Received answer = Client(server_->address()).get("/v1/test/thing/denied", "X-Nomad-Token: guess\r\n");
    if (answer.status() != 429) continue;
    ++refused;
    EXPECT_TRUE(answer.has("Retry-After: 1")) << answer.head;
    EXPECT_TRUE(answer.body.starts_with("too many attempts from this address")) << answer.body;
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(Client(server_->address()).get("/v1/test/thing/one").status(), 200) << "without a token nothing is guessed";
}

TEST_F(Streams, ATokenThatMayTooLittleOrThatNobodyJudgesIsNoGuess) {
  Client client(start());
  for (const char* token : {"person", "access control is off"}) {
    const std::string header = "X-Nomad-Token: " + std::string(token) + "\r\n";
    for (int i = 0; i < 400; ++i) ASSERT_EQ(client.get("/v1/test/thing/denied", header).status(), 403) << token << i;
  }
}

// --- headers

TEST_F(Streams, EveryAnswerSaysHowItIsToBeTaken) {
  const std::string address = start();
  for (const char* path : {"/v1/test/thing/one", "/v1/nothing", "/v1/test/thing/missing", "/"}) {
    const Received answer = Client(address).get(path);
    EXPECT_TRUE(answer.has("X-Content-Type-Options: nosniff")) << answer.head;
    EXPECT_TRUE(answer.has("Referrer-Policy: no-referrer")) << answer.head;
    EXPECT_TRUE(answer.has("Cache-Control: no-store")) << answer.head;
    EXPECT_EQ(answer.head.find("Access-Control"), std::string::npos) << answer.head;
    EXPECT_TRUE(answer.body.empty() || answer.head.find("Content-Type: ") != std::string::npos) << answer.head;
  }
  EXPECT_TRUE(Client(address).get("/.well-known/things.json").has("Cache-Control: max-age=60"));
}

TEST_F(Streams, ConfiguredHeadersGoFirst) {
  ServerOptions options;
  options.headers = {{"cache-control", "private"}, {"Access-Control-Allow-Origin", "https://ui.example"}};
  const std::string address = start(std::move(options));

  const Received answer = Client(address).get("/.well-known/things.json");

  EXPECT_TRUE(answer.has("cache-control: private")) << answer.head;
  EXPECT_EQ(answer.head.find("max-age"), std::string::npos) << answer.head;
  EXPECT_TRUE(answer.has("Access-Control-Allow-Origin: https://ui.example")) << answer.head;
}

}  // namespace
}  // namespace drover::api
