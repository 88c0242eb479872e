// Checks of tokens and limits of attempts: pure, by tables.
#include <gtest/gtest.h>

#include "drover/api/acl.pb.h"
#include "guard/attempts.h"
#include "guard/token_gate.h"

namespace drover::api {
namespace {

using namespace std::chrono_literals;

constexpr SteadyTime kNow{1000s};

TEST(Bucket, GivesWhatItHoldsAndFillsEvenly) {
  Bucket bucket(5, 60s);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(bucket.take(kNow)) << i;
  EXPECT_FALSE(bucket.take(kNow));
  EXPECT_EQ(bucket.wait(kNow), 12s);
  EXPECT_FALSE(bucket.take(kNow + 11s));
  EXPECT_EQ(bucket.wait(kNow + 11s), 1s);
  EXPECT_TRUE(bucket.take(kNow + 12s));
  EXPECT_FALSE(bucket.take(kNow + 12s));
  EXPECT_FALSE(bucket.is_full(kNow + 71s));
  EXPECT_TRUE(bucket.is_full(kNow + 72s));
}

TEST(Bucket, HoldsNoMoreThanItsSizeAndKnowsNoPast) {
  Bucket bucket(1, 60s);
  EXPECT_TRUE(bucket.take(kNow + 1h));
  EXPECT_FALSE(bucket.take(kNow + 1h));
  EXPECT_FALSE(bucket.take(kNow)) << "time that goes back fills nothing";
}

TEST(Attempts, AreCountedByPathAndAddress) {
  const struct {
    const char* path;
    int a_minute;
  } cases[] = {{"/v1/acl/bootstrap", 5},
               {"/v1/acl/token/onetime/exchange", 30},
               {"/v1/acl/login", 30},
               {"/v1/acl/oidc/auth-url", 30},
               {"/v1/acl/oidc/complete-auth", 30}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.path);
    Attempts attempts;
    for (int i = 0; i < c.a_minute; ++i) EXPECT_FALSE(attempts.refusal("a", c.path, false, kNow)) << i;
    EXPECT_EQ(attempts.refusal("a", c.path, false, kNow), std::chrono::seconds(60 / c.a_minute));
    EXPECT_FALSE(attempts.refusal("b", c.path, false, kNow)) << "another address";
    EXPECT_FALSE(attempts.refusal("a", "/v1/jobs", true, kNow)) << "another path";
    EXPECT_FALSE(attempts.refusal("a", c.path, false, kNow + 1min));
  }
  Attempts attempts;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(attempts.refusal("a", "/v1/jobs", true, kNow));
  EXPECT_EQ(attempts.size(), 0u) << "nothing is kept of what has no limit";
}

TEST(Attempts, WithTokensThatAreNoneEndAfterThreeHundred) {
  Attempts attempts;
  for (int i = 0; i < 300; ++i) {
    EXPECT_FALSE(attempts.refusal("a", "/v1/jobs", true, kNow)) << i;
    attempts.failed("a", kNow);
  }
  EXPECT_EQ(attempts.refusal("a", "/v1/jobs", true, kNow), 1s);
  EXPECT_FALSE(attempts.refusal("a", "/v1/jobs", false, kNow)) << "no token, no guess";
  EXPECT_FALSE(attempts.refusal("b", "/v1/jobs", true, kNow));
  EXPECT_FALSE(attempts.refusal("a", "/v1/jobs", true, kNow + 1s));
}

TEST(Attempts, AreNotCountedWhereThatIsTurnedOff) {
  Attempts attempts(false);
  for (int i = 0; i < 1000; ++i) {
    attempts.failed("a", kNow);
    EXPECT_FALSE(attempts.refusal("a", "/v1/acl/bootstrap", true, kNow));
  }
  EXPECT_EQ(attempts.size(), 0u);
}

TEST(Attempts, OfManyAddressesAreForgotten) {
  Attempts attempts;
  for (int i = 0; i < 10'200; ++i) attempts.failed(std::to_string(i), kNow);
  EXPECT_LE(attempts.size(), 10'000u);
  attempts.failed("late", kNow + 1h);
  for (int i = 0; i < 10'000; ++i) attempts.failed("x" + std::to_string(i), kNow + 1h);
  EXPECT_LE(attempts.size(), 10'000u);
}

TEST(Attempts, OfOneAddressAreNotForgottenForManyOthers) {
  Attempts attempts;
  for (int i = 0; i < 300; ++i) attempts.failed("guesser", kNow);
  for (int i = 0; i < 10'200; ++i) attempts.failed(std::to_string(i), kNow);
  EXPECT_EQ(attempts.size(), 10'000u);
  EXPECT_EQ(attempts.refusal("guesser", "/v1/jobs", true, kNow), 1s);
}

TEST(Attempts, AreCountedByMachine) {
  const struct {
    const char *address, *place;
  } cases[] = {
      {"192.0.2.1", "192.0.2.1"},
      {"::ffff:192.0.2.1", "192.0.2.1"},
      {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
      {"2001:db8:1:2::1", "2001:db8:1:2::/64"},
      {"2001:db8:1:3::1", "2001:db8:1:3::/64"},
      {"fe80::1%eth0", "fe80::/64"},
      {"::1", "::/64"},
      {"socket 1", "socket 1"},
      {"", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(place_of(c.address), c.place) << c.address;
}

TEST(TokenGate, ReadsTheTokenOrSaysWhyNot) {
  const struct {
    const char* name;
    std::string token, authorization;
    int status;  // 0: shown
    const char* shown;
  } cases[] = {
      {"none", "", "", 401, ""},
      {"another scheme", "", "Basic abc", 401, ""},
      {"a scheme alone", "", "Bearer", 401, ""},
      {"a header of its own", "abc", "", 0, "abc"},
      {"bearer", "", "bEARER abc", 0, "abc"},
      {"both", "abc", "Bearer def", 0, "abc"},
      {"two words", "a b", "", 400, ""},
      {"a control character", "a\x01", "", 400, ""},
      {"not ASCII", "\xc3\xa4", "", 400, ""},
      {"as long as may be", std::string(16 << 10, 'a'), "", 0, nullptr},
      {"too long", std::string((16 << 10) + 1, 'a'), "", 400, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto got = shown_token(c.token, c.authorization);
    const auto* answer = std::get_if<Answer>(&got);
    EXPECT_EQ(answer ? answer->status : 0, c.status);
    EXPECT_TRUE(answer || !c.shown || std::get<std::string>(got) == c.shown);
  }
}

Reply reply_of(v1::WhoAmIResponse::Kind kind) {
  v1::WhoAmIResponse who;
  who.set_kind(kind);
  return {who.SerializeAsString(), {}};
}

TEST(TokenGate, LetsInTokensAndTasksAlone) {
  const struct {
    const char* name;
    Result<Reply> reply;
    int status;  // 0: let in
    bool is_guess = false;
  } cases[] = {
      {"a token", reply_of(v1::WhoAmIResponse::TOKEN), 0},
      {"a task", reply_of(v1::WhoAmIResponse::WORKLOAD), 0},
      {"anonymous", reply_of(v1::WhoAmIResponse::ANONYMOUS), 403},
      {"a node", reply_of(v1::WhoAmIResponse::CLIENT), 403},
      {"nothing said", reply_of(v1::WhoAmIResponse::KIND_UNSPECIFIED), 403},
      {"not an answer", Reply{"\xff", {}}, 500},
      {"a bad token", permission_denied("Permission denied"), 403, true},
      {"an unknown token", not_found("ACL token not found"), 403, true},
      {"access control is off", invalid_argument("ACL support disabled"), 403},
      {"no leader", unavailable("No cluster leader"), 500},
      {"ours", internal_error("broken"), 500},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto answer = judged(c.reply);
    EXPECT_EQ(answer ? answer->status : 0, c.status);
    EXPECT_EQ(is_guess(c.reply), c.is_guess);
  }
  const Question question = whoami("abc");
  EXPECT_EQ(question.context.method, "/drover.v1.Acl/WhoAmI");
  EXPECT_EQ(question.context.query.token, "abc");
}

}  // namespace
}  // namespace drover::api
