#include "device_value.h"

#include <gtest/gtest.h>

namespace drover::scheduler {
namespace {

TEST(DeviceValue, IsReadAsNumberTruthOrText) {
  const struct {
    const char* text;
    const char* expected;  // as protobuf prints it
  } cases[] = {
      {"8", "int_value: 8"},
      {"-3", "int_value: -3"},
      {"+3", "int_value: 3"},
      {"1.5", "float_value: 1.5"},
      {"8GiB", "int_value: 8 unit: \"GiB\""},
      {"8 GiB", "int_value: 8 unit: \"GiB\""},
      {"1.5 MB/s", "float_value: 1.5 unit: \"MB/s\""},
      {"250 mW", "int_value: 250 unit: \"mW\""},
      {"true", "bool_value: true"},
      {"false", "bool_value: false"},
      {"T4", "string_value: \"T4\""},
      {"fast GiB", "string_value: \"fast GiB\""},
      {"8 XB", "string_value: \"8 XB\""},
      {"GiB", "string_value: \"GiB\""},
      {"", "string_value: \"\""},
      {"99999999999999999999", "float_value: 1e+20"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    std::string printed = parse_device_value(c.text).ShortDebugString();
    while (printed.ends_with(' ')) printed.pop_back();
    EXPECT_EQ(c.expected, printed);
  }
}

TEST(DeviceValue, HoldsBackItsUnitAsText) {
  EXPECT_EQ("8GiB", to_text(parse_device_value("8 GiB")));
  EXPECT_EQ("1.5", to_text(parse_device_value("1.5")));
  EXPECT_EQ("true", to_text(parse_device_value("true")));
}

TEST(DeviceValue, MeetsOperators) {
  const struct {
    const char* left;  // null: absent, as in the following
    const char* operand;
    const char* right;
    bool expected;
  } cases[] = {
      {"8 GiB", "=", "8192 MiB", true},
      {"8 GiB", ">=", "8 GiB", true},
      {"11264 MiB", ">", "11 GB", true},
      {"11264 MiB", ">", "11 GiB", false},
      {"1 GHz", "=", "1000 MHz", true},
      {"1500 mW", "<", "2 W", true},
      {"1.5 W", "=", "1500 mW", true},
      {"2 MW", ">", "2 mW", true},
      {"8 GiB", ">", "7", false},
      {"8", ">", "7 GiB", false},
      {"8 GiB", ">", "7 GHz", false},
      {"8 GiB", "!=", "7 GHz", false},
      {"8 GiB", "!=", "7 GiB", true},
      {"9223372036854775807", ">", "9223372036854775806", true},
      {"2", "<", "10", true},
      {"two", "<", "ten", false},
      {"true", "=", "true", true},
      {"true", "!=", "false", true},
      {"true", "=", "1", false},
      {"T4", "=", "T4", true},
      {"T4", "", "T4", true},
      {"T4", "is", "P100", false},
      {"418.40.04", "version", ">= 410", true},
      {"418.40.04", "version", "< 410", false},
      {"418.40.04", "semver", ">= 410", true},
      {"v12.2", "semver", ">= 12", true},
      {"Tesla T4", "regexp", "^Tesla", true},
      {"a,b,c", "set_contains", "a,c", true},
      {"a,b,c", "set_contains_any", "x,c", true},
      {"a,b,c", "set_contains", "a,x", false},
      {nullptr, "=", "1", false},
      {nullptr, "!=", "1", true},
      {nullptr, "!=", nullptr, false},
      {"1", "is_set", nullptr, true},
      {nullptr, "is_set", nullptr, false},
      {nullptr, "is_not_set", nullptr, true},
      {"1", "distinct_hosts", "1", false},
  };
  const auto value = [](const char* text) { return text ? std::optional(parse_device_value(text)) : std::nullopt; };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.left ? c.left : "-") + " " + c.operand + " " + (c.right ? c.right : "-"));
    EXPECT_EQ(c.expected, device_values_meet(c.operand, value(c.left), value(c.right)));
  }
}

// An attribute that a plugin calls a text is compared as one, whatever the job's text looks like.
TEST(DeviceValue, ATextComparesWithWhatLooksLikeANumber) {
  v1::DeviceAttribute model;
  model.set_string_value("1080");

  EXPECT_TRUE(device_values_meet("=", model, parse_device_value("1080")));
  EXPECT_FALSE(device_values_meet("=", model, parse_device_value("1080 W")));
}

}  // namespace
}  // namespace drover::scheduler
