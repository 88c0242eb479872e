// The client, and what is made of it, with an engine that answers as it is told.
#include "engine/engine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <latch>

#include "create/container_body.h"
#include "dangling/dangling.h"
#include "images/image_keeper.h"
#include "images/image_puller.h"
#include "images/image_store.h"
#include "task/containers.h"
#include "task/log_reader.h"
#include "task/task_start.h"
#include "testing/fake_engine.h"

namespace drover::docker {
namespace {

using namespace std::chrono_literals;
using Asked = FakeEngine::Asked;

std::string frame(char stream, const std::string& content) {
  std::string out(8, '\0');
  out[0] = stream;
  out[7] = static_cast<char>(content.size());
  return out + content;
}

TEST(Engine, SpeaksTheVersionOfTheOtherSide) {
  FakeEngine fake([](const Asked&, int) { return FakeEngine::reply(200, "{\"a\":1}"); });
  Engine engine(fake.socket());
  EXPECT_EQ("{\"a\":1}", *engine.call({.target = "/info"}));
  EXPECT_TRUE(engine.call({.target = "/info"}).ok());
  EXPECT_EQ(1, fake.count("GET /_ping"));
  EXPECT_EQ(2, fake.count("GET /v1.41/info"));
}

TEST(Engine, TellsItsErrorsByCode) {
  FakeEngine fake([](const Asked&, int) { return FakeEngine::reply(404, "{\"message\":\"No such container: x\"}"); });
  EXPECT_EQ(not_found("No such container: x"), Engine(fake.socket()).call({.target = "/containers/x/json"}).status());
}

TEST(Engine, ThatIsNotThereIsUnavailable) {
  EXPECT_EQ(Code::unavailable, Engine("/no/such/socket").call({.target = "/info"}).status().code());
  EXPECT_EQ(Code::invalid_argument, Engine(std::string(200, 'x')).call({.target = "/info"}).status().code());
}

TEST(Engine, ThatSpeaksSomethingElseIsToldApart) {
  struct Case {
    const char* name;
    std::string answer;
    Code code;
  };
  const Case cases[] = {
      {"no HTTP", "SSH-2.0-OpenSSH\r\n\r\n", Code::data_loss},
      {"nothing at all", "", Code::unavailable},
      {"half a head", "HTTP/1.1 200 OK\r\nConte", Code::unavailable},
      {"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345", Code::unavailable},
      {"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc", Code::unavailable},
      {"a bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc", Code::data_loss},
      {"an endless head", "HTTP/1.1 200 OK\r\nA: " + std::string(100'000, 'x') + "\r\n\r\n", Code::data_loss},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    FakeEngine fake([&](const Asked&, int) { return c.answer; });
    EXPECT_EQ(c.code, Engine(fake.socket()).call({.target = "/info"}).status().code());
  }
}

TEST(Engine, WithoutAVersionIsNone) {
  FakeEngine fake([](const Asked&, int) { return std::string(); });
  const auto ping = Exchange::open(fake.socket(), {.target = "/_ping"}, Patience::of(20s));
  ASSERT_TRUE(ping.ok());
  EXPECT_EQ("1.41", (*ping)->header("api-version"));
  EXPECT_EQ("", (*ping)->header("other"));
}

TEST(Engine, GivesUpAtTheDeadlineAndWhenStopped) {
  std::latch over(1);
  FakeEngine fake([&](const Asked&, int) {
    over.wait();
    return std::string();
  });
  Engine engine(fake.socket());
  EXPECT_EQ(Code::deadline_exceeded, engine.call({.target = "/info"}, Patience::of(50ms)).status().code());
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] {
    return engine.call({.target = "/info"}, Patience::of(1h, stop.get_token())).status();
  });
  stop.request_stop();
  EXPECT_EQ(Code::cancelled, waiting.get().code());
  over.count_down();
}

TEST(Engine, RefusesATargetThatIsNone) {
  FakeEngine fake([](const Asked&, int) { return FakeEngine::reply(200, ""); });
  EXPECT_EQ(Code::invalid_argument, Engine(fake.socket()).call({.target = "/a b"}).status().code());
  EXPECT_EQ(Code::invalid_argument, Engine(fake.socket()).call({.target = "/a\r\nX: y"}).status().code());
}

TEST(Engine, ReadsAStreamAsItComes) {
  std::latch heard(1);
  FakeEngine fake([&](const Asked&, int fd) {
    const std::string first = FakeEngine::chunked({"one"}, false);
    EXPECT_EQ(static_cast<ssize_t>(first.size()), ::write(fd, first.data(), first.size()));
    heard.wait();
    return std::string("3\r\ntwo\r\n0\r\n\r\n");
  });
  Engine engine(fake.socket());
  auto exchange = engine.open({.target = "/x"}, Patience::of(20s));
  ASSERT_TRUE(exchange.ok()) << exchange.status().to_string();
  std::array<char, 64> piece;
  ASSERT_EQ(3u, *(*exchange)->read(piece, Patience::of(20s)));
  EXPECT_EQ("one", std::string(piece.data(), 3));
  heard.count_down();
  EXPECT_EQ("two", *(*exchange)->read_all(100, Patience::of(20s)));
}

TEST(Engine, GivesAConnectionOver) {
  FakeEngine fake([](const Asked& asked, int fd) {
    EXPECT_NE(std::string::npos, asked.head.find("Upgrade: tcp"));
    const std::string head = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nearly ";
    EXPECT_EQ(static_cast<ssize_t>(head.size()), ::write(fd, head.data(), head.size()));
    std::string all;
    char piece[64];
    for (ssize_t size = 0; (size = ::read(fd, piece, sizeof piece)) > 0;) all.append(piece, static_cast<size_t>(size));
    return all;
  });
  Engine engine(fake.socket());
  auto exchange =
      engine.open({.method = "POST", .target = "/exec/1/start", .body = "{}", .wants_raw = true}, Patience::of(20s));
  ASSERT_TRUE(exchange.ok()) << exchange.status().to_string();
  EXPECT_TRUE((*exchange)->is_raw());
  ASSERT_TRUE((*exchange)->write("hello", Patience::of(20s)).ok());
  (*exchange)->close_write();
  EXPECT_EQ("early hello", *(*exchange)->read_all(100, Patience::of(20s)));
}

TEST(Engine, LimitsAnswers) {
  FakeEngine fake([](const Asked&, int) { return FakeEngine::reply(200, std::string(1000, 'x')); });
  auto exchange = Exchange::open(fake.socket(), {.target = "/x"}, Patience::of(20s));
  ASSERT_TRUE(exchange.ok());
  EXPECT_EQ(Code::resource_exhausted, (*exchange)->read_all(100, Patience::of(20s)).status().code());
}

TEST(Endpoint, IsAUnixSocket) {
  EXPECT_EQ("/run/x.sock", *socket_of("unix:///run/x.sock"));
  EXPECT_EQ("/run/x.sock", *socket_of("/run/x.sock"));
  EXPECT_EQ(Code::invalid_argument, socket_of("tcp://10.0.0.1:2375").status().code());
  EXPECT_EQ("?a=b%20c&d=%2F", query({{"a", "b c"}, {"none", ""}, {"d", "/"}}));
}

PullOrder order(const std::string& image, std::function<void(const std::string&)> tell) {
  return {.image = *parse_image_name(image),
          .registry_auth = "abc",
          .time = 20s,
          .activity_time = 20s,
          .tell = std::move(tell)};
}

TEST(ImagePuller, PullsOnceForAllWhoWait) {
  std::latch all_wait(1);
  FakeEngine fake([&](const Asked& asked, int) {
    EXPECT_NE(std::string::npos, asked.head.find("X-Registry-Auth: abc"));
    all_wait.wait();
    return FakeEngine::chunked({"{\"status\":\"Pulling\"}\n"});
  });
  Engine engine(fake.socket());
  ImagePuller puller(engine);
  std::atomic<int> told = 0;
  std::vector<std::future<Status>> waiting;
  for (int i = 0; i < 5; ++i) {
    waiting.push_back(std::async(std::launch::async, [&] {
      return puller.pull(order("r.io/a:1", [&](const std::string& text) { told += text == "Downloading image"; }), {});
    }));
  }
  while (told < 5) std::this_thread::yield();
  all_wait.count_down();
  for (auto& one : waiting) EXPECT_EQ(ok_status(), one.get());
  EXPECT_EQ(1, fake.count("POST /v1.41/images/create?fromImage=r.io%2Fa&tag=1"));
  EXPECT_EQ(ok_status(), puller.pull(order("r.io/a:1", [](const std::string&) {}), {}));
  EXPECT_EQ(2, fake.count("/images/create"));
}

TEST(ImagePuller, TellsEachWaiterTheSameFailure) {
  FakeEngine fake([](const Asked&, int) { return FakeEngine::chunked({"{\"error\":\"manifest unknown\"}\n"}); });
  Engine engine(fake.socket());
  ImagePuller puller(engine);
  EXPECT_EQ(failed_precondition("Failed to pull `a:1`: manifest unknown"),
            puller.pull(order("a:1", [](const std::string&) {}), {}));
}

TEST(ImagePuller, DoesNotRetryWhatWillNotBeThere) {
  FakeEngine fake(
      [](const Asked&, int) { return FakeEngine::reply(404, "{\"message\":\"Error: image a:1 not found\"}"); });
  Engine engine(fake.socket());
  ImagePuller puller(engine);
  EXPECT_EQ(Code::unknown, puller.pull(order("a:1", [](const std::string&) {}), {}).code());
}

TEST(ImagePuller, LetsAWaiterGoAndGoesOn) {
  std::latch release(1);
  FakeEngine fake([&](const Asked&, int) {
    release.wait();
    return FakeEngine::chunked({"{\"status\":\"x\"}\n"});
  });
  Engine engine(fake.socket());
  ImagePuller puller(engine);
  std::stop_source stop;
  auto leaving = std::async(std::launch::async,
                            [&] { return puller.pull(order("a:1", [](const std::string&) {}), stop.get_token()); });
  auto staying =
      std::async(std::launch::async, [&] { return puller.pull(order("a:1", [](const std::string&) {}), {}); });
  while (fake.count("/images/create") == 0) std::this_thread::yield();
  stop.request_stop();
  EXPECT_EQ(Code::cancelled, leaving.get().code());
  release.count_down();
  EXPECT_EQ(ok_status(), staying.get());
}

TEST(ImagePuller, GivesUpWithoutProgress) {
  std::latch release(1);
  FakeEngine fake([&](const Asked&, int fd) {
    const std::string begun = FakeEngine::chunked(
        {"{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":{\"current\":1048576,\"total\":2097152}}\n"},
        false);
    EXPECT_EQ(static_cast<ssize_t>(begun.size()), ::write(fd, begun.data(), begun.size()));
    release.wait();
    return std::string();
  });
  Engine engine(fake.socket());
  PullOrder slow = order("a:1", [](const std::string&) {});
  slow.activity_time = 50ms;
  EXPECT_EQ(deadline_exceeded("context canceled: no progress for 50ms, 1.0MiB of 2.0MiB"),
            follow_pull(engine, slow, [](const std::string&) {}, {}));
  slow.activity_time = 1h;
  slow.time = 50ms;
  EXPECT_EQ(deadline_exceeded("context deadline exceeded: not pulled within 50ms, 1.0MiB of 2.0MiB"),
            follow_pull(engine, slow, [](const std::string&) {}, {}));
  release.count_down();
}

TEST(ImagePuller, EndsWhenTheDriverDoes) {
  std::latch release(1);
  FakeEngine fake([&](const Asked&, int) {
    release.wait();
    return std::string();
  });
  Engine engine(fake.socket());
  ImagePuller puller(engine);
  auto waiting =
      std::async(std::launch::async, [&] { return puller.pull(order("a:1", [](const std::string&) {}), {}); });
  while (fake.count("/images/create") == 0) std::this_thread::yield();
  puller.stop();
  EXPECT_FALSE(waiting.get().ok());
  EXPECT_EQ(Code::unavailable, puller.pull(order("a:1", [](const std::string&) {}), {}).code());
  release.count_down();
}

struct Wish {
  ContainerOptions options;
  PluginOptions plugin;
  Result<std::string> provide(Engine& engine, const std::string& folder = {}) {
    ImagePuller puller(engine);
    return provide_image(
        engine, puller,
        {.options = options, .plugin = plugin, .local_folder = folder, .tell = [](const std::string&) {}}, {});
  }
};

TEST(ImageStore, PullsOnlyWhatIsNotThere) {
  FakeEngine fake([](const Asked& asked, int) {
    if (asked.line.starts_with("POST")) return FakeEngine::chunked({"{\"status\":\"x\"}\n"});
    return FakeEngine::reply(200, "{\"Id\":\"sha256:7\"}");
  });
  Engine engine(fake.socket());
  Wish wish;
  wish.options.image = "r.io/a:1";
  EXPECT_EQ("sha256:7", *wish.provide(engine));
  EXPECT_EQ(0, fake.count("/images/create"));
  wish.options.force_pull = true;
  EXPECT_EQ("sha256:7", *wish.provide(engine));
  EXPECT_EQ(1, fake.count("/images/create"));
  wish.options.force_pull = false;
  wish.options.image = "r.io/a";  // the latest one
  EXPECT_EQ("sha256:7", *wish.provide(engine));
  EXPECT_EQ(2, fake.count("/images/create"));
}

TEST(ImageStore, RefusesAnImageThatBeginsOutsideOfItself) {
  for (const char* folder : {"/proc/self/fd/7", "//proc/self/fd/7", "/a/../proc", "proc/1/cwd"}) {
    EXPECT_TRUE(is_of_processes(folder)) << folder;
    FakeEngine fake([&](const Asked&, int) {
      return FakeEngine::reply(200, std::string("{\"Id\":\"1\",\"Config\":{\"WorkingDir\":\"") + folder + "\"}}");
    });
    Engine engine(fake.socket());
    Wish wish;
    wish.options.image = "a:1";
    EXPECT_EQ(Code::invalid_argument, wish.provide(engine).status().code());
  }
  for (const char* folder : {"", "/", "/process", "/home"}) EXPECT_FALSE(is_of_processes(folder)) << folder;
}

TEST(ImageStore, AsksForCredentialsUnlessTheyMayFail) {
  FakeEngine fake([](const Asked& asked, int) {
    if (asked.line.starts_with("POST")) return FakeEngine::chunked({"{\"status\":\"x\"}\n"});
    return FakeEngine::reply(200, "{\"Id\":\"sha256:7\"}");
  });
  Engine engine(fake.socket());
  Wish wish;
  wish.options.image = "r.io/a";
  wish.plugin.auth_config = "/no/such/file";
  EXPECT_EQ("Failed to find docker auth for repo \"r.io/a\": the file /no/such/file cannot be read",
            wish.provide(engine).status().message());
  wish.options.auth_soft_fail = true;
  EXPECT_TRUE(wish.provide(engine).ok());
}

TEST(ImageStore, LoadsAnArchiveOfTheTaskOnly) {
  FakeEngine fake([](const Asked& asked, int) {
    if (asked.line.starts_with("POST"))
      return FakeEngine::reply(200, asked.body == "archive" ? "{\"stream\":\"ok\"}\n" : "{\"error\":\"bad\"}\n");
    return FakeEngine::reply(200, "{\"Id\":\"sha256:7\"}");
  });
  Engine engine(fake.socket());
  const std::string folder = fake.folder() + "/local";
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/a.tar") << "archive";
  std::ofstream(folder + "/b.tar") << "broken";
  std::ofstream(fake.folder() + "/secret.tar") << "archive";
  std::filesystem::create_symlink(fake.folder() + "/secret.tar", folder + "/link.tar");
  Wish wish;
  wish.options.image = "a:1";
  wish.options.load = "a.tar";
  EXPECT_EQ("sha256:7", *wish.provide(engine, folder));
  wish.options.load = "b.tar";
  EXPECT_EQ("image archive b.tar: bad", wish.provide(engine, folder).status().message());
  for (const char* outside : {"link.tar", "../secret.tar", "missing.tar"}) {
    wish.options.load = outside;
    EXPECT_NE(std::string::npos, wish.provide(engine, folder).status().message().find("unable to open image archive"))
        << outside;
  }
}

// A pipe with its reading end open.
struct Pipe {
  explicit Pipe(std::string at) : path(std::move(at)) {
    EXPECT_EQ(0, ::mkfifo(path.c_str(), 0600));
    fd = ::open(path.c_str(), O_RDWR | O_NONBLOCK);
  }
  ~Pipe() { ::close(fd); }
  std::string read() const {
    char piece[4096];
    const ssize_t size = ::read(fd, piece, sizeof piece);
    return size > 0 ? std::string(piece, static_cast<size_t>(size)) : std::string();
  }
  const std::string path;
  int fd;
};

TEST(LogReader, GoesOnWhereItWasAfterARestart) {
  FakeEngine fake([](const Asked& asked, int) {
    if (asked.line.find("/logs") == std::string::npos)
      return FakeEngine::reply(200, "{\"Id\":\"c\",\"State\":{\"Running\":false}}");
    std::vector<std::string> frames{frame(1, "2023-05-01T12:00:00.000000001Z one\n"),
                                    frame(2, "2023-05-01T12:00:00.000000002Z two\n")};
    // What an engine that looks at whole seconds gives again.
    if (asked.line.find("since=") != std::string::npos)
      frames.push_back(frame(1, "2023-05-01T12:00:00.000000003Z three\n"));
    return FakeEngine::chunked(frames);
  });
  Engine engine(fake.socket());
  const Pipe out(fake.folder() + "/out"), error(fake.folder() + "/err");
  const LogOrder order{.container = "c",
                       .has_tty = false,
                       .stdout_path = out.path,
                       .stderr_path = error.path,
                       .position_file = fake.folder() + "/position"};
  {
    LogReader reader(engine, order);
    ASSERT_TRUE(reader.wait_end(SystemClock().steady() + 20s));
  }
  EXPECT_EQ("one\n", out.read());
  EXPECT_EQ("two\n", error.read());
  {
    LogReader reader(engine, order);
    ASSERT_TRUE(reader.wait_end(SystemClock().steady() + 20s));
  }
  EXPECT_EQ("three\n", out.read());
  EXPECT_EQ("", error.read());
  EXPECT_EQ(1, fake.count("since=1682942399.999999002"));
}

TEST(LogReader, ReadsAgainWhatBrokeOff) {
  std::atomic<int> round = 0;
  FakeEngine fake([&](const Asked& asked, int) {
    if (asked.line.find("/logs") == std::string::npos)
      return FakeEngine::reply(200, round < 2 ? "{\"Id\":\"c\",\"State\":{\"Running\":true}}" : "{\"Id\":\"c\"}");
    if (++round == 1) return FakeEngine::chunked({frame(1, "2023-05-01T12:00:00.000000001Z one\n")}, false);
    return FakeEngine::chunked({frame(1, "2023-05-01T12:00:00.000000002Z two\n")});
  });
  Engine engine(fake.socket());
  const Pipe out(fake.folder() + "/out");
  LogReader reader(engine, {.container = "c", .stdout_path = out.path, .stderr_path = {}, .position_file = {}});
  ASSERT_TRUE(reader.wait_end(SystemClock().steady() + 20s));
  EXPECT_EQ("one\ntwo\n", out.read());
}

TEST(LogReader, EndsForGoodWithoutAReadableLog) {
  FakeEngine fake([](const Asked&, int) {
    return FakeEngine::reply(500, "{\"message\":\"configured logging driver does not support reading\"}");
  });
  Engine engine(fake.socket());
  LogReader reader(engine, {.container = "c", .stdout_path = {}, .stderr_path = {}, .position_file = {}});
  EXPECT_TRUE(reader.wait_end(SystemClock().steady() + 20s));
  EXPECT_EQ(1, fake.count("/logs"));
}

TEST(LogReader, IsStoppedWhileNobodyReads) {
  FakeEngine fake([](const Asked&, int) {
    std::vector<std::string> frames(4000, frame(1, "2023-05-01T12:00:00Z " + std::string(100, 'x')));
    return FakeEngine::chunked(frames);
  });
  Engine engine(fake.socket());
  const Pipe out(fake.folder() + "/out");
  LogReader reader(engine, {.container = "c", .stdout_path = out.path, .stderr_path = {}, .position_file = {}});
  EXPECT_FALSE(reader.wait_end(SystemClock().steady() + 100ms));
  reader.stop();
}

TEST(ImageKeeper, ForcesOnlyAnImageOfSeveralNames) {
  FakeEngine fake([](const Asked& asked, int) {
    if (asked.line.find("force") != std::string::npos) return FakeEngine::reply(200, "[]");
    const bool is_used = asked.line.find("used") != std::string::npos;
    return FakeEngine::reply(409, is_used ? "{\"message\":\"image is being used by stopped container 1\"}"
                                          : "{\"message\":\"image is referenced in multiple repositories\"}");
  });
  Engine engine(fake.socket());
  ImageKeeper keeper(engine, 0ms, {});
  keeper.use("used", "t");
  keeper.release("used", "t");
  while (fake.count("DELETE /v1.41/images/used") == 0) std::this_thread::yield();
  keeper.use("named", "t");
  keeper.release("named", "t");
  while (fake.count("/images/named?force=true") == 0) std::this_thread::yield();
  EXPECT_EQ(1, fake.count("/images/used"));
  EXPECT_EQ(2, fake.count("/images/named"));
}

ListedContainer listed(const std::string& id, std::map<std::string, std::string> labels, bool is_running = true,
                       int64_t created = 0) {
  return {.id = id, .name = id, .is_running = is_running, .created_s = created, .labels = std::move(labels)};
}

TEST(Dangling, IsWhatIsOursOldAndHeldByNobody) {
  const std::map<std::string, std::string> ours{{kAllocLabel, "a"}, {kNodeLabel, "n"}};
  const std::vector<ListedContainer> all{
      listed("left", ours),
      listed("ended", ours, false),
      listed("held", ours),
      listed("young", ours, true, 950),
      listed("of another node", {{kAllocLabel, "a"}, {kNodeLabel, "m"}}),
      listed("of Nomad", {{kAllocLabel, "a"}}),
      listed("a person's", {}),
  };
  DanglingRule rule{.node = "n", .held = {"held"}, .now_s = 1000, .grace_s = 60};
  const auto ids = [&] {
    std::vector<std::string> out;
    for (const ListedContainer& one : dangling_of(all, rule)) out.push_back(one.id);
    return out;
  };
  EXPECT_EQ((std::vector<std::string>{"left", "ended"}), ids());
  rule.takes_ended = false;
  EXPECT_EQ((std::vector<std::string>{"left"}), ids());
  rule.node = "";
  EXPECT_EQ((std::vector<std::string>{}), ids());
}

TEST(Dangling, IsRemovedUnlessTheRunIsDry) {
  FakeEngine fake([](const Asked& asked, int) {
    if (asked.line.starts_with("DELETE")) return FakeEngine::reply(204, "");
    return FakeEngine::reply(200, std::string("[{\"Id\":\"left\",\"Labels\":{\"") + kAllocLabel + "\":\"a\",\"" +
                                      kNodeLabel + "\":\"n\"}}]");
  });
  Engine engine(fake.socket());
  const auto held = [] { return std::optional(DanglingContainers::Held{.node = "n", .containers = {}}); };
  EXPECT_EQ((std::vector<std::string>{"left"}),
            *DanglingContainers(engine, {.is_dry_run = true, .grace = 1min}, held).remove_once({}));
  EXPECT_EQ(0, fake.count("DELETE"));
  EXPECT_EQ((std::vector<std::string>{"left"}), *DanglingContainers(engine, {.grace = 1min}, held).remove_once({}));
  EXPECT_EQ(1, fake.count("DELETE /v1.41/containers/left?force=1&v=1"));
  const auto unknown = [] { return std::optional<DanglingContainers::Held>(); };
  EXPECT_TRUE(DanglingContainers(engine, {.grace = 1min}, unknown).remove_once({})->empty());
}

TEST(Containers, GoneAreRemovedAlready) {
  FakeEngine fake([](const Asked&, int) { return FakeEngine::reply(404, "{\"message\":\"No such container\"}"); });
  Engine engine(fake.socket());
  EXPECT_TRUE(remove_container(engine, "x").ok());
  EXPECT_EQ(Code::not_found, kill_container(engine, "x", "SIGTERM").code());
}

TEST(Containers, OfBothEnginesSayThatTheyDoNotRun) {
  for (const char* text : {"Container x is not running",
                           "can only kill running containers. x is in state exited: container state improper"}) {
    FakeEngine fake(
        [&](const Asked&, int) { return FakeEngine::reply(500, std::string("{\"message\":\"") + text + "\"}"); });
    Engine engine(fake.socket());
    EXPECT_EQ(Code::failed_precondition, kill_container(engine, "x", "SIGTERM").code());
  }
}

TEST(StartError, SaysWhetherAnotherTryMayHelp) {
  struct Case {
    Status cause;
    Code code;
  };
  const Case cases[] = {
      {unavailable("no engine"), Code::failed_precondition},
      {internal_error("Bind for 0.0.0.0:80 failed: port is already allocated"), Code::failed_precondition},
      {deadline_exceeded("late"), Code::failed_precondition},
      {not_found("No such image: x"), Code::failed_precondition},
      {not_found("network mine not found"), Code::unknown},
      {invalid_argument("no such file"), Code::invalid_argument},
      {failed_precondition("conflict"), Code::unknown},
      {cancelled("stopped"), Code::cancelled},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.cause.to_string());
    EXPECT_EQ(Status(c.code, "create: " + c.cause.message()), start_error(c.cause, "create"));
  }
  EXPECT_EQ(failed_precondition("pull"), start_error(failed_precondition("pull"), ""));
}

}  // namespace
}  // namespace drover::docker
