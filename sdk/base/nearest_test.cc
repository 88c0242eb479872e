#include "drover/nearest.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(Nearest, FindsTheMistypedWord) {
  constexpr std::string_view kWords[] = {"datacenter", "region", "ports", "addresses", "log_level", "acl"};
  EXPECT_EQ("datacenter", nearest("datacentre", kWords));
  EXPECT_EQ("region", nearest("Regoin", kWords));
  EXPECT_EQ("ports", nearest("prots", kWords));
  EXPECT_EQ("acl", nearest("acls", kWords));
  EXPECT_EQ("", nearest("vault", kWords));
  EXPECT_EQ("", nearest("", kWords));
  EXPECT_EQ("", nearest("x", {}));
  EXPECT_EQ("", nearest(std::string(100'000, 'a'), kWords));
  EXPECT_EQ("did you mean \"ports\"?", nearest_hint("port", kWords));
  EXPECT_EQ("", nearest_hint("zzz", kWords));
}

}  // namespace
}  // namespace drover
