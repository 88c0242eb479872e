// The commands around dynamic host volumes, against recorded answers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "drover/api/host_volumes.pb.h"
#include "testing/recorded_agent.h"
#include "volumes/host_volume_file.h"

namespace drover::cli {
namespace {

using testing::RecordedAgent;
using testing::run_command;
using testing::Said;

const std::string kOne = "11111111-0000-0000-0000-000000000001", kTwo = "22222222-0000-0000-0000-000000000002";
const std::string kNode = "88cebdee-0000-0000-0000-000000000002";

std::string stub(const std::string& id, const std::string& name) {
  return R"({"ID":")" + id + R"(","Name":")" + name + R"(","Namespace":"default","PluginID":"mkdir","NodeID":")" +
         kNode + R"(","NodePool":"default","State":"ready"})";
}
std::string whole(const std::string& state) {
  return R"({"ID":")" + kOne + R"(","Name":"data","Namespace":"default","PluginID":"mkdir","NodeID":")" + kNode +
         R"(","NodePool":"default","CapacityBytes":0,"State":")" + state +
         R"(","HostPath":"/srv/v","ModifyIndex":9,"RequestedCapabilities":[{"AccessMode":"single-node-writer",)"
         R"("AttachmentMode":"file-system"}]})";
}

class HostVolumeCommands : public ::testing::Test {
 protected:
  HostVolumeCommands() {
    std::string name = ::testing::TempDir() + "/drover-host-volumes-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~HostVolumeCommands() override { std::filesystem::remove_all(folder_); }
  Said volume(const std::string& name, std::vector<std::string> words, const std::string& input = {}) {
    return run_command(volume_commands(), "volume " + name, std::move(words), agent_, input);
  }
  Said claim(const std::string& name, std::vector<std::string> words, const std::string& input = {}) {
    return run_command(volume_claim_commands(), "volume claim " + name, std::move(words), agent_, input);
  }

  RecordedAgent agent_;
  std::string folder_;
};

constexpr const char* kFile = "name = \"data\"\ntype = \"host\"\nplugin_id = \"mkdir\"\n";

TEST_F(HostVolumeCommands, OneIsCreatedAndWaitedFor) {
  agent_.says("PUT /v1/volume/host/create", R"({"Volume":)" + whole("ready") + "}");
  EXPECT_EQ(volume("create", {"-"}, kFile).out, "Created host volume data with ID " + kOne + "\n");
  EXPECT_NE(agent_.asked()[0].body.find(R"("Name":"data")"), std::string::npos);

  agent_.says("PUT /v1/volume/host/create", R"({"Index":8,"Volume":)" + whole("pending") + "}");
  EXPECT_EQ(volume("create", {"-detach", "-"}, kFile).out, "Created host volume data with ID " + kOne + "\n");
  agent_.says("GET /v1/volume/host/" + kOne + "?index=8&wait=5s&namespace=default", whole("ready"));
  const Said said = volume("create", {"-"}, kFile);
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(said.out.starts_with("==> Created host volume data with ID " + kOne + "\n==> ")) << said.out;
  EXPECT_NE(said.out.find("Monitoring volume \"11111111\"..."), std::string::npos);
  EXPECT_TRUE(said.out.ends_with("Volume \"data\" ready\n")) << said.out;

  agent_.says("PUT /v1/volume/host/create", "no node meets constraints", 500);
  const Said refused = volume("create", {"-"}, kFile);
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("Error creating volume"), std::string::npos);
}

TEST_F(HostVolumeCommands, OneIsChangedByItsName) {
  agent_.says("GET /v1/volumes?prefix=da&type=host", "[" + stub(kOne, "data") + "]");
  agent_.says("PUT /v1/volume/host/create", R"({"Volume":)" + whole("ready") + "}");
  EXPECT_EQ(volume("create", {"-id=da", "-"}, kFile).code, 0);
  EXPECT_NE(agent_.asked()[1].body.find(kOne), std::string::npos);
}

TEST_F(HostVolumeCommands, RegisteringNeedsItsNode) {
  EXPECT_NE(volume("register", {"-"}, kFile).err.find("Node ID is required for registering"), std::string::npos);
  agent_.says("PUT /v1/volume/host/register", R"({"Volume":)" + whole("pending") + "}");
  const std::string file = kFile + ("node_id = \"" + kNode + "\"\nhost_path = \"/srv/v\"\n");
  EXPECT_EQ(volume("register", {"-"}, file).out, "Registered host volume data with ID " + kOne + "\n");
  EXPECT_EQ(volume("register", {"-"}, kFile + std::string("node_id = \"here\"")).code, 1);
  EXPECT_NE(volume("create", {"-"}, "type = \"tape\"\n").err.find("\"tape\" is no kind of volume"), std::string::npos);
}

TEST_F(HostVolumeCommands, ListsAndOne) {
  agent_.says("GET /v1/volumes?type=host", "[" + stub(kTwo, "logs") + "," + stub(kOne, "data") + "]");
  agent_.says("GET /v1/volumes?type=csi", "[]");
  const std::string table =
      "Dynamic Host Volumes\n"
      "ID        Name  Namespace  Plugin ID  Node ID   Node Pool  State\n"
      "11111111  data  default    mkdir      88cebdee  default    ready\n"
      "22222222  logs  default    mkdir      88cebdee  default    ready\n";
  EXPECT_EQ(volume("status", {"-type=host"}).out, table);
  EXPECT_EQ(volume("status", {}).out, table + "\nContainer Storage Interface\nNo CSI volumes\n");
  agent_.says("GET /v1/volumes?node_pool=gpu&type=host", "[]");
  EXPECT_EQ(volume("status", {"-node-pool=gpu"}).out, "Dynamic Host Volumes\nNo dynamic host volumes\n");
  EXPECT_EQ(volume("status", {"-type=csi", "-node-pool=gpu"}).code, 1);

  agent_.says("GET /v1/volumes?prefix=data&type=host", "[" + stub(kOne, "data") + "," + stub(kTwo, "data2") + "]");
  agent_.says("GET /v1/volume/host/" + kOne + "?namespace=default", whole("ready"));
  const Said one = volume("status", {"data"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_NE(one.out.find("Capacity  = 0 B\nState     = ready\nHost Path = /srv/v\n\nCapabilities\nAccess Mode         "
                         "Attachment Mode\nsingle-node-writer  file-system\n\nAllocations\nNo allocations placed\n"),
            std::string::npos)
      << one.out;
  EXPECT_TRUE(volume("status", {"-short", "data"}).out.ends_with("Host Path = /srv/v\n"));
  agent_.says("GET /v1/volumes?prefix=d&type=host", "[" + stub(kOne, "data") + "," + stub(kTwo, "dust") + "]");
  const Said several = volume("status", {"d"});
  EXPECT_EQ(several.code, 1);
  EXPECT_NE(several.err.find("Prefix matched multiple volumes"), std::string::npos) << several.err;
  agent_.says("GET /v1/volumes?prefix=x&type=host", "[]");
  EXPECT_NE(volume("status", {"-type=host", "x"}).err.find("no volumes with prefix or ID \"x\" found"),
            std::string::npos);
}

TEST_F(HostVolumeCommands, OneIsDeleted) {
  agent_.says("DELETE /v1/volume/host/" + kOne, "{}");
  EXPECT_EQ(volume("delete", {"-type=host", kOne}).out, "Successfully deleted volume \"" + kOne + "\"!\n");
  EXPECT_EQ(agent_.asked().size(), 1U) << "nothing is looked up";
  agent_.says("GET /v1/volumes?prefix=data&type=host", "[" + stub(kOne, "data") + "]");
  agent_.says("DELETE /v1/volume/host/" + kOne + "?force=true&namespace=default", "{}");
  EXPECT_EQ(volume("delete", {"-type=host", "-force", "data"}).code, 0);
  EXPECT_EQ(volume("delete", {"-type=tape", "data"}).code, 1);
  EXPECT_EQ(volume("delete", {"-force", "data"}).code, 1) << "of another kind";
}

TEST_F(HostVolumeCommands, ExamplesCanBeRead) {
  for (const bool is_json : {false, true}) {
    const std::string path = folder_ + (is_json ? "/a.json" : "/a.hcl");
    EXPECT_EQ(volume("init", is_json ? std::vector<std::string>{"-type=host", "-json", path}
                                     : std::vector<std::string>{"-type=host", path})
                  .out,
              "Example volume specification written to " + path + "\n");
    const auto read = read_host_volume_file("f", is_json ? kHostVolumeExampleJson : kHostVolumeExample);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->name(), "database");
    EXPECT_EQ(read->parameters().at("mode"), "0700");
    EXPECT_EQ(*volume_type_in("f", is_json ? kHostVolumeExampleJson : kHostVolumeExample), "host");
  }
}

TEST_F(HostVolumeCommands, FilesSayWhatIsWrong) {
  const auto read =
      read_host_volume_file("f", std::string(kFile) +
                                     "capacity_min = \"10MiB\"\ncapacity_max = \"1GiB\"\nconstraint {\n attribute = "
                                     "\"${attr.x}\"\n value = \"y\"\n}\n"
                                     "constraint {\n attribute = \"${attr.v}\"\n version = \">= 2\"\n}\n");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->requested_capacity_min_bytes(), 10 << 20);
  EXPECT_EQ(read->constraints(0).operand(), "=");
  EXPECT_EQ(read->constraints(1).operand(), "version");
  EXPECT_EQ(read->constraints(1).r_target(), ">= 2");
  struct Case {
    std::string text, said;
  };
  for (const Case& c :
       {Case{"type = \"host\"\n", "name"}, Case{std::string(kFile) + "secrets { a = \"b\" }\n", "secrets"},
        Case{std::string(kFile) + "id = \"7\"\n", "f:4: id: \"7\" is no identifier"},
        Case{std::string(kFile) + "capability {}\n", "access_mode"}}) {
    const auto bad = read_host_volume_file("f", c.text);
    EXPECT_NE(bad.status().message().find(c.said), std::string::npos) << bad.status().message();
  }
}

TEST_F(HostVolumeCommands, ClaimsAreShownAndForgotten) {
  agent_.says("GET /v1/volumes/claims?job_id=db", R"([{"ID":")" + kTwo + R"(","Namespace":"default","JobID":"db",)" +
                                                      R"("TaskGroupName":"app","AllocID":")" + kNode +
                                                      R"(","VolumeID":")" + kOne + R"(","VolumeName":"data"}])");
  EXPECT_EQ(claim("list", {"-job=db"}).out,
            "ID                                    Namespace  Job ID  Volume ID  Volume Name  Task Group  Alloc ID\n" +
                kTwo + "  default    db      11111111   data         app         88cebdee\n");
  agent_.says("GET /v1/volumes/claims", "[]");
  EXPECT_EQ(claim("list", {}).out, "No volume claims\n");
  agent_.says("DELETE /v1/volumes/claim/" + kTwo, "{}");
  EXPECT_EQ(claim("delete", {kTwo}, "n\n").code, 0);
  EXPECT_NE(claim("delete", {kTwo}, "y\n").out.find("successfully deleted"), std::string::npos);
  EXPECT_EQ(claim("delete", {"-y", kTwo}).out, "Task group host volume claim " + kTwo + " successfully deleted\n");
  EXPECT_EQ(claim("delete", {"-y", "2222"}).code, 1);
}

}  // namespace
}  // namespace drover::cli
