#include "keeper/turn_names.h"

#include <set>

#include "gtest/gtest.h"

namespace drover::mounts {
namespace {

TEST(TurnNames, TellThingsApart) {
  const std::set<std::string> names = {turn_of_volume("p", "v"),  turn_of_volume("p", "w"), turn_of_volume("pv", ""),
                                       turn_of_volume("q", "v"),  turn_of_name("p", "v"),   turn_of_snapshot("p", "v")};
  EXPECT_EQ(names.size(), 6U);
}

}  // namespace
}  // namespace drover::mounts
