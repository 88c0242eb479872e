#include "places.h"

#include <gtest/gtest.h>

#include <vector>

namespace drover::wire {
namespace {

TEST(Places, AreCountedByConnectionAndAddress) {
  Places places(2);
  const auto first = places.take("ipv4:10.0.0.1:1");
  auto second = places.take("ipv4:10.0.0.1:2");
  EXPECT_TRUE(first && second);
  EXPECT_TRUE(places.take("ipv4:10.0.0.1:1")) << "a further call over a connection";
  EXPECT_FALSE(places.take("ipv4:10.0.0.1:3"));
  EXPECT_TRUE(places.take("ipv4:10.0.0.2:3")) << "another address";
  EXPECT_TRUE(places.take("ipv6:%5B::1%5D:3"));

  second.reset();

  EXPECT_TRUE(places.take("ipv4:10.0.0.1:3"));
  EXPECT_TRUE(places.take("ipv4:10.0.0.1:4")) << "what is not kept is free again";
}

TEST(Places, OfAConnectionAreFreeWhenItsLastCallEnds) {
  Places places(1);
  auto one = places.take("ipv4:10.0.0.1:1");
  auto further = places.take("ipv4:10.0.0.1:1");
  one.reset();
  EXPECT_FALSE(places.take("ipv4:10.0.0.1:2"));
  further.reset();
  EXPECT_TRUE(places.take("ipv4:10.0.0.1:2"));
}

TEST(Places, HaveNoLimitWhereNoneIsSet) {
  Places places(0);
  std::vector<std::shared_ptr<void>> taken;
  for (int i = 0; i < 1000; ++i) taken.push_back(places.take("ipv4:10.0.0.1:" + std::to_string(i)));
  for (const auto& one : taken) EXPECT_TRUE(one);
  Places few(1);
  EXPECT_TRUE(few.take("unix:/run/a")) << "this machine's own";
}

}  // namespace
}  // namespace drover::wire
