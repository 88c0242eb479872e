#include "drover/units.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace drover {
namespace {

TEST(Units, AreFoundByTheirExactName) {
  ASSERT_NE(nullptr, find_unit("GiB"));
  EXPECT_EQ(1LL << 30, find_unit("GiB")->multiplier);
  EXPECT_EQ(Unit::Base::byte, find_unit("GiB")->base);
  EXPECT_EQ(Unit::Base::byte_rate, find_unit("GiB/s")->base);
  EXPECT_EQ(1'000'000'000, find_unit("MW")->multiplier / find_unit("mW")->multiplier);
  EXPECT_EQ(1000, find_unit("GHz")->multiplier / find_unit("MHz")->multiplier);
  EXPECT_EQ(nullptr, find_unit("gib"));
  EXPECT_EQ(nullptr, find_unit(""));
}

TEST(Units, StandBehindNumbers) {
  const struct {
    const char* text;
    std::optional<std::variant<int64_t, double>> number;
    const char* unit;  // null: none
  } cases[] = {{"8", int64_t{8}, nullptr},
               {"-8", int64_t{-8}, nullptr},
               {"+8", int64_t{8}, nullptr},
               {"8 GiB", int64_t{8}, "GiB"},
               {"8MiB/s", int64_t{8}, "MiB/s"},
               {"1.5 mW", 1.5, "mW"},
               {"8 W", int64_t{8}, "W"},
               {"99999999999999999999", 1e20, nullptr},
               {"8 GiBs", std::nullopt, nullptr},
               {"GiB", std::nullopt, nullptr},
               {"8 8", std::nullopt, nullptr},
               {"8 ", std::nullopt, nullptr},
               {"fast GiB", std::nullopt, nullptr},
               {"", std::nullopt, nullptr}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const auto quantity = parse_quantity(c.text);
    ASSERT_EQ(c.number.has_value(), quantity.has_value());
    if (!quantity) continue;
    EXPECT_EQ(*c.number, quantity->number);
    EXPECT_EQ(c.unit ? c.unit : "none", quantity->unit ? std::string(quantity->unit->name) : "none");
  }
}

TEST(Units, EachNameIsThereOnce) {
  std::set<std::string_view> names;
  for (const Unit& unit : known_units()) EXPECT_TRUE(names.insert(unit.name).second) << unit.name;
}

}  // namespace
}  // namespace drover
