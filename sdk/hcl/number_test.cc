#include "number.h"

#include <gtest/gtest.h>

#include <limits>

namespace drover::hcl {
namespace {

Number of(std::string_view text) { return *Number::parse(text); }

TEST(Number, TextStaysWhatItWas) {
  for (std::string_view text :
       {"0", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809",
        "123456789012345678901234567890", "0.1", "-0.1", "0.000001", "1234567.00000000000000000000000089",
        "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(text, of(text).to_string());
  }
}

TEST(Number, OtherFormsOfOneNumber) {
  struct Case {
    const char* text;
    const char* printed;
  };
  const Case cases[] = {{"+5", "5"},
                        {"1e3", "1000"},
                        {"1E+3", "1000"},
                        {"100e-2", "1"},
                        {"1.50", "1.5"},
                        {"1e-3", "0.001"},
                        {"-0", "0"},
                        {"-0.0", "0"},
                        {"007", "7"},
                        {"0e99999999", "0"},
                        {"1e22", "10000000000000000000000"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(c.printed, of(c.text).to_string());
  }
}

TEST(Number, WhatIsNoNumberOrOutOfRange) {
  for (std::string_view text : {"", "-", "+-1", "1.", ".5", "1e", "1e+", "0x10", "1_000", "inf", "nan", " 1", "1 ",
                                "1e1234", "1e-1234", "1e999999999999999999999", "-1e1234"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(Number::parse(text).has_value());
  }
  EXPECT_TRUE(Number::parse("1e1232").has_value());
  EXPECT_TRUE(Number::parse("1e-1232").has_value());
  EXPECT_FALSE(Number::parse("1" + std::string(20'000, '1')).has_value());
  EXPECT_FALSE(multiply(of("1e1000"), of("1e1000")).has_value());
  EXPECT_FALSE(divide(of("1e-1000"), of("1e1000")).has_value());
  EXPECT_FALSE(divide(of("1"), Number()).has_value());
  EXPECT_FALSE(modulo(of("1"), Number()).has_value());
}

TEST(Number, IntegersOfTheProgram) {
  EXPECT_EQ(std::numeric_limits<int64_t>::min(), *of("-9223372036854775808").as_integer());
  EXPECT_EQ(std::nullopt, of("9223372036854775808").as_integer());
  EXPECT_EQ(std::nullopt, of("0.5").as_integer());
  EXPECT_EQ(5, *divide(of("2.5"), of("0.5"))->as_integer());
  EXPECT_EQ("9223372036854775808", negate(Number::integer(std::numeric_limits<int64_t>::min())).to_string());
}

TEST(Number, DoublesOfTheProgram) {
  for (double value : {0.1, -2.5, 1e300, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.0}) {
    SCOPED_TRACE(value);
    EXPECT_EQ(value, Number::real(value)->as_double());
  }
  EXPECT_EQ("-9223372036854776000", Number::real(-9223372036854775808.0)->to_string());
  EXPECT_EQ(0.1, of("0.1").as_double());
  EXPECT_EQ(9007199254740992.0, of("9007199254740993").as_double());
  EXPECT_EQ(std::numeric_limits<double>::infinity(), of("1e400").as_double());
  EXPECT_EQ(-std::numeric_limits<double>::infinity(), of("-1e400").as_double());
  EXPECT_EQ(0.0, of("1e-400").as_double());
  EXPECT_FALSE(Number::real(std::numeric_limits<double>::quiet_NaN()).has_value());
  EXPECT_FALSE(Number::real(std::numeric_limits<double>::infinity()).has_value());
}

TEST(Number, AResultHasTheLargerPrecision) {
  EXPECT_EQ("0.3", add(of("0.1"), of("0.2"))->to_string());
  EXPECT_EQ("0.30000000000000004", add(*Number::real(0.1), *Number::real(0.2))->to_string());
  EXPECT_EQ("0.33333333333333333334", divide(Number::integer(1), Number::integer(3))->to_string());
  EXPECT_EQ(157u, divide(of("1"), of("3"))->to_string().size());
  EXPECT_EQ("121932631137021795226185032733622923332237463801111263526900",
            multiply(of("123456789012345678901234567890"), of("987654321098765432109876543210"))->to_string());
}

TEST(Number, RemainderHasTheSignOfTheDividend) {
  EXPECT_EQ("-1.5", modulo(of("-7.5"), of("2"))->to_string());
  EXPECT_EQ("1.5", modulo(of("7.5"), of("-2"))->to_string());
  EXPECT_EQ("0", modulo(Number::integer(std::numeric_limits<int64_t>::min()), Number::integer(-1))->to_string());
}

TEST(Number, Order) {
  EXPECT_LT(of("9223372036854775807"), of("9223372036854775808"));
  EXPECT_LT(of("-1e50"), of("-1e49"));
  EXPECT_LT(of("0.1"), of("0.10000000000000000000000001"));
  EXPECT_EQ(of("0.1"), *Number::real(0.1));
  EXPECT_NE(of("9007199254740993"), of("9007199254740992"));
}

TEST(Number, WholeNumbersNextToIt) {
  EXPECT_EQ("2", ceil(of("1.0000000000000000000000001")).to_string());
  EXPECT_EQ("-1", ceil(of("-1.5")).to_string());
  EXPECT_EQ("-2", floor(of("-1.5")).to_string());
  EXPECT_EQ("123456789012345678901234567890", floor(of("123456789012345678901234567890.5")).to_string());
}

TEST(Number, OtherBases) {
  EXPECT_EQ("1208925819614629174706175", parse_whole("ffffffffffffffffffff", 16)->to_string());
  EXPECT_EQ("-61", parse_whole("-Z", 62)->to_string());
  EXPECT_EQ("1" + std::string(199, '0') + "1", parse_whole("1" + std::string(199, '0') + "1", 10)->to_string());
  for (std::string_view text : {"", "-", "12", "1_0", "+-1"}) EXPECT_FALSE(parse_whole(text, 2).has_value()) << text;
  EXPECT_FALSE(parse_whole("1" + std::string(4'200, '0'), 2).has_value());
  EXPECT_EQ("-ff", whole_text(of("-255"), 16));
  EXPECT_EQ("1" + std::string(64, '0'), whole_text(of("18446744073709551616"), 2));
  EXPECT_EQ(std::nullopt, whole_text(of("0.5"), 10));
}

TEST(Number, TextIsNeverLongerThanItsEstimate) {
  for (const char* text : {"1e1232", "1e-1232", "0.1", "-123456789012345678901234567890.5", "9223372036854775808"}) {
    SCOPED_TRACE(text);
    Number number = *divide(of(text), of("3"));
    EXPECT_LE(number.to_string().size(), number.text_size());
    EXPECT_LE(of(text).to_string().size(), of(text).text_size());
  }
}

}  // namespace
}  // namespace drover::hcl
