#include "call_codec.h"

#include <gtest/gtest.h>

namespace drover::wire {
namespace {

using namespace std::chrono_literals;

TEST(Wire, ContextSurvivesTheWay) {
  const SteadyTime now = SteadyTime(100s);
  CallContext context;
  context.method = "/drover.v1.Jobs/List";
  context.query = {.region = "global",
                   .name_space = "*",
                   .token = "secret",
                   .min_index = 7,
                   .max_wait = 5s,
                   .stale = true,
                   .prefix = "we",
                   .filter = "Status == \"dead\"",
                   .per_page = 3,
                   .next_token = "next",
                   .reverse = true};
  context.node_secret = "proof";
  context.remote_address = "127.0.0.1:9";
  context.path = {"a", "b"};
  context.deadline = now + 3s;
  const CallContext back = from_wire(to_wire(context, now), now + 10s);  // another clock
  EXPECT_EQ(back.method, context.method);
  EXPECT_EQ(back.query.region, "global");
  EXPECT_EQ(back.query.name_space, "*");
  EXPECT_EQ(back.query.token, "secret");
  EXPECT_EQ(back.query.min_index, 7u);
  EXPECT_EQ(back.query.max_wait, 5s);
  EXPECT_TRUE(back.query.stale);
  EXPECT_EQ(back.query.prefix, "we");
  EXPECT_EQ(back.query.filter, context.query.filter);
  EXPECT_EQ(back.query.per_page, 3);
  EXPECT_EQ(back.query.next_token, "next");
  EXPECT_TRUE(back.query.reverse);
  EXPECT_EQ(back.node_secret, "proof");
  EXPECT_EQ(back.remote_address, "127.0.0.1:9");
  EXPECT_EQ(back.path, context.path);
  EXPECT_EQ(back.deadline, now + 13s);
}

TEST(Wire, IdentityDoesNotTravel) {
  CallContext context;
  context.identity = {Identity::Kind::management, "root"};
  const CallContext back = from_wire(to_wire(context, SteadyTime()), SteadyTime());
  EXPECT_EQ(back.identity.kind, Identity::Kind::anonymous);
  EXPECT_EQ(back.identity.name, "");
}

TEST(Wire, DeadlinesAtTheEdges) {
  const SteadyTime now = SteadyTime(100s);
  CallContext context;
  EXPECT_EQ(from_wire(to_wire(context, now), now).deadline, SteadyTime::max());
  context.deadline = now - 5s;
  EXPECT_EQ(from_wire(to_wire(context, now), now).deadline, now + 1ns);
  v1::CallContext far;
  far.set_timeout_ns(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(from_wire(far, now).deadline, SteadyTime::max());
}

TEST(Wire, MetaSurvivesTheWay) {
  const ReplyMeta back =
      from_wire(to_wire(ReplyMeta{.index = 9, .last_contact = 4ms, .known_leader = true, .next_token = "more"}));
  EXPECT_EQ(back.index, 9u);
  EXPECT_EQ(back.last_contact, 4ms);
  EXPECT_TRUE(back.known_leader);
  EXPECT_EQ(back.next_token, "more");
}

TEST(Wire, StatusSurvivesTheWay) {
  const Status status = not_found("alloc not found").with_details("bytes");
  WireStatus wire = to_wire(status);
  EXPECT_EQ(from_wire(wire.code, wire.text, wire.details), status);
  EXPECT_TRUE(from_wire(0, "", "").ok());
  EXPECT_EQ(from_wire(99, "odd", "").code(), Code::unknown);
  EXPECT_EQ(from_wire(-1, "odd", "").code(), Code::unknown);
  EXPECT_EQ(to_wire(internal_error(std::string(100000, 'x'))).text.size(), 8192u);
}

}  // namespace
}  // namespace drover::wire
