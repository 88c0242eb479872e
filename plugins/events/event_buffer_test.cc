#include "event_buffer.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/batch.h"

namespace drover::events {
namespace {

class Buffer : public ::testing::Test {
 protected:
  void add(uint64_t index) {
    buffer_.add(std::make_shared<Group>(std::make_shared<TestBatch>(index, "c"), Topics::RightsChange()));
  }
  // The indexes from there to the end, and how it ends.
  std::string rest(EventBuffer::Place place) {
    std::string said;
    while (true) {
      const auto next = buffer_.next(place, SteadyTime(), {});
      if (std::holds_alternative<EventBuffer::Idle>(next)) return said + "idle";
      if (std::holds_alternative<EventBuffer::Lost>(next)) return said + "lost";
      if (std::holds_alternative<EventBuffer::Closed>(next)) return said + "closed";
      said += std::to_string(std::get<std::shared_ptr<const Group>>(next)->index()) + " ";
    }
  }
  std::string after(uint64_t index) {
    const auto place = buffer_.after(index);
    return place ? rest(*place) : place.status().message();
  }

  EventBuffer buffer_{3, 10};
};

TEST_F(Buffer, BeginsAtTheNearestGroup) {
  EXPECT_EQ(rest(buffer_.at_least(5)), "idle");
  for (const uint64_t index : {11, 13, 15, 17}) add(index);
  EXPECT_EQ(rest(buffer_.at_least(0)), "13 15 17 idle");
  EXPECT_EQ(rest(buffer_.at_least(12)), "13 15 17 idle");
  EXPECT_EQ(rest(buffer_.at_least(14)), "15 17 idle");
  EXPECT_EQ(rest(buffer_.at_least(17)), "17 idle");
  EXPECT_EQ(rest(buffer_.at_least(90)), "17 idle") << "the newest comes again";
  EXPECT_EQ(rest(buffer_.latest()), "idle");
}

TEST_F(Buffer, BeginsBehindAnIndexOrSaysThatItCannot) {
  EXPECT_EQ(after(10), "idle") << "nothing has happened since";
  EXPECT_EQ(after(9), "events behind index 9 are not held any more; those behind index 10 are");
  for (const uint64_t index : {11, 13, 15}) add(index);
  EXPECT_EQ(after(10), "11 13 15 idle");
  add(17);
  EXPECT_EQ(after(10), "events behind index 10 are not held any more; those behind index 11 are");
  EXPECT_EQ(after(11), "13 15 17 idle");
  EXPECT_EQ(after(17), "idle");
  EXPECT_EQ(after(50), "idle");
}

TEST_F(Buffer, AReaderThatIsTooSlowIsLost) {
  add(11);
  const EventBuffer::Place place = buffer_.at_least(0);
  for (const uint64_t index : {12, 13}) add(index);
  EXPECT_EQ(rest(place), "11 12 13 idle");
  add(14);
  EXPECT_EQ(rest(place), "lost");
}

TEST_F(Buffer, AnotherStateVoidsEveryPlace) {
  add(11);
  const EventBuffer::Place old = buffer_.at_least(0), end = buffer_.latest();
  buffer_.reset(30);
  EXPECT_EQ(rest(old), "closed");
  EXPECT_EQ(rest(end), "closed");
  EXPECT_EQ(after(29), "events behind index 29 are not held any more; those behind index 30 are");
  add(31);
  EXPECT_EQ(after(30), "31 idle");
  EXPECT_EQ(rest(end), "closed");
  buffer_.close();
  EXPECT_EQ(after(30), "closed");
}

}  // namespace
}  // namespace drover::events
