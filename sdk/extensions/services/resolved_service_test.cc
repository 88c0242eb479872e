#include "drover/resolved_service.h"

#include <gtest/gtest.h>

#include <optional>

#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/service.pb.h"
#include "drover/v1/service_provider.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

namespace driver = hashicorp::nomad::plugins::drivers::proto;

constexpr char kAlloc[] = "6b4dc52f-9a3c-4ef1-bd0c-1a0c7d7f5b11";

void add_port(v1::NetworkResource& network, const char* label, int value) {
  v1::Port& port = *network.add_dynamic_ports();
  port.set_label(label);
  port.set_value(value);
}

// An allocation with the ports http (20000, inside 8080) and raw (20001, inside the same), the old ports group-old and
// task-old, a network of its own and a driver with one, as far as asked for.
struct Fixture {
  v1::Job job;
  v1::Allocation allocation;
  v1::Task task;
  v1::NetworkStatus network;
  driver::NetworkOverride driver_network;
  Variables node{{"attr.unique.network.ip-address", "10.0.0.1"}, {"node.datacenter", "dc1"}, {"meta.rack", "r7"}};
  Variables environment{{"NOMAD_TASK_NAME", "nginx"}, {"COLOR", "blue"}, {"N", "9000"}};

  Fixture() {
    job.set_id("web");
    job.set_name("web");
    job.add_task_groups()->set_name("front");
    task.set_name("nginx");
    allocation.set_id(Uuid::parse(kAlloc)->bytes());
    allocation.set_namespace_("prod");
    allocation.set_job_id("web");
    allocation.set_name("web.front[0]");
    allocation.set_task_group("front");
    v1::AllocatedSharedResources& shared = *allocation.mutable_allocated_resources()->mutable_shared();
    for (const auto& [label, value, to] : {std::tuple{"http", 20000, 8080}, {"raw", 20001, 0}}) {
      v1::PortMapping& port = *shared.add_ports();
      port.set_label(label);
      port.set_value(value);
      port.set_to(to);
      port.set_host_ip("192.168.1.5");
    }
    shared.add_networks()->set_ip("10.1.0.1");
    add_port(*shared.mutable_networks(0), "group-old", 21000);
    auto& given = (*allocation.mutable_allocated_resources()->mutable_tasks())["nginx"];
    given.add_networks()->set_ip("10.2.0.1");
    add_port(*given.mutable_networks(0), "task-old", 22000);
    network.set_address("172.26.64.9");
    driver_network.set_addr("172.17.0.4");
    (*driver_network.mutable_port_map())["mapped"] = 5432;
  }
  ServicePlace place(bool is_task) const {
    return {.allocation = allocation,
            .task = is_task ? &task : nullptr,
            .network = &network,
            .driver_network = is_task ? &driver_network : nullptr,
            .environment = environment,
            .node = node};
  }
};

v1::Service service(const std::string& mode, const std::string& port, const std::string& address = "") {
  v1::Service out;
  out.set_name("api");
  out.set_provider("nomad");
  out.set_address_mode(mode);
  out.set_port_label(port);
  out.set_address(address);
  return out;
}

struct Row {
  const char* name;
  bool is_task;
  const char* mode;
  const char* address;
  const char* port;
  ServiceAddress found;
  const char* error = "";  // behind "unable to get address for service "api": "
};

void expect(const Row& row, const ServicePlace& place) {
  SCOPED_TRACE(row.name);
  const auto resolved = resolve_service(service(row.mode, row.port, row.address), place);
  if (*row.error) {
    ASSERT_FALSE(resolved.ok());
    EXPECT_EQ(resolved.status().message(), std::string("unable to get address for service \"api\": ") + row.error);
    return;
  }
  ASSERT_TRUE(resolved.ok()) << resolved.status().message();
  EXPECT_EQ(resolved->at.address, row.found.address);
  EXPECT_EQ(resolved->at.port, row.found.port);
}

TEST(ServiceAddress, IsTheJobsOwnWhereItHasOne) {
  const Fixture f;
  const Row rows[] = {
      {"no port", false, "auto", "lb.example", "", {"lb.example", 0}},
      {"label", false, "auto", "lb.example", "http", {"lb.example", 20000}},
      {"number", false, "auto", "lb.example", "9000", {"lb.example", 9000}},
      {"no mode", true, "", "lb.example", "http", {"lb.example", 20000}},
      {"unknown",
       false,
       "auto",
       "lb.example",
       "x",
       {},
       "invalid port: \"x\": not a valid port mapping or numeric port"},
      {"zero", false, "auto", "lb.example", "0", {}, "invalid port: \"0\": port must be >0"},
      {"host", false, "host", "lb", "http", {}, "cannot use custom advertise address with \"host\" address mode"},
      {"driver", true, "driver", "lb", "http", {}, "cannot use custom advertise address with \"driver\" address mode"},
      {"alloc", false, "alloc", "lb", "http", {}, "cannot use custom advertise address with \"alloc\" address mode"},
  };
  for (const Row& row : rows) expect(row, f.place(row.is_task));
}

TEST(ServiceAddress, IsTheMachinesForItsPorts) {
  const Fixture f;
  const Row rows[] = {
      {"one network", false, "host", "", "", {"10.1.0.1", 0}},
      {"one network of the task", true, "host", "", "", {"10.2.0.1", 0}},
      {"label", false, "host", "", "http", {"192.168.1.5", 20000}},
      {"label of the group", true, "host", "", "raw", {"192.168.1.5", 20001}},
      {"old port", false, "host", "", "group-old", {"10.1.0.1", 21000}},
      {"old port of the task", true, "host", "", "task-old", {"10.2.0.1", 22000}},
      {"not the group's", true, "host", "", "group-old", {}, "invalid port \"group-old\": port label not found"},
      {"number: the node's", false, "host", "", "9000", {"10.0.0.1", 9000}},
      {"unknown", false, "host", "", "x", {}, "invalid port \"x\": port label not found"},
      {"mixed", false, "host", "", "80x", {}, "invalid port \"80x\": port label not found"},
      {"zero", false, "host", "", "0", {}, "invalid port: \"0\": port must be >0"},
      {"negative", false, "host", "", "-1", {}, "invalid port: \"-1\": port must be >0"},
      {"too large", false, "host", "", "65536", {}, "invalid port: \"65536\": port must be at most 65535"},
      {"auto", false, "auto", "", "http", {"192.168.1.5", 20000}},
      {"auto, the driver does not advertise", true, "auto", "", "http", {"192.168.1.5", 20000}},
      {"unknown mode",
       false,
       "moon",
       "",
       "http",
       {},
       "invalid address mode \"moon\": must be one of auto, host, driver and alloc"},
  };
  for (const Row& row : rows) expect(row, f.place(row.is_task));
}

TEST(ServiceAddress, IsTheNodesWhereNothingSaysMore) {
  Fixture f;
  f.allocation.mutable_allocated_resources()->mutable_shared()->clear_networks();
  expect({"no network", false, "host", "", "", {"10.0.0.1", 0}}, f.place(false));
  f.allocation.mutable_allocated_resources()->mutable_shared()->add_networks()->set_ip("10.1.0.1");
  f.allocation.mutable_allocated_resources()->mutable_shared()->add_networks()->set_ip("10.1.0.2");
  expect({"two networks", false, "host", "", "", {"10.0.0.1", 0}}, f.place(false));
  f.allocation.mutable_allocated_resources()->clear_tasks();
  expect({"nothing given", true, "host", "", "", {"10.0.0.1", 0}}, f.place(true));
}

TEST(ServiceAddress, IsTheDriversInItsNetwork) {
  Fixture f;
  const Row rows[] = {
      {"no port", true, "driver", "", "", {"172.17.0.4", 0}},
      {"label", true, "driver", "", "http", {"172.17.0.4", 8080}},
      {"the driver's own", true, "driver", "", "mapped", {"172.17.0.4", 5432}},
      {"number", true, "driver", "", "9000", {"172.17.0.4", 9000}},
      {"zero", true, "driver", "", "0", {}, "invalid port: \"0\": port must be >0"},
      {"unknown",
       true,
       "driver",
       "",
       "x",
       {},
       "invalid port label \"x\": port labels in driver address_mode must be numeric or in the driver's port map"},
      {"no network", false, "driver", "", "http", {}, "cannot use address_mode=\"driver\": no driver network exists"},
  };
  for (const Row& row : rows) expect(row, f.place(row.is_task));
  f.driver_network.set_auto_advertise(true);
  expect({"advertised", true, "auto", "", "http", {"172.17.0.4", 8080}}, f.place(true));
  expect({"host all the same", true, "host", "", "http", {"192.168.1.5", 20000}}, f.place(true));
}

TEST(ServiceAddress, IsTheAllocationsInItsNetwork) {
  Fixture f;
  const Row rows[] = {
      {"no port", false, "alloc", "", "", {"172.26.64.9", 0}},
      {"label", false, "alloc", "", "http", {"172.26.64.9", 8080}},
      {"label that is not mapped", false, "alloc", "", "raw", {"172.26.64.9", 20001}},
      {"number", false, "alloc", "", "9000", {"172.26.64.9", 9000}},
      {"zero", false, "alloc", "", "0", {}, "invalid port: \"0\": port must be >0"},
      {"unknown", false, "alloc", "", "x", {}, "invalid port \"x\": port label not found or is not numeric"},
      {"of a task",
       true,
       "alloc",
       "",
       "http",
       {},
       "cannot use address_mode=\"alloc\": no allocation network status reported"},
  };
  for (const Row& row : rows) expect(row, f.place(row.is_task));
  f.network.clear_address();
  expect({"none",
          false,
          "alloc",
          "",
          "http",
          {},
          "cannot use address_mode=\"alloc\": no allocation network status reported"},
         f.place(false));
}

TEST(CheckAddress, FollowsItsOwnModeElseTheService) {
  struct Case {
    const char* name;
    bool is_task;
    const char* address;  // of the service
    const char* mode;     // of the check
    const char* port;
    ServiceAddress found;
    const char* error = "";
  };
  const Case cases[] = {
      {"as the service", false, "", "", "", {"192.168.1.5", 20000}},
      {"its own port", false, "", "", "raw", {"192.168.1.5", 20001}},
      {"the service's address", false, "lb.example", "", "", {"lb.example", 20000}},
      {"its own mode", false, "lb.example", "host", "", {"192.168.1.5", 20000}},
      {"the network of the allocation", false, "", "alloc", "", {"172.26.64.9", 8080}},
      {"the same for a task", true, "", "alloc", "", {"172.26.64.9", 8080}},
      {"a number", false, "", "", "9000", {"10.0.0.1", 9000}},
      {"never a driver's network",
       true,
       "",
       "driver",
       "",
       {},
       "cannot use address_mode=\"driver\": no driver network exists"},
      {"unknown", false, "", "", "x", {}, "invalid port \"x\": port label not found"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Fixture f;
    f.driver_network.set_auto_advertise(true);
    v1::Service wanted = service("auto", "http", c.address);
    v1::ServiceCheck& check = *wanted.add_checks();
    check.set_name("alive");
    check.set_address_mode(c.mode);
    check.set_port_label(c.port);
    const auto resolved = resolve_service(wanted, f.place(c.is_task));
    ASSERT_TRUE(resolved.ok());
    const auto at = resolve_check(resolved->service->checks(0), *resolved, f.place(c.is_task));
    ASSERT_EQ(at.ok(), !*c.error);
    if (at.ok()) {
      EXPECT_EQ(*at, c.found) << at->address << " " << at->port;
    } else {
      EXPECT_EQ(at.status().message(), std::string("unable to get address for check \"alive\": ") + c.error);
    }
  }
}

TEST(ResolvedService, HasItsReferencesFilledIn) {
  const Fixture f;
  v1::Service wanted = service("auto", "${N}", "lb-${meta.rack}");
  wanted.set_name("api-${COLOR}");
  wanted.set_on_update("${COLOR}");  // no text of these
  for (const char* tag : {"v1", "${NOMAD_TASK_NAME}", "${unknown}"}) wanted.add_tags(tag);
  (*wanted.mutable_meta())["${COLOR}"] = "${node.datacenter}";
  (*wanted.mutable_tagged_addresses())["wan"] = "${COLOR}.example";
  v1::ServiceCheck& check = *wanted.add_checks();
  for (std::string* text : {check.mutable_name(), check.mutable_type(), check.mutable_command(), check.add_args(),
                            check.mutable_path(), check.mutable_protocol(), check.mutable_port_label(),
                            check.mutable_initial_status(), check.mutable_method(), check.mutable_grpc_service()}) {
    *text = "${COLOR}";
  }
  check.set_body("${COLOR}");
  check.set_task_name("${COLOR}");
  check.set_header(R"({"X-${COLOR}":["${COLOR}","plain"]})");

  const auto resolved = resolve_service(wanted, f.place(true));

  ASSERT_TRUE(resolved.ok()) << resolved.status().message();
  const v1::Service& found = *resolved->service;
  EXPECT_EQ(resolved->at, (ServiceAddress{"lb-r7", 9000}));
  EXPECT_EQ(found.name(), "api-blue");
  EXPECT_EQ(found.on_update(), "${COLOR}");
  EXPECT_EQ(std::vector<std::string>(found.tags().begin(), found.tags().end()),
            (std::vector<std::string>{"v1", "nginx", "${unknown}"}));
  EXPECT_EQ(found.meta().at("blue"), "dc1");
  EXPECT_EQ(found.tagged_addresses().at("wan"), "blue.example");
  const v1::ServiceCheck& filled = found.checks(0);
  for (const std::string* text :
       {&filled.name(), &filled.type(), &filled.command(), &filled.args(0), &filled.path(), &filled.protocol(),
        &filled.port_label(), &filled.initial_status(), &filled.method(), &filled.grpc_service()}) {
    EXPECT_EQ(*text, "blue");
  }
  EXPECT_EQ(filled.body(), "${COLOR}");
  EXPECT_EQ(filled.task_name(), "${COLOR}");
  EXPECT_EQ(filled.header(), R"({"X-blue":["blue","plain"]})");
}

TEST(ResolvedService, IsNamedByItsAllocationWorkloadNameAndPort) {
  const Fixture f;
  const std::string begin = std::string("_nomad-task-") + kAlloc;
  struct Case {
    bool is_task;
    const char* port;
    std::string id;
  };
  for (const Case& c :
       {Case{true, "http", begin + "-nginx-api-http"}, Case{false, "http", begin + "-group-front-api-http"},
        Case{false, "9000", begin + "-group-front-api-9000"}, Case{true, "", begin + "-nginx-api-"}}) {
    const auto resolved = resolve_service(service("auto", c.port), f.place(c.is_task));
    ASSERT_TRUE(resolved.ok());
    EXPECT_EQ(resolved->id, c.id);
  }
}

TEST(ResolvedService, IsMarkedAsACanaryWhileItIsOne) {
  struct Case {
    const char* name;
    bool is_canary, has_tags;
    const char* tag;
    const char* color;
  };
  for (const Case& c : {Case{"usual", false, true, "live", "green"}, Case{"canary", true, true, "canary", "blue"},
                        Case{"a canary without tags of its own", true, false, "live", "green"}}) {
    SCOPED_TRACE(c.name);
    Fixture f;
    f.allocation.mutable_deployment_status()->set_canary(c.is_canary);
    v1::Service wanted = service("auto", "http");
    wanted.add_tags("live");
    (*wanted.mutable_meta())["color"] = "green";
    if (c.has_tags) {
      wanted.add_canary_tags("canary");
      (*wanted.mutable_canary_meta())["color"] = "blue";
    }
    const auto resolved = resolve_service(wanted, f.place(true));
    ASSERT_TRUE(resolved.ok());
    ASSERT_EQ(resolved->service->tags_size(), 1);
    EXPECT_EQ(resolved->service->tags(0), c.tag);
    EXPECT_EQ(resolved->service->meta().at("color"), c.color);
  }
}

TEST(ResolvedService, IsToldToProvidersAsAnInstance) {
  const Fixture f;
  v1::Service wanted = service("auto", "http");
  wanted.add_tags("v1");
  const auto resolved = resolve_service(wanted, f.place(true));
  ASSERT_TRUE(resolved.ok());

  const v1::ServiceInstance found = service_instance(*resolved, f.place(true));

  EXPECT_EQ(found.id(), resolved->id);
  EXPECT_EQ(found.service(), "api");
  EXPECT_EQ(found.namespace_(), "prod");
  EXPECT_EQ(found.job_id(), "web");
  EXPECT_EQ(found.group(), "front");
  EXPECT_EQ(found.alloc_id(), kAlloc);
  EXPECT_EQ(found.task(), "nginx");
  EXPECT_EQ(found.address(), "192.168.1.5");
  EXPECT_EQ(found.port(), 20000U);
  EXPECT_EQ(found.tags(0), "v1");
  EXPECT_EQ(found.status(), v1::CheckResult::PASSING);
  EXPECT_EQ(service_instance(*resolved, f.place(false)).task(), "");
}

TEST(GroupEnvironment, HasNothingOfASingleTask) {
  Fixture f;
  (*f.job.mutable_meta())["owner"] = "web";
  const Variables found = group_environment(f.job, f.allocation, f.node, &f.network);
  EXPECT_EQ(found.at("NOMAD_META_owner"), "web");
  EXPECT_EQ(found.at("NOMAD_GROUP_NAME"), "front");
  EXPECT_EQ(found.at("NOMAD_DC"), "dc1");
  EXPECT_EQ(found.at("NOMAD_HOST_PORT_http"), "20000");
  EXPECT_EQ(found.at("NOMAD_ALLOC_IP_http"), "172.26.64.9");
  for (const char* name : {"NOMAD_TASK_NAME", "NOMAD_ALLOC_DIR", "NOMAD_TASK_DIR", "NOMAD_SECRETS_DIR"}) {
    EXPECT_FALSE(found.contains(name)) << name;
  }
}

TEST(ResolvedService, TellsRegistriesOfItsChecks) {
  const Fixture f;
  v1::Service wanted = service("auto", "http");
  wanted.set_enable_tag_override(true);
  (*wanted.mutable_tagged_addresses())["wan"] = "192.0.2.1";
  wanted.mutable_weights()->set_passing(3);
  v1::ServiceCheck& http = *wanted.add_checks();
  http.set_name("alive");
  http.set_type("http");
  http.set_path("/${COLOR}");
  http.set_interval(1'500'000'000);
  v1::ServiceCheck& script = *wanted.add_checks();
  script.set_name("looks");
  script.set_type("script");
  v1::ServiceCheck& nowhere = *wanted.add_checks();
  nowhere.set_type("tcp");
  nowhere.set_port_label("nowhere");

  const auto resolved = resolve_service(wanted, f.place(true));
  ASSERT_TRUE(resolved.ok());
  const v1::ServiceInstance told = service_instance(*resolved, f.place(true));

  EXPECT_TRUE(told.enable_tag_override());
  EXPECT_EQ(told.tagged_addresses().at("wan"), "192.0.2.1");
  EXPECT_EQ(told.passing_weight(), 3);
  ASSERT_EQ(told.checks_size(), 2) << "without the one that nothing reaches";
  EXPECT_EQ(told.checks(0).path(), "/blue");
  EXPECT_EQ(told.checks(0).interval().seconds(), 1);
  EXPECT_EQ(told.checks(0).interval().nanos(), 500'000'000);
  EXPECT_EQ(told.checks(0).port(), 20000u);
  EXPECT_EQ(told.checks(1).address(), "") << "a script looks at no address";
  EXPECT_EQ(told.checks(0).id(), resolved->check_ids[0]);
  EXPECT_NE(told.checks(0).id(), told.checks(1).id());
  v1::Service other = wanted;
  other.mutable_checks(0)->mutable_check_restart()->set_limit(3);
  EXPECT_EQ(check_ids(other, f.place(true)), resolved->check_ids) << "what follows from it is not part of it";
  other.mutable_checks(0)->set_path("/other");
  EXPECT_NE(check_ids(other, f.place(true))[0], resolved->check_ids[0]);
}

TEST(ResolvedService, ACheckOfATaskInConsulMayUseTheDriversNetwork) {
  Fixture f;
  f.driver_network.set_addr("172.17.0.5");
  v1::Service wanted = service("auto", "http");
  v1::ServiceCheck& check = *wanted.add_checks();
  check.set_address_mode("driver");
  check.set_port_label("9000");
  for (const char* provider : {"nomad", "consul"}) {
    wanted.set_provider(provider);
    ServicePlace place = f.place(true);
    place.driver_network = &f.driver_network;
    const auto resolved = resolve_service(wanted, place);
    ASSERT_TRUE(resolved.ok());
    const auto at = resolve_check(resolved->service->checks(0), *resolved, place);
    ASSERT_EQ(at.ok(), std::string(provider) == "consul");
    EXPECT_EQ(at.value_or({"172.17.0.5", 9000}), (ServiceAddress{"172.17.0.5", 9000}));
  }
}

}  // namespace
}  // namespace drover
