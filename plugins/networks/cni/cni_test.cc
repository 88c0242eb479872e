// CNI networks: what plugins are given, what is made of their answers, and the order of calls when something fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cni/cni_networks.h"
#include "drover/v1/allocation.pb.h"

void fuzz_cni_answers(std::string_view bytes);

namespace drover::networks::cni {
namespace {

using Json = nlohmann::json;

Config config_of() {
  Config config;
  config.cni_folders = {"/one", "/two"};
  config.subnet = *parse_subnet("10.9.0.0/24");
  return config;
}

Wanted wanted_of(const std::string& mode = "bridge") {
  Wanted wanted{.allocation = "a1", .mode = mode, .path = "/proc/self/ns/net", .ports = {}, .arguments = {{"K", "v"}}};
  StoredPort port;
  port.set_host(8080);
  port.set_inside(80);
  wanted.ports.push_back(port);
  return wanted;
}

TEST(NetworkList, IsReadOrRefused) {
  EXPECT_EQ(1U, parse_list(R"({"name": "n", "type": "bridge"})")->plugins.size());
  EXPECT_EQ("0.1.0", parse_list(R"({"name": "n", "type": "bridge"})")->version);
  EXPECT_EQ(2U, parse_list(R"({"name": "n", "cniVersion": "1.0.0", "plugins": [{"type": "a"}, {"type": "b"}]})")
                    ->plugins.size());
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "it is no JSON object"},
      {"{", "it is no JSON object"},
      {R"({"type": "bridge"})", "\"name\" is missing"},
      {R"({"name": 5, "type": "bridge"})", "\"name\" is missing"},
      {R"({"name": "n", "plugins": []})", "\"plugins\" is no list of plugins"},
      {R"({"name": "n", "plugins": [5]})", "a plugin has no \"type\" that names a program"},
      {R"({"name": "n", "type": "../bin/sh"})", "a plugin has no \"type\" that names a program"},
      {R"({"name": "n", "type": ""})", "a plugin has no \"type\" that names a program"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(expected, parse_list(text).status().message()) << text;
}

TEST(NetworkList, IsFoundByName) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "drover-cni-test";
  std::filesystem::remove_all(folder);
  EXPECT_EQ("no CNI network config found in " + folder.string(), find_list(folder, "x").status().message());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "10.conf") << R"({"name": "first", "type": "ptp"})";
  std::ofstream(folder / "20.conflist") << R"({"name": "first", "plugins": [{"type": "bridge"}]})";
  EXPECT_EQ("ptp", Json::parse(find_list(folder, "first")->plugins[0])["type"]);
  EXPECT_EQ("CNI network config not found for name \"x\"", find_list(folder, "x").status().message());
  std::ofstream(folder / "30.json") << "{";
  EXPECT_EQ("CNI network config not found for name \"x\"; " + folder.string() + "/30.json: it is no JSON object",
            find_list(folder, "x").status().message());
  std::filesystem::remove_all(folder);
}

TEST(PluginCall, HoldsWhatTheSpecificationSays) {
  const NetworkList list = bridge_list(config_of());
  const PluginCall call = plugin_call("ADD", list, 3, wanted_of(), R"({"ips": []})", {"/one", "/two"});
  EXPECT_EQ("portmap", call.type);
  EXPECT_EQ((std::vector<std::string>{"CNI_COMMAND=ADD", "CNI_CONTAINERID=a1", "CNI_NETNS=/proc/self/ns/net",
                                      "CNI_IFNAME=eth0", "CNI_ARGS=IgnoreUnknown=true;K=v", "CNI_PATH=/one:/two"}),
            call.environment);
  EXPECT_EQ(Json::parse(R"({"name": "nomad", "cniVersion": "0.4.0", "type": "portmap", "snat": true,
      "prevResult": {"ips": []}, "runtimeConfig": {"portMappings": [
        {"hostPort": 8080, "containerPort": 80, "protocol": "tcp", "hostIP": ""},
        {"hostPort": 8080, "containerPort": 80, "protocol": "udp", "hostIP": ""}]}})"),
            Json::parse(call.input));
  // It gets only what it says it can use.
  EXPECT_FALSE(Json::parse(plugin_call("ADD", list, 1, wanted_of(), {}, {}).input).contains("runtimeConfig"));
}

TEST(Answer, IsTheResultOrThePluginsWords) {
  const PluginCall call{.command = "ADD", .type = "bridge", .environment = {}, .input = {}};
  const auto said = [&](const PluginAnswer& answer) { return read_answer(call, answer).status().message(); };
  EXPECT_EQ("plugin type=\"bridge\" failed (add): no room; try later",
            said({1, R"({"code": 11, "msg": "no room", "details": "try later"})", ""}));
  EXPECT_EQ("plugin type=\"bridge\" failed (add): netplugin failed with no error message: oops", said({2, "", "oops"}));
  EXPECT_EQ("plugin type=\"bridge\" failed (add): panic", said({2, "panic", ""}));
  EXPECT_EQ("plugin type=\"bridge\" failed (add): it printed no JSON object", said({0, "hello", ""}));
  EXPECT_EQ("", *read_answer(call, {0, "", ""}));
}

TEST(NetworkStatus, IsThatOfTheInterfaceInside) {
    const auto found = status_of(R"({"interfaces": [{"name": "nomad"}, {"name": "eth0", "sandbox": "/n"},
      {"name": "eth1", "sandbox": "/n"}], "ips": [{"interface": 0, "address": "10.0.0.1/8"},
      {"interface": 2, "address": "10.0.0.9/8"}, {"interface": 1, "address": "10.0.0.2/8"}],
      "dns": {"nameservers": ["10.0.0.53"], "search": ["x"]}})");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ("eth0", found->interface_name());
  EXPECT_EQ("10.0.0.2", found->address());
  EXPECT_EQ("10.0.0.53", found->dns().servers(0));
  EXPECT_EQ("host0", status_of(R"({"interfaces": [{"name": "host0"}], "ips": [{"interface": 0, "address": "1.2.3.4/8"}]})")
                         ->interface_name());
  for (const char* text : {"{}", "[]", "null", R"({"interfaces": [{"name": "a"}], "ips": [{"address": "1.2.3.4/8"}]})",
                           R"({"interfaces": [5], "ips": [5]})"}) {
    EXPECT_EQ("failed to configure network: no interface with an address", status_of(text).status().message()) << text;
  }
}

// Answers as it is told, and keeps what it was asked.
class FakePrograms final : public Programs {
 public:
  Result<PluginAnswer> call(const PluginCall& call) override {
    calls.push_back(call.command + " " + call.type);
    if (call.command + " " + call.type == failing) return PluginAnswer{1, R"({"msg": "no"})", ""};
    if (call.type != "bridge" || call.command != "ADD") return PluginAnswer{0, "", ""};
    return PluginAnswer{0, R"({"interfaces": [{"name": "eth0", "sandbox": "/n"}],
        "ips": [{"interface": 0, "address": "10.9.0.2/24"}]})", ""};
  }
  Result<PluginAnswer> iptables(bool is_v6, const std::vector<std::string>& arguments) override {
    std::string text = is_v6 ? "ip6tables" : "iptables";
    for (const std::string& word : arguments) text += " " + word;
    calls.push_back(text);
    return PluginAnswer{arguments[0] == "-C" ? 1 : 0, printed, ""};
  }

  std::vector<std::string> calls;
  std::string failing, printed;
};

struct CniNetworksTest : testing::Test {
  Config config = config_of();
  FakePrograms programs;
  CniNetworks networks{config, programs};
  StoredAttachment attachment;
};

TEST_F(CniNetworksTest, CallsTheWholeChainAndBack) {
  ASSERT_TRUE(networks.begin(wanted_of(), attachment).ok());
  EXPECT_TRUE(programs.calls.empty());
  ASSERT_TRUE(networks.attach(wanted_of(), attachment).ok());
  EXPECT_EQ("10.9.0.2", attachment.status().address());
  EXPECT_EQ((std::vector<std::string>{"iptables -N NOMAD-ADMIN",
                                      "iptables -C NOMAD-ADMIN -o nomad -d 10.9.0.0/24 -j ACCEPT",
                                      "iptables -A NOMAD-ADMIN -o nomad -d 10.9.0.0/24 -j ACCEPT", "ADD loopback",
                                      "ADD bridge", "ADD firewall", "ADD portmap"}),
            programs.calls);
  programs.calls.clear();
  ASSERT_TRUE(networks.detach(wanted_of(), attachment).ok());
  EXPECT_EQ((std::vector<std::string>{"DEL portmap", "DEL firewall", "DEL bridge", "DEL loopback"}), programs.calls);
}

TEST_F(CniNetworksTest, UndoesWhatFailed) {
  programs.failing = "ADD firewall";
  ASSERT_TRUE(networks.begin(wanted_of(), attachment).ok());
  EXPECT_EQ("plugin type=\"firewall\" failed (add): no", networks.attach(wanted_of(), attachment).message());
  programs.calls.erase(programs.calls.begin(), programs.calls.begin() + 6);
  EXPECT_EQ((std::vector<std::string>{"DEL portmap", "DEL firewall", "DEL bridge", "DEL loopback"}), programs.calls);
}

TEST_F(CniNetworksTest, SweepsWhatIsLeftOfAVanishedNamespace) {
  ASSERT_TRUE(networks.begin(wanted_of(), attachment).ok());
  Wanted gone = wanted_of();
  gone.path = "/no/such/namespace";
  programs.printed =
      "-P POSTROUTING ACCEPT\n"
      "-A POSTROUTING -s 10.9.0.2/32 -m comment --comment \"name: \\\"nomad\\\" id: \\\"a1\\\"\" -j CNI-abc\n"
      "-A POSTROUTING -s 10.9.0.3/32 -m comment --comment \"name: \\\"nomad\\\" id: \\\"a2\\\"\" -j CNI-def\n";
  ASSERT_TRUE(networks.detach(gone, attachment).ok());
  programs.calls.erase(programs.calls.begin(), programs.calls.begin() + 5);
  EXPECT_EQ((std::vector<std::string>{
                "iptables -t nat -D POSTROUTING -s 10.9.0.2/32 -m comment --comment name: \"nomad\" id: \"a1\" -j CNI-abc",
                "iptables -t nat -F CNI-abc", "iptables -t nat -X CNI-abc"}),
            programs.calls);
}

TEST_F(CniNetworksTest, DoesNotBeginWithoutAConfiguration) {
  config.cni_config_folder = "/no/such/folder";
  EXPECT_EQ("no CNI network config found in /no/such/folder", networks.begin(wanted_of("cni/x"), attachment).message());
}

TEST(CniAnswers, HoldUnderMutations) {
  const std::string seed =
      R"({"name": "n", "cniVersion": "1.0.0", "plugins": [{"type": "bridge"}], "code": 7, "msg": "no",)"
      R"( "interfaces": [{"name": "eth0", "sandbox": "/n"}], "ips": [{"interface": 0, "address": "10.9.0.2/24"}],)"
      R"( "dns": {"nameservers": ["10.0.0.53"]}})";
  for (size_t at = 0; at < seed.size(); ++at) {
    for (const char c : {'\0', '"', '[', '5', '\xff'}) {
      std::string changed = seed;
      changed[at] = c;
      fuzz_cni_answers(changed);
      fuzz_cni_answers(changed.substr(0, at));
    }
  }
}

}  // namespace
}  // namespace drover::networks::cni
