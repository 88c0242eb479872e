#include "drover/machine_addresses.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

const std::vector<InterfaceAddress> kMachine = {
    {.interface = "lo", .address = "127.0.0.1", .is_loopback = true},
    {.interface = "lo", .address = "::1", .is_loopback = true},
    {.interface = "docker0", .address = "172.17.0.1"},
    {.interface = "eth0", .address = "fe80::1", .is_default = true},
    {.interface = "eth0", .address = "10.1.2.3", .is_default = true},
    {.interface = "eth1", .address = "203.0.113.7"},
    {.interface = "eth2", .address = "192.168.0.9", .is_up = false}};

TEST(MachineAddresses, AreMeantByTemplates) {
  const struct {
    const char *text, *address;
  } cases[] = {
      {"0.0.0.0", "0.0.0.0"},
      {"{{ GetPrivateIP }}", "10.1.2.3"},
      {"{{GetPublicIP}}", "203.0.113.7"},
      {R"({{ GetInterfaceIP "eth0" }})", "10.1.2.3"},
      {R"({{ GetInterfaceIP "docker0" }}:4647)", "172.17.0.1:4647"},
      {R"({{ GetAllInterfaces | include "network" "172.16.0.0/12" | attr "address" }})", "172.17.0.1"},
      {R"({{ GetPrivateInterfaces | exclude "name" "docker.*" | attr "address" }})", "10.1.2.3"},
      {R"({{ GetPrivateInterfaces | include "type" "IPv4" | sort "default" | limit 1 | join "address" " " }})", "10.1.2.3"},
      {R"({{ GetDefaultInterfaces | include "type" "IPv4" | attr "name" }})", "eth0"},
      {R"({{ GetAllInterfaces | exclude "flags" "loopback" | include "flags" "up" | sort "-address" | attr "name" }})", "eth0"},
      {R"({{ GetAllInterfaces | include "flags" "down" | attr "address" }})", "192.168.0.9"},
      {R"({{ GetPublicInterfaces | attr "address" }})", "203.0.113.7"},
  };
  for (const auto& c : cases) {
    const auto found = resolve_address(c.text, kMachine);
    ASSERT_TRUE(found.ok()) << c.text << ": " << found.status().message();
    EXPECT_EQ(*found, c.address) << c.text;
  }
}

TEST(MachineAddresses, SayWhatIsWrong) {
  const struct {
    const char *text, *problem;
  } cases[] = {
      {"{{ GetPrivateIPs }}", "GetPrivateIPs"},
      {"{{ GetInterfaceIP }}", "expected a string as argument 1"},
      {R"({{ GetInterfaceIP "eth9" }})", "no address of this machine is meant by"},
      {R"({{ include "name" "eth0" }})", "expected a list of interfaces"},
      {R"({{ GetAllInterfaces | include "color" "red" }})", "interfaces are not chosen by \"color\""},
      {R"({{ GetAllInterfaces | include "network" "10/8" }})", "10/8"},
      {R"({{ GetAllInterfaces | include "name" "(" }})", "\"(\""},
      {R"({{ GetAllInterfaces | join "address" " " }})", "means several addresses: 127.0.0.1 ::1"},
      {"{{ GetPrivateIP", "template 1:"},
  };
  for (const auto& c : cases) {
    const auto found = resolve_address(c.text, kMachine);
    EXPECT_EQ(found.status().code(), Code::invalid_argument) << c.text;
    EXPECT_NE(found.status().message().find(c.problem), std::string::npos) << c.text << ": " << found.status().message();
  }
}

TEST(MachineAddresses, PreferTheDefaultRoute) {
  EXPECT_EQ(private_address(kMachine), "10.1.2.3");
  EXPECT_EQ(private_address({kMachine[2], kMachine[5]}), "172.17.0.1");
  EXPECT_EQ(private_address({kMachine[0], kMachine[3], kMachine[5], kMachine[6]}), "");
}

TEST(MachineAddresses, AreOfTheFirstDefaultRoute) {
  EXPECT_EQ(parse_default_route("Iface\tDestination\tGateway\nlo\t0000007F\t0\neth0\t00000000\t0100000A\n"), "eth0");
  EXPECT_EQ(parse_default_route("Iface\tDestination\tGateway\neth1\t00000000\t1\neth0\t00000000\t2\n"), "eth1");
  EXPECT_EQ(parse_default_route("Iface\tDestination\tGateway\n"), "");
}

TEST(MachineAddresses, AreThoseOfThisMachine) {
  const auto here = machine_addresses();
  EXPECT_TRUE(std::ranges::any_of(here, [](const auto& one) { return one.address == "127.0.0.1" && one.is_loopback; }));
}

}  // namespace
}  // namespace drover
