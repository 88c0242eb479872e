#include "services/service_text.h"

#include <gtest/gtest.h>

#include "drover/api/services.pb.h"
#include "output.h"

namespace drover::cli {
namespace {

v1::ListServicesResponse two_namespaces() {
  v1::ListServicesResponse all;
  for (const char* name_space : {"default", "prod"}) {
    v1::NamespaceServices& each = *all.add_namespaces();
    each.set_namespace_(name_space);
    v1::ServiceStub& api = *each.add_services();
    api.set_service_name("api");
    for (const char* tag : {"a", "b"}) api.add_tags(tag);
    each.add_services()->set_service_name(std::string("web-") + name_space);
  }
  return all;
}

TEST(ServiceText, ListsNamesWithTheirTags) {
  EXPECT_EQ(service_rows(two_namespaces(), false)[0], (std::vector<std::string>{"Service Name", "Tags"}));
  EXPECT_EQ(service_rows(two_namespaces(), false)[1], (std::vector<std::string>{"api", "[a,b]"}));
  EXPECT_EQ(service_rows(two_namespaces(), true)[0], (std::vector<std::string>{"Service Name", "Namespace", "Tags"}));
  EXPECT_EQ(service_rows(two_namespaces(), true)[4], (std::vector<std::string>{"web-prod", "prod", "[]"}));
}

TEST(ServiceText, KeepsOneServiceByItsWholeName) {
  v1::ListServicesResponse all = two_namespaces();
  keep_service(all, "api");
  EXPECT_EQ(service_rows(all, false).size(), 3U);
  all = two_namespaces();
  keep_service(all, "web-prod");
  ASSERT_EQ(all.namespaces_size(), 1);
  EXPECT_EQ(all.namespaces(0).namespace_(), "prod");
  keep_service(all, "ap");
  EXPECT_TRUE(all.namespaces().empty());
}

TEST(ServiceText, ShowsWhereAnInstanceIs) {
  const struct {
    const char* address;
    int port;
    const char* shown;
  } cases[] = {{"10.0.0.1", 80, "10.0.0.1:80"}, {"10.0.0.1", 0, "10.0.0.1"}, {"fe80::1", 80, "[fe80::1]:80"}};
  for (const auto& c : cases) {
    v1::ServiceRegistrationsResponse found;
    v1::ServiceRegistration& row = *found.add_services();
    row.set_job_id("web");
    row.set_address(c.address);
    row.set_port(c.port);
    row.set_alloc_id(std::string(16, 'a'));
    row.set_node_id(std::string(16, 'n'));
    EXPECT_EQ(instance_rows(found)[1], (std::vector<std::string>{"web", c.shown, "[]", "6e6e6e6e", "61616161"}));
    EXPECT_NE(instance_blocks(found).find(std::string("= ") + c.shown + "\n"), std::string::npos);
    EXPECT_EQ(instance_blocks(found).find("Status"), std::string::npos);
    row.set_status("critical");
    EXPECT_NE(instance_blocks(found).find("= critical\n"), std::string::npos);
  }
}

}  // namespace
}  // namespace drover::cli
