#include "contact/contact_watch.h"

#include <gtest/gtest.h>

#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

SteadyTime at(std::chrono::nanoseconds time) { return SteadyTime(time); }

TEST(ContactLimits, StopWhatIsOverdue) {
  const Uuid a = Uuid::random(), b = Uuid::random();
  const struct {
    const char* name;
    std::vector<ContactLimit> limits;
    std::chrono::seconds now;
    std::vector<Uuid> stop;
    std::optional<std::chrono::seconds> next;
  } cases[] = {
      {"nobody asks", {}, 1000s, {}, {}},
      {"in contact", {{a, 10s}, {b, 5s}}, 100s, {}, 105s},
      {"one is due", {{a, 10s}, {b, 5s}}, 105s, {b}, 110s},
      {"not a moment earlier", {{a, 10s}}, 109s, {}, 110s},
      {"all are due", {{a, 10s}, {b, 5s}}, 200s, {a, b}, {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const Overdue result = overdue(c.limits, at(100s), at(c.now));
    EXPECT_EQ(result.stop, c.stop);
    EXPECT_EQ(result.next.has_value(), c.next.has_value());
    if (result.next && c.next) {
      EXPECT_EQ(*result.next, at(*c.next));
    }
  }
}

TEST(ContactMarks, CountWithinOneRunOfTheMachine) {
  const int64_t before = std::chrono::nanoseconds(40s).count();
  EXPECT_EQ(contact_of(ContactMark{"boot", before}, "boot", at(100s)), at(40s));
  EXPECT_EQ(contact_of(ContactMark{"other", before}, "boot", at(100s)), at(100s));
  EXPECT_EQ(contact_of({}, "boot", at(100s)), at(100s));
  EXPECT_EQ(contact_of(ContactMark{"boot", before}, "boot", at(30s)), at(30s));
}

class Contact : public AgentTest {
 protected:
  std::string place_with_limit(std::chrono::nanoseconds limit) {
    stop_after_ = limit.count();
    return place({task("web")});
  }
};

TEST_F(Contact, AllocationsEndWhenNoServerIsReached) {
  start();
  const std::string limited = place_with_limit(2s);
  stop_after_ = 0;
  const std::string free = place({task("other")});
  until_status(limited, v1::CLIENT_STATUS_RUNNING);
  until_status(free, v1::CLIENT_STATUS_RUNNING);
  servers_.refuse_heartbeats(true);
  until_status(limited, v1::CLIENT_STATUS_COMPLETE);
  EXPECT_EQ(servers_.until(free, [](const v1::Allocation&) { return true; }).client_status(),
            v1::CLIENT_STATUS_RUNNING);
}

TEST_F(Contact, TheSilenceOfAFormerAgentCounts) {
  start();
  const std::string limited = place_with_limit(1h);
  until_status(limited, v1::CLIENT_STATUS_RUNNING);
  ASSERT_TRUE(servers_.wait([&] { return AgentStore(store_).contact()->has_value(); }));
  stop();
  // An hour ago, as far as the disk says.
  AgentStore rows(store_);
  ContactMark mark = **rows.contact();
  mark.steady_ns -= std::chrono::nanoseconds(1h).count();
  ASSERT_TRUE(rows.put_contact(mark).ok());
  servers_.expect_another_agent();
  servers_.refuse_heartbeats(true);
  start_unheard();
  EXPECT_TRUE(driver_.wait_stopped("web"));
}

TEST_F(Contact, ASilenceIsNotCountedFromBeforeAnybodyAskedForIt) {
  start();
  const std::string limited = place_with_limit(1h);
  until_status(limited, v1::CLIENT_STATUS_RUNNING);
  ASSERT_TRUE(servers_.wait([&] { return AgentStore(store_).contact()->has_value(); }));
  servers_.stop(limited);
  until_status(limited, v1::CLIENT_STATUS_COMPLETE);
  EXPECT_TRUE(servers_.wait([&] { return !AgentStore(store_).contact()->has_value(); }));
}

TEST_F(Contact, TheMarkOfAFormerAgentGoesWhenNobodyAsksForIt) {
  ASSERT_TRUE(AgentStore(store_).put_contact({"boot", 1}).ok());
  start();
  EXPECT_TRUE(servers_.wait([&] { return !AgentStore(store_).contact()->has_value(); }));
}

}  // namespace
}  // namespace drover::agent
