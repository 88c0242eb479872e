#include "wire_details.h"

#include <gtest/gtest.h>

#include "nomad/plugins/driver.pb.h"

namespace drover::serve {
namespace {

TEST(WireDetails, GiveErrorsTheFormThatHostsKnow) {
  const struct {
    const char* name;
    Status status, expected;
  } cases[] = {
      {"none", {}, {}},
      {"an unknown task", not_found("task not found for given id"), {Code::unknown, "task not found for given id"}},
      {"in other words", not_found("no web"), {Code::unknown, "task not found for given id: no web"}},
      {"wrong options", invalid_argument("no"), invalid_argument("no")},
      {"known already", already_exists("no"), already_exists("no")},
      {"called off", cancelled("no"), cancelled("no")},
      {"what hosts take for the program's end", unavailable("no"), {Code::unknown, "no"}},
      {"what hosts take for a missing method", unimplemented("no"), {Code::unknown, "no"}},
      {"anything else", internal_error("no"), {Code::unknown, "no"}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(c.expected, on_the_wire(c.status));
  }
}

// {code: 9, message: "no", details: [Any {type_url, value {recoverable: true}}]}
TEST(WireDetails, MarkWhatMayBeTriedAgain) {
  const Status status = on_the_wire(failed_precondition("no"));

  EXPECT_EQ(Code::failed_precondition, status.code());
  const std::string type = "type.googleapis.com/hashicorp.nomad.plugins.shared.structs.RecoverableError";
  const std::string any = "\n" + std::string(1, static_cast<char>(type.size())) + type + "\x12\x02\b\x01";
  EXPECT_EQ("\b\x09\x12\x02no\x1a" + std::string(1, static_cast<char>(any.size())) + any, status.details());
}

TEST(WireDetails, FillInWhatReadersInGoDemand) {
  driver::InspectTaskResponse inspected;
  inspected.mutable_task()->mutable_started_at()->set_seconds(7);
  complete(inspected);
  EXPECT_EQ(7, inspected.task().started_at().seconds());
  EXPECT_EQ(-62135596800, inspected.task().completed_at().seconds());
  EXPECT_TRUE(inspected.task().has_result());
  EXPECT_TRUE(inspected.has_driver());

  driver::TaskStats stats;
  (*stats.mutable_resource_usage_by_pid())["1"];
  complete(stats, 5'000'000'009);
  EXPECT_EQ(5, stats.timestamp().seconds());
  EXPECT_EQ(9, stats.timestamp().nanos());
  EXPECT_TRUE(stats.agg_resource_usage().has_cpu());
  EXPECT_TRUE(stats.resource_usage_by_pid().at("1").has_memory());
}

}  // namespace
}  // namespace drover::serve
