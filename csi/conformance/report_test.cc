#include "report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace drover::csi_kit {
namespace {

using Verdict = Outcome::Verdict;

const Check kOne{"node.info", "it tells", "the rule", 0, nullptr},
    kTwo{"node.same", "it tells again", "the rule", 0, nullptr},
    kThree{"stage.stages", "it stages", "the rule", 0, nullptr};
const std::vector<const Check*> kChecks = {&kOne, &kTwo, &kThree};
const std::vector<Outcome> kOutcomes = {
    {.took = std::chrono::milliseconds(2)},
    {.verdict = Verdict::failed, .found = "nothing", .asked = "NodeGetInfo {}", .came = "OK {}"},
    {.verdict = Verdict::left_out, .found = "the plugin lacks STAGE_UNSTAGE_VOLUME"}};

std::string progress(bool is_verbose) {
  std::ostringstream out;
  Progress shown(out, kChecks, is_verbose);
  for (size_t i = 0; i < kOutcomes.size(); ++i) shown.ended(i, kOutcomes[i]);
  return out.str();
}

TEST(Report, ShowsFailuresAndALineForEachGroup) {
  EXPECT_EQ(progress(false),
            "  FAIL  it tells again\n"
            "        asked:    NodeGetInfo {}\n"
            "        came:     OK {}\n"
            "        found:    nothing\n"
            "        contract: the rule\n"
            "        alone:    -run node.same\n"
            "node            1 passed, 1 failed\n"
            "stage           0 passed, 1 left out: the plugin lacks STAGE_UNSTAGE_VOLUME\n");
  EXPECT_NE(progress(true).find("  ok    it tells\n"), std::string::npos);
  EXPECT_NE(progress(true).find("  out   it stages (the plugin lacks"), std::string::npos);
  EXPECT_EQ(summary(kOutcomes), "1 passed, 1 failed, 1 left out in 2ms");
}

TEST(Report, IsReadByPrograms) {
  const auto json = nlohmann::json::parse(to_json("/plugin", kChecks, kOutcomes));
  EXPECT_EQ(json["passed"], 1);
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["left_out"], 1);
  EXPECT_EQ(json["checks"][1]["verdict"], "failed");
  EXPECT_EQ(json["checks"][1]["asked"], "NodeGetInfo {}");
  EXPECT_EQ(json["checks"][2]["found"], "the plugin lacks STAGE_UNSTAGE_VOLUME");
  EXPECT_FALSE(json["checks"][0].contains("found"));
}

}  // namespace
}  // namespace drover::csi_kit
