#include <gtest/gtest.h>

#include <csignal>

#include "cli_command.h"
#include "drover/json.h"
#include "drover/v1/allocation.pb.h"
#include "flags.h"
#include "output.h"
#include "paging.h"
#include "placement.h"

namespace drover::cli {
namespace {

const std::vector<Flag> kFlags = {
    {"detach", false, "", ""}, {"var", true, "", ""}, {"n", true, "10", ""}, {"f", false, "", ""}};

Result<Arguments> parse(std::vector<std::string> words) { return Arguments::parse(words, kFlags); }

TEST(EvalList, SaysHowToGetTheNextPage) {
  const std::vector<Flag> flags = {
      {"job", true, "", ""}, {"status", true, "", ""}, {"per-page", true, "", ""}, {"page-token", true, "", ""}};
  const std::vector<std::string> words = {"-job", "web", "-per-page", "1", "-page-token", "3.cd"};
  EXPECT_EQ("There are more evaluations. The next page:\n\ndrover eval list -job web -per-page 1 -page-token 7.ab\n",
            next_page_text(*Arguments::parse(words, flags), "7.ab"));
}

TEST(Paging, TheNextPageIsAskedForWithTheFlagsThatWereGiven) {
  std::vector<Flag> flags = with_page_flags({on_off("verbose", ""), on_off("quiet", "")}, "Status == ready");
  flags.insert(flags.end(), client_flags().begin(), client_flags().end());
  const std::vector<std::string> words = {"-namespace",   "*",           "-token",    "secret",      "-verbose",
                                          "-quiet=false", "--filter",    "Name == a", "-per-page=1", "-region",
                                          "it's",         "-page-token", "3.cd"};
  EXPECT_EQ(
      "drover node status -namespace '*' -verbose -quiet=false -filter 'Name == a' -per-page 1 "
      "-region 'it'\\''s' -page-token 7.ab",
      next_page_command(*Arguments::parse(words, flags), "node status", "7.ab"));
}

TEST(Commands, ThatFollowSomethingEndWellOnAnInterrupt) {
  EXPECT_EXIT(
      {
        leave_on_interrupt();
        std::raise(SIGINT);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Flags, OneDashOrTwoBeforeOrAfterTheArguments) {
  for (auto words :
       {std::vector<std::string>{"-detach", "job.hcl"}, {"job.hcl", "--detach"}, {"-detach=true", "job.hcl"}}) {
    auto parsed = parse(words);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_TRUE(parsed->on("detach"));
    EXPECT_EQ(std::vector<std::string>{"job.hcl"}, parsed->positional());
  }
  EXPECT_FALSE(parse({"-detach=false"})->on("detach"));
}

TEST(Flags, OneLetterIsTurnedOffAsWell) {
  EXPECT_TRUE(parse({"-f"})->on("f"));
  EXPECT_TRUE(parse({"-f=true"})->on("f"));
  const auto off = parse({"--f=false"});
  EXPECT_FALSE(off->on("f"));
  EXPECT_TRUE(off->is_set("f"));
  EXPECT_FALSE(parse({"-f=perhaps"}).ok());
}

TEST(Flags, ValuesStayWhole) {
  auto parsed = parse({"-var", "a=1,2", "-var=b=x y", "-n=5", "-f"});
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ((std::vector<std::string>{"a=1,2", "b=x y"}), parsed->values("var"));
  EXPECT_EQ("5", parsed->value("n"));
  EXPECT_TRUE(parsed->on("f"));
  EXPECT_EQ("10", parse({})->value("n"));
}

TEST(Flags, UnknownOnesAreNamedWithTheNearest) {
  auto parsed = parse({"-detahc"});
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(std::string::npos, parsed.status().message().find("did you mean \"detach\"?"));
  EXPECT_FALSE(parse({"-var"}).ok());
}

TEST(Flags, TwoDashesEndTheOptions) {
  EXPECT_EQ(std::vector<std::string>{"-detach"}, parse({"--", "-detach"})->positional());
}

TEST(Flags, AnotherCommandKeepsItsOwn) {
  const auto own = [](std::vector<std::string> words) { return own_words(words, kFlags); };
  EXPECT_EQ(1u, own({"alloc", "ls", "-n", "5"}));
  EXPECT_EQ(4u, own({"-n", "5", "-f", "alloc", "ls", "-detach"}));
  EXPECT_EQ(2u, own({"alloc", "--", "-f"}));
  EXPECT_EQ(2u, own({"-f", "-n=5"}));
  const std::vector<std::string> words = {"-f", "alloc"}, command = {"ls", "-n"};
  const auto parsed = Arguments::parse(words, kFlags, command);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ((std::vector<std::string>{"alloc", "ls", "-n"}), parsed->positional());
}

TEST(Output, ListsAlignAndNameEmptyCells) {
  EXPECT_EQ("ID        Status\nabcdefgh  <none>\n", format_list({{"ID", "Status"}, {"abcdefgh", ""}}));
}

TEST(Output, CellsAreOneLineAndAlignByCharacters) {
  EXPECT_EQ("Name           Status\nb\xc3\xa4r            ok\na\\nb\\u001b[2J  ok\n",
            format_list({{"Name", "Status"}, {"b\xc3\xa4r", "ok"}, {"a\nb\x1b[2J", "ok"}}));
  EXPECT_EQ("N\xc3\xa4me = a\\nStatus = running\nID   = x\n",
            format_pairs({{"N\xc3\xa4me", "a\nStatus = running"}, {"ID", "x"}}));
}

TEST(Output, PairsAlign) { EXPECT_EQ("ID     = x\nStatus = <none>\n", format_pairs({{"ID", "x"}, {"Status", ""}})); }

TEST(Output, RelativeTimes) {
  const int64_t s = 1'000'000'000;
  EXPECT_EQ("0s ago", relative_time(0, 0));
  EXPECT_EQ("1m3s ago", relative_time(0, 63 * s));
  EXPECT_EQ("2h5m from now", relative_time(7500 * s, 0));
  EXPECT_EQ("1d1h ago", relative_time(0, 90000 * s));
}

TEST(Placement, SaysWhy) {
  v1::AllocMetric metric;
  const Status read = json_to_message(R"({"NodesEvaluated":2,"ConstraintFiltered":{"${attr.kernel.name} = windows":1},
      "NodesExhausted":1,"DimensionExhausted":{"memory":1},"NodesAvailable":{"dc1":2,"dc9":0}})",
                                      metric);
  EXPECT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(
      "  * No nodes are available in datacenter \"dc9\"\n"
      "  * Constraint \"${attr.kernel.name} = windows\": 1 nodes excluded by filter\n"
      "  * Resources exhausted on 1 nodes\n"
      "  * Dimension \"memory\" exhausted on 1 nodes\n",
      format_metric(metric, "  "));
}

TEST(Placement, ShowsThePartsOfScores) {
  v1::AllocMetric metric;
  EXPECT_EQ("", format_scores(metric));
  v1::NodeScoreMeta& best = *metric.add_score_meta_data();
  best.set_node_id("0123456789abcdef");
  (*best.mutable_scores())["binpack"] = 0.5;
  (*best.mutable_scores())["node-affinity"] = -0.25;
  best.set_norm_score(0.125);
  v1::NodeScoreMeta& next = *metric.add_score_meta_data();
  next.set_node_id("0123456789abcdee");
  (*next.mutable_scores())["binpack"] = 1.0 / 3;
  next.set_norm_score(1.0 / 3);
  EXPECT_EQ(
      "Node                                  binpack  node-affinity  final score\n"
      "30313233-3435-3637-3839-616263646566  0.5      -0.25          0.125\n"
      "30313233-3435-3637-3839-616263646565  0.333    0              0.333\n",
      format_scores(metric));
}

}  // namespace
}  // namespace drover::cli
