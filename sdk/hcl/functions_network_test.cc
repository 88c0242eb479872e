#include "functions_testing.h"

namespace drover::hcl {
namespace {

TEST(NetworkFunctions, Host) {
  const FunctionCase cases[] = {
      {R"(cidrhost("10.12.127.0/20", 16))", R"("10.12.112.16")"},
      {R"(cidrhost("10.12.127.0/20", 268))", R"("10.12.113.12")"},
      {R"(cidrhost("10.0.0.0/24", -1))", R"("10.0.0.255")"},
      {R"(cidrhost("10.0.0.0/24", -256))", R"("10.0.0.0")"},
      {R"(cidrhost("fd00:fd12:3456:7890:00a2::/72", 34))", R"("fd00:fd12:3456:7890::22")"},
      {R"(cidrhost("1.2.3.4/32", 0))", R"("1.2.3.4")"},
      {R"(cidrhost("::/0", -1))", R"("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")"},
      {R"(cidrhost("10.0.0.0/24", 256))", "cidrhost: a prefix of 24 has no host number 256"},
      {R"(cidrhost("10.0.0.0/24", -257))", "cidrhost: a prefix of 24 has no host number -257"},
      {R"(cidrhost("10.0.0.0", 1))", R"(cidrhost: argument 1 is no network such as 10.0.0.0/8: "10.0.0.0")"},
      {R"(cidrhost("10.0.0.0/33", 1))", R"(cidrhost: argument 1 is no network such as 10.0.0.0/8: "10.0.0.0/33")"},
      {R"(cidrhost("10.0.0/8", 1))", R"(cidrhost: argument 1 is no network such as 10.0.0.0/8: "10.0.0/8")"},
  };
  expect_results(cases);
}

TEST(NetworkFunctions, NetmaskAndSubnets) {
  const FunctionCase cases[] = {
      {R"(cidrnetmask("172.16.0.0/12"))", R"("255.240.0.0")"},
      {R"(cidrnetmask("0.0.0.0/0"))", R"("0.0.0.0")"},
      {R"(cidrnetmask("fe80::/10"))", "cidrnetmask: an IPv6 network has no netmask"},
      {R"(cidrsubnet("172.16.0.0/12", 4, 2))", R"("172.18.0.0/16")"},
      {R"(cidrsubnet("10.1.2.0/24", 4, 15))", R"("10.1.2.240/28")"},
      {R"(cidrsubnet("fd00:fd12:3456:7890::/56", 16, 162))", R"("fd00:fd12:3456:7800:a200::/72")"},
      {R"(cidrsubnet("10.0.0.0/8", 0, 0))", R"("10.0.0.0/8")"},
      {R"(cidrsubnet("10.1.2.0/24", 4, 16))", "cidrsubnet: an extension of 4 bits has no subnet number 16"},
      {R"(cidrsubnet("10.1.2.0/24", 9, 0))", "cidrsubnet: there are not enough bits to extend a prefix of 24 by 9"},
      {R"(cidrsubnets("10.1.0.0/16", 4, 4, 8, 4))", R"(["10.1.0.0/20","10.1.16.0/20","10.1.32.0/24","10.1.48.0/20"])"},
      {R"(cidrsubnets("10.1.0.0/16"))", "[]"},
      {R"(cidrsubnets("255.255.255.0/24", 1, 1))", R"(["255.255.255.0/25","255.255.255.128/25"])"},
      {R"(cidrsubnets("::/0", 1, 1))", R"(["::/1","8000::/1"])"},
      {R"(cidrsubnets("10.0.0.0/24", 1, 1, 1))",
       "cidrsubnets: there is no room left for a subnet with a prefix of 25 bits"},
      {R"(cidrsubnets("10.0.0.0/24", 0))",
       "cidrsubnets: argument 2: a prefix can be extended by 1 to 32 bits, not by 0"},
  };
  expect_results(cases);
}

}  // namespace
}  // namespace drover::hcl
