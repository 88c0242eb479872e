// Lanes between two servers in one process, over 127.0.0.1.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/wire/lane_side.h"

namespace drover::wire {
namespace {

class Acceptor final : public LaneAcceptor {
 public:
  Result<LaneSink> accept(std::string_view greeting) override {
    greetings.add(std::string(greeting));
    if (refuses) return permission_denied("not of this cluster");
    return LaneSink([this](const std::string& message) {
      if (message == "bad") return invalid_argument("a message that cannot be read");
      messages.add(message);
      return ok_status();
    });
  }
  std::atomic<bool> refuses{false};
  Heard<std::string> greetings;
  Heard<std::string> messages;
};

struct Broken {
  Status why;
  bool was_open = false;
};

class Lanes : public ::testing::Test {
 protected:
  void SetUp() override {
    here.start(nullptr);
    there->start(&acceptor);
    ASSERT_TRUE(there->wire->listen("127.0.0.1:0", "ports.rpc").ok());
    address = there->wire->address();
  }
  void TearDown() override {
    lane.reset();
    other.reset();
    here.wire->stop();
  }
  void open(const std::string& greeting = "hello", const std::string& connection = "raft") {
    lane = here.wire->open_lane(address, connection, greeting,
                                {.open = [this] { opened.add(1); },
                                 .broken =
                                     [this](const Status& why, bool was_open) {
                                       broken.add({why, was_open});
                                     }});
  }

  Heard<int> opened;
  Heard<Broken> broken;
  Acceptor acceptor;
  std::unique_ptr<LaneSide> there = std::make_unique<LaneSide>();
  LaneSide here;
  std::string address;
  std::unique_ptr<Lane> lane;
  Heard<int> other_opened;
  std::unique_ptr<Lane> other;
};

TEST_F(Lanes, NothingIsLostAndOrderIsKeptWhileItIsOpen) {
  open();
  ASSERT_EQ(opened.wait_for(1).size(), 1u);

  constexpr size_t kCount = 5000;
  for (size_t i = 0; i < kCount; ++i) lane->send(std::to_string(i));

  const std::vector<std::string> messages = acceptor.messages.wait_for(kCount);
  ASSERT_EQ(messages.size(), kCount);
  for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(messages[i], std::to_string(i));
  EXPECT_EQ(acceptor.greetings.wait_for(1), std::vector<std::string>{"hello"});
  EXPECT_TRUE(broken.wait_for(0).empty());
}

TEST_F(Lanes, AGreetingOfAnyBytesArrivesWhole) {
  std::string greeting;
  for (int i = 0; i < 256; ++i) greeting += static_cast<char>(i);

  open(greeting);

  ASSERT_EQ(opened.wait_for(1).size(), 1u);
  EXPECT_EQ(acceptor.greetings.wait_for(1), std::vector<std::string>{greeting});
}

TEST_F(Lanes, ARefusedGreetingIsToldAndTriedAgain) {
  acceptor.refuses = true;
  open();
  const std::vector<Broken> attempts = broken.wait_for(2);
  ASSERT_GE(attempts.size(), 2u);
  for (const Broken& attempt : attempts) {
    EXPECT_EQ(attempt.why, permission_denied("not of this cluster"));
    EXPECT_FALSE(attempt.was_open);
  }
  lane->send("while it is closed");
  EXPECT_TRUE(opened.wait_for(0).empty());

  acceptor.refuses = false;
  ASSERT_EQ(opened.wait_for(1).size(), 1u);
  lane->send("now");
  EXPECT_EQ(acceptor.messages.wait_for(1), std::vector<std::string>{"now"});
}

TEST_F(Lanes, ASinksErrorBreaksTheLaneAndItOpensAgain) {
  open();
  ASSERT_EQ(opened.wait_for(1).size(), 1u);
  lane->send("one");
  lane->send("bad");

  const std::vector<Broken> breaks = broken.wait_for(1);
  ASSERT_EQ(breaks.size(), 1u);
  EXPECT_EQ(breaks[0].why, invalid_argument("a message that cannot be read"));
  EXPECT_TRUE(breaks[0].was_open);
  ASSERT_EQ(opened.wait_for(2).size(), 2u);
  lane->send("two");
  EXPECT_EQ(acceptor.messages.wait_for(2), (std::vector<std::string>{"one", "two"}));
}

TEST_F(Lanes, ItComesBackAfterTheOtherSideDoes) {
  open();
  ASSERT_EQ(opened.wait_for(1).size(), 1u);
  there.reset();
  const std::vector<Broken> breaks = broken.wait_for(1);
  ASSERT_GE(breaks.size(), 1u);
  EXPECT_TRUE(breaks[0].was_open);
  lane->send("to nobody");

  there = std::make_unique<LaneSide>();
  there->start(&acceptor);
  ASSERT_TRUE(there->wire->listen(address, "ports.rpc").ok());

  ASSERT_EQ(opened.wait_for(2).size(), 2u);
  lane->send("back");
  EXPECT_EQ(acceptor.messages.wait_for(1), std::vector<std::string>{"back"});
  EXPECT_EQ(acceptor.greetings.wait_for(2), (std::vector<std::string>{"hello", "hello"}));
}

TEST_F(Lanes, LanesOfOneAddressDoNotMix) {
  open();
  other = here.wire->open_lane(address, "raft-bulk", "other",
                               {.open = [this] { other_opened.add(1); }, .broken = [](const Status&, bool) {}});
  ASSERT_EQ(opened.wait_for(1).size(), 1u);
  ASSERT_EQ(other_opened.wait_for(1).size(), 1u);

  other->send("bad");  // breaks its own lane only

  EXPECT_EQ(other_opened.wait_for(2).size(), 2u);
  lane->send("still here");
  EXPECT_EQ(acceptor.messages.wait_for(1), std::vector<std::string>{"still here"});
  EXPECT_TRUE(broken.wait_for(0).empty());
}

TEST_F(Lanes, AnAgentWithoutAnAcceptorRefuses) {
  ASSERT_TRUE(here.wire->listen("127.0.0.1:0", "ports.rpc").ok());
  address = here.wire->address();

  open();

  const std::vector<Broken> attempts = broken.wait_for(1);
  ASSERT_GE(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].why.code(), Code::unimplemented) << attempts[0].why.to_string();
}

// One certificate that signed itself, so that each end takes the other's for one of its authority.
class LanesOverTls : public Lanes {
 protected:
  void SetUp() override {}
  Tls tls(const std::string& server_name) const {
    return {.ca = identity.cert, .cert = identity.cert, .key = identity.key, .server_name = server_name};
  }
  void start(const std::string& server_name) {
    here.start(nullptr, tls("localhost"));
    there->start(&acceptor, tls(server_name));
    ASSERT_TRUE(there->wire->listen("127.0.0.1:0", "ports.rpc").ok());
    address = there->wire->address();
  }

  const TlsIdentity identity = *make_tls_identity();
};

TEST_F(LanesOverTls, AServerIsKnownByItsCertificate) {
  start("localhost");
  open();

  ASSERT_EQ(opened.wait_for(1).size(), 1u);
  lane->send("hello");
  EXPECT_EQ(acceptor.messages.wait_for(1), std::vector<std::string>{"hello"});
}

// A node's certificate is of the same authority, and must not open a way into consensus.
TEST_F(LanesOverTls, WhoeverIsNoServerByItsCertificateIsRefused) {
  start("server.global.nomad");
  open();

  const std::vector<Broken> attempts = broken.wait_for(1);
  ASSERT_FALSE(attempts.empty());
  EXPECT_EQ(attempts[0].why, permission_denied("the caller's certificate does not carry the name server.global.nomad"));
  EXPECT_TRUE(acceptor.greetings.wait_for(0).empty());
}

TEST_F(Lanes, AClosedLaneSaysNothingMore) {
  open();
  ASSERT_EQ(opened.wait_for(1).size(), 1u);
  lane->send("last");
  ASSERT_EQ(acceptor.messages.wait_for(1).size(), 1u);
  lane.reset();

  here.wire->stop();  // waits for every stream

  EXPECT_EQ(opened.wait_for(0).size(), 1u);
  EXPECT_TRUE(broken.wait_for(0).empty());
}

}  // namespace
}  // namespace drover::wire
