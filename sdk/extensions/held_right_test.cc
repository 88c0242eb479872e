#include "drover/held_right.h"

#include <gtest/gtest.h>

#include <set>

#include "drover/access_control.h"
#include "drover/options.pb.h"
#include "sdk/testing/fake_host.h"

namespace drover {
namespace {

using namespace std::chrono_literals;

// May read logs in these namespaces.
class ReadsIn final : public Permissions {
 public:
  explicit ReadsIn(std::set<std::string, std::less<>> places) : places_(std::move(places)) {}
  bool may(Access_Capability capability, std::string_view name_space) const override {
    return capability == Access::READ_LOGS && (name_space == "*" ? !places_.empty() : places_.contains(name_space));
  }

 private:
  const std::set<std::string, std::less<>> places_;
};

class FakeAccess final : public AccessControl {
 public:
  void authenticate(const CallContext& context, std::function<void(Result<Identity>)> done) override {
    ++asked;
    EXPECT_EQ(context.query.token, "t");
    done(answer);
  }
  static Identity with(std::set<std::string, std::less<>> places) {
    return {Identity::Kind::token, "ada", std::make_shared<ReadsIn>(std::move(places))};
  }
  Result<Identity> answer = with({"a", "b"});
  int asked = 0;
};

class Holding : public ::testing::Test {
 protected:
  Holding() {
    host_.delay_tasks();
    EXPECT_TRUE(host_.rows().extend<AccessControl>("acl", access_).ok());
    rule_.set_namespace_(Access::READ_LOGS);
    rule_.set_of_object(true);
    context_.query.token = "t";
    context_.access = &rule_;
    context_.stop = caller_.get_token();
    context_.identity = *access_.answer;
  }
  // Its moment to look again has come, and it has lost the right.
  bool loses_with(Result<Identity> answer) {
    const testing::FakeCall call(context_, nullptr);
    const HeldRight right(host_, call, "a");
    host_.run_delayed();
    EXPECT_FALSE(right.stop().stop_requested());
    EXPECT_EQ(right.end(cancelled("its own end")), cancelled("its own end"));
    access_.answer = std::move(answer);
    host_.run_delayed();
    const bool is_lost = right.stop().stop_requested();
    EXPECT_EQ(right.end(ok_status()), is_lost ? right_is_lost() : ok_status());
    return is_lost;
  }

  testing::FakeHost host_;
  FakeAccess access_;
  Access rule_;
  CallContext context_;
  std::stop_source caller_;
};

TEST_F(Holding, EndsWithTheRightInTheNamespace) {
  EXPECT_TRUE(loses_with(FakeAccess::with({"b"}))) << "rights elsewhere are none here";
}
TEST_F(Holding, EndsWithTheToken) { EXPECT_TRUE(loses_with(permission_denied("ACL token not found"))); }
TEST_F(Holding, GoesOnWhileTheRightIsThere) { EXPECT_FALSE(loses_with(FakeAccess::with({"a"}))); }
TEST_F(Holding, GoesOnWhileNobodyKnows) { EXPECT_FALSE(loses_with(unavailable("No cluster leader"))); }

TEST_F(Holding, GoesOnByAnotherRuleOfTheMethod) {
  rule_.set_namespace_(Access::READ_FS);
  rule_.add_or_else()->set_namespace_(Access::READ_LOGS);
  EXPECT_FALSE(loses_with(FakeAccess::with({"a"})));
}

TEST_F(Holding, EndsWithItsCall) {
  const testing::FakeCall call(context_, nullptr);
  const HeldRight right(host_, call, "a");
  caller_.request_stop();
  EXPECT_TRUE(right.stop().stop_requested());
  EXPECT_EQ(right.end(ok_status()), ok_status());
}

TEST_F(Holding, NobodyLooksAfterItsEnd) {
  {
    const testing::FakeCall call(context_, nullptr);
    const HeldRight right(host_, call, "a");
  }
  host_.run_delayed();
  EXPECT_EQ(access_.asked, 0);
}

TEST_F(Holding, NobodyLooksWhereTheCallerIsNotRestricted) {
  context_.identity = {Identity::Kind::management, "root", all_permissions()};
  const testing::FakeCall call(context_, nullptr);
  const HeldRight right(host_, call, "a");
  host_.run_delayed();
  EXPECT_EQ(access_.asked, 0);
}

}  // namespace
}  // namespace drover
