#include "options.h"

#include <vector>

#include "gtest/gtest.h"

namespace drover::hostpath {
namespace {

Result<std::optional<Settings>> parse(std::vector<const char*> given, const char* endpoint = nullptr) {
  given.insert(given.begin(), "drover-csi-hostpath");
  return parse_options(static_cast<int>(given.size()), given.data(), endpoint);
}

TEST(HostpathOptions, AllOfThem) {
  const auto settings = parse({"--endpoint", "unix:///csi/csi.sock", "--node-id", "n1", "--data-dir", "/srv/x/../data/",
                               "--max-volumes", "3", "--topology", "zone=a", "--topology=rack=7", "--capacity", "10GiB",
                               "--attach", "--no-controller", "--controller-elsewhere"});
  ASSERT_TRUE(settings.ok()) << settings.status().to_string();
  const Settings& got = **settings;
  EXPECT_EQ(got.socket, "/csi/csi.sock");
  EXPECT_EQ(got.node_id, "n1");
  EXPECT_EQ(got.data_dir, "/srv/data");
  EXPECT_EQ(got.max_volumes, 3);
  EXPECT_EQ(got.topology, (std::map<std::string, std::string>{{"zone", "a"}, {"rack", "7"}}));
  EXPECT_EQ(got.capacity, int64_t{10} << 30);
  EXPECT_TRUE(got.attaches);
  EXPECT_FALSE(got.has_controller);
  EXPECT_TRUE(got.controller_elsewhere);
  EXPECT_TRUE(got.has_node);
}

TEST(HostpathOptions, TheEndpointMayComeFromTheEnvironment) {
  for (const char* endpoint : {"unix:///csi/csi.sock", "unix:/csi/csi.sock", "/csi/csi.sock"}) {
    const auto settings = parse({"--node-id", "n1", "--data-dir", "/srv/data"}, endpoint);
    ASSERT_TRUE(settings.ok()) << settings.status().to_string();
    EXPECT_EQ((*settings)->socket, "/csi/csi.sock");
    EXPECT_EQ((*settings)->capacity, 0);
    EXPECT_TRUE((*settings)->has_controller);
  }
}

TEST(HostpathOptions, WrongOnesAreNamed) {
  const std::string long_socket = "/" + std::string(107, 's');
  struct Case {
    std::vector<const char*> given;
    const char* error;
  };
  const Case cases[] = {
      {{"--endpoint", "tcp://1.2.3.4:5"}, "--endpoint: is no unix:///PATH"},
      {{"--endpoint", long_socket.c_str()}, "--endpoint: the path of a socket may have 107 bytes"},
      {{"--data-dir", "/"}, "--data-dir: is no folder of its own"},
      {{"--data-dir", ""}, "--data-dir: is missing"},
      {{"--node-id", ""}, "--node-id is missing"},
      {{"--node-id", "a/b"}, "--node-id has a slash or a control character"},
      {{"--max-volumes", "-1"}, "--max-volumes: is negative"},
      {{"--topology", "zone"}, "--topology: \"zone\" is no KEY=VALUE"},
      {{"--topology", "=a"}, "--topology: \"=a\" is no KEY=VALUE"},
      {{"--topology", "zone=a", "--topology", "zone=b"}, "--topology: \"zone\" is given twice"},
      {{"--capacity", "many"}, "--capacity: is no size, as 10GiB"},
      {{"--capacity", "3MHz"}, "--capacity: is no size, as 10GiB"},
      {{"--capacity", "9000000000GiB"}, "--capacity: is no size, as 10GiB"},
      {{"--no-node", "--no-controller"}, "--no-controller, --no-node: one of both must be served"},
      {{"--controller-elsewhere"}, "--controller-elsewhere: needs --no-controller"},
  };
  for (const Case& c : cases) {
    std::vector<const char*> given = {"--endpoint=/csi/csi.sock", "--node-id=n1", "--data-dir=/srv/data"};
    const std::string name = c.given[0];
    std::erase_if(given, [&](const char* each) { return std::string(each).starts_with(name + "="); });
    given.insert(given.end(), c.given.begin(), c.given.end());
    EXPECT_EQ(parse(given).status(), invalid_argument(c.error));
  }
  EXPECT_EQ(parse({"--speed"}).status().code(), Code::invalid_argument);
  EXPECT_EQ(parse({"--endpoint=/s", "--node-id=n", "--data-dir=/d", "more"}).status().code(), Code::invalid_argument);
  EXPECT_EQ(parse({}).status().code(), Code::invalid_argument);
  EXPECT_EQ(parse({"--help"})->has_value(), false);
}

}  // namespace
}  // namespace drover::hostpath
