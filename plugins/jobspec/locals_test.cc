#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "parse.h"

namespace drover::jobspec {
namespace {

using nlohmann::json;

Result<JobParser::Parsed> parse(const std::string& locals) {
  return Parser().parse(locals + "\njob \"j\" {\n  name = local.x\n}\n", {});
}

std::string name_of(const std::string& locals) {
  auto parsed = parse(locals);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed ? json::parse(parsed->json).value("Name", "") : "";
}

std::string error_of(const std::string& locals) {
  auto parsed = parse(locals);
  EXPECT_FALSE(parsed.ok());
  return parsed ? "" : parsed.status().message();
}

TEST(Locals, ReferToEachOtherInAnyOrder) {
  EXPECT_EQ("ab", name_of("locals {\n x = \"${local.a}${local[\"b\"]}\"\n a = \"a\"\n}\nlocals {\n b = \"b\"\n}"));
  EXPECT_EQ("c", name_of("locals {\n x = local[local.key]\n key = \"v\"\n v = \"c\"\n}"));
  EXPECT_EQ("d", name_of("locals {\n x = local.y\n y = local[\"${\"v\"}\"]\n v = \"d\"\n}"));
}

TEST(Locals, LeaveToTheNodeWhatItFillsIn) {
  EXPECT_EQ("${NOMAD_SECRETS_DIR}/api ${attr.kernel.name}",
            name_of("locals {\n x = \"${NOMAD_SECRETS_DIR}/${local.y} ${attr.kernel.name}\"\n y = \"api\"\n}"));
}

TEST(Locals, ProblemsNameTheirPlaces) {
  const std::string twice = error_of("locals {\n x = 1\n}\nlocals {\n x = 2\n}");
  EXPECT_NE(std::string::npos, twice.find("job.hcl:5:2: error: Duplicate value in locals: \"x\"")) << twice;
  EXPECT_NE(std::string::npos, twice.find("it is set first at 2:2")) << twice;
  const std::string circle = error_of("locals {\n x = local.y\n y = local.x\n}");
  EXPECT_NE(std::string::npos, circle.find("job.hcl:2:2: error: local \"x\" refers to itself")) << circle;
  const std::string unknown = error_of("locals {\n x = local.vlaue\n value = 1\n}");
  EXPECT_NE(std::string::npos, unknown.find("did you mean \"value\"?")) << unknown;
}

// `x` is the last of a chain in which each names the one before it, or behind it.
std::string chain(size_t length, bool backwards) {
  std::string text;
  for (size_t i = 1; i < length; ++i) {
    const std::string line = " l" + std::to_string(i) + " = local.l" + std::to_string(i - 1) + "\n";
    text = backwards ? line + text : text + line;
  }
  return "locals {\n l0 = \"end\"\n" + text + " x = local.l" + std::to_string(length - 1) + "\n}";
}

TEST(Locals, ManyTakeLittleTime) {
  for (bool backwards : {false, true}) {
    const std::string text = chain(3200, backwards);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ("end", name_of(text));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  }
}

TEST(Locals, HaveOneBudgetTogether) {
  std::string text = "locals {\n x = \"\"\n";
  for (int i = 0; i < 30; ++i)
    text += " l" + std::to_string(i) + " = [for a in range(1000) : [for b in range(100) : a]]\n";
  const std::string error = error_of(text + "}");
  EXPECT_NE(std::string::npos, error.find("takes more than 2000000 steps")) << error;
}

}  // namespace
}  // namespace drover::jobspec
