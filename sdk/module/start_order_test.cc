#include "drover/start_order.h"

#include "gtest/gtest.h"

namespace drover {
namespace {

Manifest plugin(std::string name, std::vector<std::string> provides, std::vector<std::string> needs) {
  Manifest manifest;
  manifest.name = std::move(name);
  manifest.provides = std::move(provides);
  for (std::string& capability : needs) {
    const bool optional = capability.ends_with('?');
    if (optional) capability.pop_back();
    manifest.requirements.push_back({capability, optional});
  }
  return manifest;
}

// The names in their order, or the error.
std::string order_of(const std::vector<Manifest>& manifests) {
  std::vector<const Manifest*> plugins;
  for (const Manifest& manifest : manifests) plugins.push_back(&manifest);
  auto order = start_order(plugins);
  if (!order) return order.status().to_string();
  std::string names;
  for (size_t i : *order) names += (names.empty() ? "" : " ") + manifests[i].name;
  return names;
}

TEST(StartOrder, ProvidersComeBeforeThoseWhoRequireThem) {
  EXPECT_EQ(order_of({plugin("a", {}, {"c"}), plugin("b", {}, {}), plugin("c", {"c"}, {"d"}), plugin("d", {"d"}, {})}),
            "d c a b");
}

TEST(StartOrder, TheFreeOnesGoByName) {
  EXPECT_EQ(order_of({plugin("c", {}, {}), plugin("a", {}, {}), plugin("b", {}, {})}), "a b c");
  EXPECT_EQ(order_of({}), "");
}

TEST(StartOrder, AnOptionalRequirementOrdersButIsNotNeeded) {
  EXPECT_EQ(order_of({plugin("a", {}, {"z?"})}), "a");
  EXPECT_EQ(order_of({plugin("a", {}, {"z?"}), plugin("b", {"z"}, {})}), "b a");
}

TEST(StartOrder, AStarMeansAllThatProvideACapabilityWhichBeginsSo) {
  EXPECT_EQ(order_of({plugin("a", {}, {"hook.*"})}), "a");
  EXPECT_EQ(order_of({plugin("a", {}, {"hook.*"}), plugin("b", {"hooks"}, {}), plugin("c", {"hook.x"}, {}),
                      plugin("d", {"other", "hook.y"}, {})}),
            "c d a b");
}

TEST(StartOrder, APluginMayRequireWhatItProvides) { EXPECT_EQ(order_of({plugin("a", {"x"}, {"x"})}), "a"); }

TEST(StartOrder, NamesAMissingCapabilityAndWhoNeedsIt) {
  EXPECT_EQ(order_of({plugin("a", {"a"}, {}), plugin("b", {}, {"a", "x"})}),
            "failed_precondition: plugin b requires \"x\", which no enabled plugin provides");
}

TEST(StartOrder, NamesTwoProvidersOfOneCapability) {
  EXPECT_EQ(order_of({plugin("a", {"x"}, {}), plugin("b", {"x"}, {})}),
            "failed_precondition: capability \"x\" is provided by plugin a and by plugin b; disable one of them");
}

TEST(StartOrder, NamesTheWholeCircle) {
  EXPECT_EQ(order_of({plugin("out", {}, {"a"}), plugin("a", {"a"}, {"b"}), plugin("b", {"b"}, {"c"}),
                      plugin("c", {"c"}, {"a"})}),
            "failed_precondition: plugins require each other in a circle: a requires b requires c requires a");
}

TEST(StartOrder, AnOptionalRequirementClosesACircleToo) {
  EXPECT_EQ(order_of({plugin("a", {"a"}, {"b?"}), plugin("b", {"b"}, {"a"})}),
            "failed_precondition: plugins require each other in a circle: a requires b requires a");
}

}  // namespace
}  // namespace drover
