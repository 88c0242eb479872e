#include "placing/holdings.h"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "placing/cluster.h"

namespace drover::scheduler {
namespace {

std::vector<std::string> ids_of(const Holdings& holdings) {
  std::vector<std::string> ids;
  for (const auto& holding : holdings) ids.push_back(holding->id);
  return ids;
}

TEST(Holdings, AreThoseOfAPlainListAndCopiesStayAsTheyWere) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 chance(seed);
    Holdings holdings;
    std::vector<std::string> model;
    std::vector<std::pair<Holdings, std::vector<std::string>>> copies;
    for (int step = 0; step < 1500; ++step) {
      // More come than go in the first half, and the other way round in the second.
      if (model.empty() || chance() % 10 < (step < 750 ? 7U : 3U)) {
        model.push_back(std::to_string(step));
        holdings.push_back(std::make_shared<Holding>(Holding{.id = model.back()}));
      } else {
        const size_t at = chance() % model.size();
        model.erase(model.begin() + static_cast<ptrdiff_t>(at));
        const Holdings before = holdings;
        holdings.erase(std::next(before.begin(), static_cast<ptrdiff_t>(at)));
      }
      EXPECT_EQ(holdings.empty(), model.empty());
      if (step % 100 == 0) copies.emplace_back(holdings, model);
    }
    EXPECT_EQ(ids_of(holdings), model);
    for (const auto& [copy, ids] : copies) EXPECT_EQ(ids_of(copy), ids);
    while (!model.empty()) {
      holdings.erase(holdings.begin());
      model.erase(model.begin());
      ASSERT_EQ(ids_of(holdings), model);
    }
    EXPECT_TRUE(holdings.empty());
  }
}

}  // namespace
}  // namespace drover::scheduler
