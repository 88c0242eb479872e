#include "drover/model/namespace.h"

#include <gtest/gtest.h>

#include <string>

#include "drover/schema.h"
#include "drover/v1/namespace.pb.h"
#include "sdk/testing/fake_host.h"

namespace drover {
namespace {

TEST(NamespaceNames, AreLettersDigitsAndDashes) {
  for (const char* name : {"default", "prod-1", "-", "A"}) EXPECT_TRUE(is_namespace_name(name)) << name;
  for (const char* name : {"", "*", "a b", "a/b", "a_b", "a.b", "é"}) EXPECT_FALSE(is_namespace_name(name)) << name;
  EXPECT_TRUE(is_namespace_name(std::string(128, 'a')));
  EXPECT_FALSE(is_namespace_name(std::string(129, 'a')));
  EXPECT_FALSE(is_namespace_name(std::string_view("a\0b", 3)));
}

TEST(NamespaceTable, DefaultNeedsNoRow) {
  testing::FakeHost host;
  const Table<v1::Namespace> table(host.rows().add_table(namespaces_table().spec()));
  for (const std::optional<TableId>& id : {std::optional<TableId>(), std::optional(table.id())}) {
    EXPECT_EQ(find_namespace(*host.snapshot(), id, "default")->description(), "Default shared namespace");
    EXPECT_TRUE(has_namespace(*host.snapshot(), id, "default"));
    EXPECT_FALSE(has_namespace(*host.snapshot(), id, "prod"));
    EXPECT_FALSE(find_namespace(*host.snapshot(), id, "prod"));
  }
  host.commit([&](WriteTransaction& rows) {
    for (const char* name : {"default", "prod"}) {
      v1::Namespace row;
      row.set_name(name);
      row.set_description("changed");
      EXPECT_TRUE(table.put(rows, row).ok());
    }
  });
  EXPECT_TRUE(has_namespace(*host.snapshot(), table.id(), "prod"));
  EXPECT_EQ(find_namespace(*host.snapshot(), table.id(), "default")->description(), "changed");
}

TEST(NamespaceKeys, AreThoseOfOneNamespace) {
  const KeyRange prod = of_namespace("prod");
  const auto covers = [&](const std::string& key) { return key >= prod.first && key < prod.end; };
  EXPECT_TRUE(covers(job_key("prod", "web")));
  EXPECT_FALSE(covers(job_key("prod2", "web")));
  EXPECT_FALSE(covers(job_key("pro", "web")));
}

}  // namespace
}  // namespace drover
