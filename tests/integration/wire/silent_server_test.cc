// An agent's answer to a server whose connection is alive and that says nothing, or takes nothing more.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "plugins/grpc/lane.h"
#include "plugins/grpc/node_link.h"
#include "tests/integration/wire/lane_side.h"

namespace drover::wire {
namespace {

using namespace std::chrono_literals;

constexpr auto kShort = 200ms;

// Takes every stream, welcomes it or not, and never reads.
class SilentServer final : public grpc::CallbackGenericService {
 public:
  explicit SilentServer(bool welcomes) : welcomes_(welcomes) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.RegisterCallbackGenericService(this);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    server_ = builder.BuildAndStart();
    address = "127.0.0.1:" + std::to_string(port);
  }
  ~SilentServer() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string address;
  Heard<std::string> streams;  // their methods

 private:
  class Silent final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Silent(bool welcomes) {
      if (welcomes) StartWrite(&welcome_);
    }
    void OnCancel() override { Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }

   private:
    const grpc::ByteBuffer welcome_ = to_buffer({});
  };

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    streams.add(context->method());
    return new Silent(welcomes_);
  }

  const bool welcomes_;
  std::unique_ptr<grpc::Server> server_;
};

class SilentServers : public ::testing::Test {
 protected:
  ~SilentServers() override { streams.stop(); }

  std::unique_ptr<Lane> open(const SilentServer& server) {
    return open_lane({.channel = channel_to(server.address),
                      .streams = streams,
                      .executor = pool,
                      .clock = clock,
                      .greeting = "hello",
                      .events = {.open = [this] { opened.add(1); },
                                 .broken =
                                     [this](const Status& why, bool was_open) {
                                       EXPECT_EQ(was_open, !opened.wait_for(0).empty());
                                       broken.add(why);
                                     }},
                      .patience = kShort});
  }
  static std::shared_ptr<grpc::Channel> channel_to(const std::string& address) {
    return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  }

  SystemClock clock;
  NoRouter router;
  Heard<int> opened;
  Heard<Status> broken;
  Heard<std::string> unreachable;
  Queues queues;
  StreamGroup streams{queues};
  ThreadPool pool{ThreadPool::Options{.workers = 2}, clock};
};

TEST_F(SilentServers, ALaneThatNobodyWelcomesIsBegunAnew) {
  SilentServer server(false);
  const auto lane = open(server);

  EXPECT_GE(server.streams.wait_for(2).size(), 2u);
  const std::vector<Status> breaks = broken.wait_for(1);
  ASSERT_FALSE(breaks.empty());
  EXPECT_EQ(breaks[0], unavailable("the other server does not answer"));
  EXPECT_TRUE(opened.wait_for(0).empty());
}

TEST_F(SilentServers, ALaneThatTakesNothingMoreIsBegunAnew) {
  SilentServer server(true);
  const auto lane = open(server);
  ASSERT_FALSE(opened.wait_for(1).empty());
  for (int i = 0; i < 4; ++i) lane->send(std::string(kMaxMessage / 2, 'x'));  // more than what may be on its way

  const std::vector<Status> breaks = broken.wait_for(1);
  ASSERT_FALSE(breaks.empty());
  EXPECT_EQ(breaks[0], unavailable("the other server takes nothing more"));
  EXPECT_GE(opened.wait_for(2).size(), 2u);
}

TEST_F(SilentServers, ALaneOnWhichNothingIsSaidStaysOpen) {
  SilentServer server(true);
  const auto lane = open(server);
  ASSERT_FALSE(opened.wait_for(1).empty());

  Heard<int> later;
  pool.post_at(clock.steady() + 5 * kShort, [&] { later.add(1); });
  ASSERT_FALSE(later.wait_for(1).empty());

  EXPECT_TRUE(broken.wait_for(0).empty());
  EXPECT_EQ(server.streams.wait_for(0).size(), 1u);
}

TEST_F(SilentServers, ANodeThatIsNotAttachedLooksForAnotherServer) {
  SilentServer server(true);
  NodeLink link({.node = Uuid::random(),
                 .secret = "secret",
                 .server = [&] { return server.address; },
                 .unreachable = [this](const std::string& address) { unreachable.add(address); },
                 .channel = channel_to,
                 .router = router,
                 .executor = pool,
                 .clock = clock,
                 .streams = streams,
                 .patience = kShort});

  const std::vector<std::string> given_up = unreachable.wait_for(2);
  ASSERT_GE(given_up.size(), 2u);
  EXPECT_EQ(given_up[0], server.address);
}

}  // namespace
}  // namespace drover::wire
