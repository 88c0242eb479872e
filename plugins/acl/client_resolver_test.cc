// Whom a client agent believes, and for how long: servers that answer, change their mind, or are away.
#include "client_resolver.h"

#include <gtest/gtest.h>

#include "drover/api/acl.pb.h"
#include "drover/options.pb.h"
#include "sdk/testing/fake_host.h"

namespace drover::acl {
namespace {

using namespace std::chrono_literals;

constexpr const char* kMethod = "/drover.v1.ClientFiles/Logs";
constexpr const char* kRules = "namespace \"default\" { policy = \"read\" }";

class ClientAgent final : public drover::testing::FakeHost {
 public:
  std::vector<std::string> methods() const override { return {kMethod}; }
};

v1::WhoAmIResponse token_with(const std::string& rules, int64_t ends_at = 0) {
  v1::WhoAmIResponse answer;
  answer.set_kind(v1::WhoAmIResponse::TOKEN);
  answer.set_name("ada");
  if (!rules.empty()) answer.add_rules(rules);
  answer.set_expiration_time(ends_at);
  return answer;
}

class ClientResolving : public ::testing::Test {
 protected:
  ClientResolving() {
    host_.answer_calls_with([this](const CallContext& context, const std::string&) -> Result<std::string> {
      ++asked_;
      EXPECT_EQ(context.method, "/drover.v1.Acl/WhoAmI");
      EXPECT_TRUE(context.query.stale);
      if (!answer_) return answer_.status();
      return answer_->SerializeAsString();
    });
  }
  Result<Identity> resolve(const std::string& token = "t", const std::string& method = kMethod) {
    CallContext context;
    context.method = method;
    context.query.token = token;
    Result<Identity> found = internal_error("not told");
    resolver_.resolve(context, [&](Result<Identity> identity) { found = std::move(identity); });
    return found;
  }
  bool may_read(const std::string& token = "t") {
    const auto identity = resolve(token);
    return identity && identity->permissions && identity->permissions->may(Access::READ_JOB, "default");
  }
  // How often a server is asked when it is looked at each second for so long.
  int asked_within(std::chrono::seconds time, const std::string& token) {
    asked_ = 0;
    for (auto passed = 0s; passed < time; passed += 1s) {
      EXPECT_TRUE(resolve(token).ok());
      host_.forward_clock().advance(1s);
    }
    return asked_;
  }

  ClientAgent host_;
  ClientResolver resolver_;
  Result<v1::WhoAmIResponse> answer_ = token_with(kRules);
  int asked_ = 0;
};

TEST(TrustedFor, IsTheShortestOfWhatACallerRestsOn) {
  const TrustedFor times{.token = 9s, .policy = 7s, .role = 5s};
  const auto of = [&](Identity::Kind kind) { return trusted_for({kind, ""}, times); };
  EXPECT_EQ(of(Identity::Kind::management), 9s);
  EXPECT_EQ(of(Identity::Kind::client), 9s);
  EXPECT_EQ(of(Identity::Kind::token), 5s);
  EXPECT_EQ(of(Identity::Kind::anonymous), 7s);
  EXPECT_EQ(of(Identity::Kind::workload), 7s);
  EXPECT_EQ(trusted_for({Identity::Kind::token, ""}, {.token = 1s, .policy = 7s, .role = 5s}), 1s);
}

TEST_F(ClientResolving, AsksAgainAfterTheTimeOfEach) {
  resolver_.start(host_, {.token = 20s, .policy = 10s, .role = 5s});
  EXPECT_EQ(asked_within(20s, "t"), 4);
  answer_->Clear();
  answer_->set_kind(v1::WhoAmIResponse::ANONYMOUS);
  EXPECT_EQ(asked_within(20s, ""), 2);
  answer_ = token_with("");
  answer_->set_management(true);
  EXPECT_EQ(asked_within(20s, "root"), 1);
}

TEST_F(ClientResolving, AsksEachTimeWhereNothingIsTrusted) {
  resolver_.start(host_, {.token = 0s, .policy = 10s, .role = 10s});
  EXPECT_EQ(asked_within(5s, "t"), 5);
}

TEST_F(ClientResolving, HearsOfALostRight) {
  resolver_.start(host_, {});
  EXPECT_TRUE(may_read());
  answer_ = token_with("");
  EXPECT_TRUE(may_read()) << "it is trusted still";
  host_.forward_clock().advance(30s);
  EXPECT_FALSE(may_read());
  answer_ = permission_denied("Permission denied");
  host_.forward_clock().advance(30s);
  EXPECT_EQ(resolve().status().code(), Code::permission_denied);
  answer_ = unavailable("No cluster leader");
  EXPECT_EQ(resolve().status().code(), Code::unavailable) << "what was refused is no longer known";
}

TEST_F(ClientResolving, BelievesWhatItKnowsForADayWithoutServers) {
  resolver_.start(host_, {});
  EXPECT_TRUE(may_read());
  answer_ = unavailable("No cluster leader");
  host_.forward_clock().advance(ClientResolver::kGrace - 1min);
  EXPECT_TRUE(may_read());
  EXPECT_EQ(resolve("another").status().code(), Code::unavailable);
  host_.forward_clock().advance(1min);
  EXPECT_EQ(resolve().status().code(), Code::unavailable);
}

TEST_F(ClientResolving, NeverBelievesATokenBeyondItsEnd) {
  resolver_.start(host_, {});
  answer_ = token_with(kRules, host_.clock().wall_ns() + std::chrono::nanoseconds(100s).count());
  EXPECT_TRUE(may_read());
  answer_ = unavailable("No cluster leader");
  host_.forward_clock().advance(50s);
  EXPECT_TRUE(may_read());
  host_.forward_clock().advance(50s);
  EXPECT_EQ(resolve().status().code(), Code::unavailable);
}

TEST_F(ClientResolving, RemembersTheNewestCallersOnly) {
  resolver_.start(host_, {});
  EXPECT_TRUE(may_read("first"));
  for (size_t i = 0; i < ClientResolver::kMostCallers; ++i) EXPECT_TRUE(may_read(std::to_string(i)));
  asked_ = 0;
  EXPECT_TRUE(may_read(std::to_string(ClientResolver::kMostCallers - 1)));
  EXPECT_EQ(asked_, 0);
  EXPECT_TRUE(may_read("first"));
  EXPECT_EQ(asked_, 1);
}

TEST_F(ClientResolving, LeavesOthersToWhoAnswersThem) {
  resolver_.start(host_, {});
  const auto identity = resolve("t", "/drover.v1.Jobs/List");
  ASSERT_TRUE(identity.ok());
  EXPECT_EQ(identity->kind, Identity::Kind::anonymous);
  EXPECT_EQ(asked_, 0);
}

}  // namespace
}  // namespace drover::acl
