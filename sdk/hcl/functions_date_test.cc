#include "functions_testing.h"

namespace drover::hcl {
namespace {

TEST(DateFunctions, FormatDate) {
  const FunctionCase cases[] = {
      {R"(formatdate("YYYY-MM-DD hh:mm:ss", "2018-01-02T23:12:01Z"))", R"("2018-01-02 23:12:01")"},
      {R"(formatdate("DD MMM YYYY hh:mm ZZZ", "2018-01-02T23:12:01Z"))", R"("02 Jan 2018 23:12 UTC")"},
      {R"(formatdate("EEEE, DD-MMM-YY hh:mm:ss ZZZ", "2018-01-02T23:12:01-08:00"))",
       R"("Tuesday, 02-Jan-18 23:12:01 -0800")"},
      {R"(formatdate("EEE MMMM D, H:mmAA Z", "2020-02-29T00:05:09+05:30"))", R"("Sat February 29, 12:05AM +05:30")"},
      {R"(formatdate("HH h m s M aa ZZZZ ZZZZZ", "2020-02-09T13:05:09Z"))", R"("01 13 5 9 2 pm +0000 +00:00")"},
      {R"(formatdate("'it''s' YYYY", "2020-02-29T00:00:00Z"))", R"("it's 2020")"},
      {R"(formatdate("", "2020-02-29T00:00:00Z"))", R"("")"},
      {R"(formatdate("YYY", "2020-02-29T00:00:00Z"))",
       "formatdate: \"YYY\" in the format means nothing; put text in quotes"},
      {R"(formatdate("'x", "2020-02-29T00:00:00Z"))", "formatdate: argument 1 has a quote that does not end"},
      {R"(formatdate("YYYY", "2019-02-29T00:00:00Z"))",
       "formatdate: argument 2 is no RFC 3339 timestamp: \"2019-02-29T00:00:00Z\""},
      {R"(formatdate("YYYY", "2020-02-29"))", "formatdate: argument 2 is no RFC 3339 timestamp: \"2020-02-29\""},
  };
  expect_results(cases);
}

TEST(DateFunctions, TimeAdd) {
  const FunctionCase cases[] = {
      {R"(timeadd("2017-11-22T00:00:00Z", "10m"))", R"("2017-11-22T00:10:00Z")"},
      {R"(timeadd("2017-12-31T23:59:59Z", "1s"))", R"("2018-01-01T00:00:00Z")"},
      {R"(timeadd("2020-03-01T00:00:00+02:00", "-24h"))", R"("2020-02-29T00:00:00+02:00")"},
      {R"(timeadd("2020-01-01T00:00:00.7Z", "500ms"))", R"("2020-01-01T00:00:01Z")"},
      {R"(timeadd("1969-12-31T23:59:59Z", "-1ms"))", R"("1969-12-31T23:59:58Z")"},
      {R"(timeadd("2020-01-01T00:00:00Z", "1d"))", nullptr},
  };
  for (const FunctionCase& c : cases) {
    const std::string result = result_of(c.text);
    if (c.result) {
      EXPECT_EQ(c.result, result) << c.text;
    } else {
      EXPECT_TRUE(result.starts_with("timeadd: argument 2: ")) << result;
    }
  }
}

}  // namespace
}  // namespace drover::hcl
