// The commands around volumes, against recorded answers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/recorded_agent.h"

namespace drover::cli {
namespace {

using testing::RecordedAgent;
using testing::run_command;
using testing::Said;

constexpr const char* kAlloc = "2ed913ba-0000-0000-0000-000000000001";
constexpr const char* kNode = "88cebdee-0000-0000-0000-000000000002";

class VolumeCommands : public ::testing::Test {
 protected:
  VolumeCommands() {
    std::string name = ::testing::TempDir() + "/drover-volumes-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    agent_.says("GET /v1/volumes?prefix=data&type=csi",
                R"([{"ID":"data","Name":"database","Namespace":"default","PluginID":"p","Schedulable":true,)"
                R"("AccessMode":"single-node-writer"}])");
  }
  ~VolumeCommands() override { std::filesystem::remove_all(folder_); }

  Said volume(const std::string& name, std::vector<std::string> words, const std::string& input = {}) {
    return run_command(volume_commands(), "volume " + name, std::move(words), agent_, input);
  }
  Said snapshot(const std::string& name, std::vector<std::string> words) {
    return run_command(volume_snapshot_commands(), "volume snapshot " + name, std::move(words), agent_);
  }
  Said plugin(std::vector<std::string> words) {
    return run_command(plugin_commands(), "plugin status", std::move(words), agent_);
  }
  std::string file(const std::string& text) const {
    const std::string path = folder_ + "/volume.hcl";
    std::ofstream(path) << text;
    return path;
  }
  // The lines that the agent was asked, without those that look something up.
  std::string changes() const {
    std::string text;
    for (const RecordedAgent::Asked& asked : agent_.asked()) {
      if (!asked.line.starts_with("GET")) text += asked.line + "\n";
    }
    return text;
  }

  RecordedAgent agent_;
  std::string folder_;
};

constexpr const char* kVolume = R"(
  id = "data"
  type = "csi"
  plugin_id = "p"
  capability {
    access_mode = "single-node-writer"
    attachment_mode = "file-system"
  }
  secrets { key = "hidden" }
)";

TEST_F(VolumeCommands, AFileIsRegistered) {
  agent_.says("PUT /v1/volumes", "");
  const Said said = volume("register", {file(kVolume)});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, "Volume \"data\" registered\n");
  ASSERT_EQ(agent_.asked().size(), 1U);
  EXPECT_NE(agent_.asked()[0].body.find(R"("Secrets":{"key":"hidden"})"), std::string::npos);

  EXPECT_EQ(volume("register", {"-"}, kVolume).out, "Volume \"data\" registered\n");
  agent_.says("PUT /v1/volumes?namespace=prod", "");
  EXPECT_EQ(volume("register", {"-"}, std::string(kVolume) + "namespace = \"prod\"").code, 0) << "where the file says";
}

TEST_F(VolumeCommands, AVolumeIsCreated) {
  agent_.says("PUT /v1/volume/csi/data/create", R"({"Volumes":[{"ID":"data","ExternalID":"vol-1"}]})");
  const Said said = volume("create", {file(kVolume)});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, "Created external volume vol-1 with ID data\n");
  agent_.says("PUT /v1/volume/csi/data/create", "no plugin of that name", 500);
  const Said refused = volume("create", {file(kVolume)});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("Error creating volume"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("no plugin of that name"), std::string::npos) << refused.err;
  EXPECT_EQ(volume("create", {folder_ + "/none"}).code, 1);
}

TEST_F(VolumeCommands, AVolumeIsForgottenWhenOneSaysSo) {
  agent_.says("DELETE /v1/volume/csi/data", "");
  EXPECT_EQ(volume("deregister", {"data"}).out, "Successfully deregistered volume \"data\"!\n");
  EXPECT_EQ(changes(), "DELETE /v1/volume/csi/data\n");
  agent_.says("DELETE /v1/volume/csi/data?force=true", "");
  EXPECT_EQ(volume("deregister", {"-force", "data"}, "n\n").code, 0);
  EXPECT_EQ(changes(), "DELETE /v1/volume/csi/data\n") << "nobody said yes";
  const Said forced = volume("deregister", {"-force", "data"}, "y\n");
  EXPECT_NE(forced.out.find("Successfully deregistered volume \"data\"!\n"), std::string::npos) << forced.err;
}

TEST_F(VolumeCommands, ADeletedVolumeIsNamedWholeAndItsSecretsAreInAHeader) {
  agent_.says("DELETE /v1/volume/csi/data/delete", "");
  const Said said = volume("delete", {"-secret=a=1", "-secret", "b=x=y", "data"});
  EXPECT_EQ(said.out, "Successfully deleted volume \"data\"!\n") << said.err;
  ASSERT_EQ(agent_.asked().size(), 1U) << "nothing is looked up";
  EXPECT_EQ(agent_.asked()[0].secrets, "a=1,b=x=y");
  const Said refused = volume("delete", {"-secret=a=1,2", "data"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.err.find("1,2"), std::string::npos) << "a secret is not repeated";
}

TEST_F(VolumeCommands, ANodesClaimsAreGivenBack) {
  agent_.says("GET /v1/nodes?prefix=88cebdee", std::string(R"([{"ID":")") + kNode + R"("}])");
  agent_.says(std::string("GET /v1/node/") + kNode, std::string(R"({"ID":")") + kNode + R"("})");
  agent_.says(std::string("DELETE /v1/volume/csi/data/detach?node=") + kNode, "");
  const Said said = volume("detach", {"data", "88cebdee"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, "");
  // One that is gone.
  const std::string gone = "99cebdee-0000-0000-0000-000000000002";
  agent_.says("GET /v1/nodes?prefix=99cebdee000000000000000000000002", "[]");
  agent_.says("DELETE /v1/volume/csi/data/detach?node=" + gone, "");
  EXPECT_EQ(volume("detach", {"data", gone}).code, 0);
  agent_.says("GET /v1/nodes?prefix=77", "[]");
  EXPECT_EQ(volume("detach", {"data", "77"}).code, 1);
}

TEST_F(VolumeCommands, VolumesAreListed) {
  agent_.says("GET /v1/volumes?type=csi", R"([{"ID":"data","Name":"database","PluginID":"p","Schedulable":true}])");
  EXPECT_EQ(volume("status", {"-type=csi"}).out,
            "Container Storage Interface\n"
            "ID    Name      Plugin ID  Schedulable  Access Mode\n"
            "data  database  p          true         <none>\n");
  agent_.says("GET /v1/volumes?type=csi", "[]");
  EXPECT_EQ(volume("status", {"-type=csi"}).out, "Container Storage Interface\nNo CSI volumes\n");
  EXPECT_EQ(volume("status", {"-type=tape"}).code, 1);
  agent_.says("GET /v1/volumes?type=csi&namespace=%2A",
              R"([{"ID":"data","Name":"database","Namespace":"prod","PluginID":"p"}])");
  EXPECT_NE(volume("status", {"-type=csi", "-namespace=*"}).out.find("data  database  prod       p"),
            std::string::npos);
  agent_.says("GET /v1/volumes?type=csi", "[1]");
  EXPECT_EQ(volume("status", {"-json"}).code, 1) << "no list of volumes";
}

TEST_F(VolumeCommands, TheStoragesOwnVolumesAreListedPageAfterPage) {
  agent_.says("GET /v1/volumes?type=csi", "[]");
  agent_.says("GET /v1/plugins?type=csi",
              R"([{"ID":"node-only"},{"ID":"p","ControllerRequired":true,"ControllersHealthy":1}])");
  agent_.says("GET /v1/volumes/external?plugin_id=p",
              R"({"Volumes":[{"ExternalID":"vol-1","CapacityBytes":1073741824}],"NextToken":"2"})");
  agent_.says("GET /v1/volumes/external?next_token=2&plugin_id=p",
              R"({"Volumes":[{"ExternalID":"vol-2","IsAbnormal":true,"Status":"on fire"}]})");
  const Said said = volume("status", {"-type=csi", "-verbose"});
  EXPECT_EQ(said.out,
            "Container Storage Interface\nNo CSI volumes\n\n"
            "Volumes in the storage of p\n"
            "External ID  Size     Condition           Nodes\n"
            "vol-1        1.0 GiB  OK                  <none>\n"
            "vol-2        <none>   Abnormal (on fire)  <none>\n")
      << said.err;
}

TEST_F(VolumeCommands, AStorageThatRepeatsAPageForEverIsLeft) {
  agent_.says("GET /v1/volumes?type=csi", "[]");
  agent_.says("GET /v1/plugins?type=csi", R"([{"ID":"p","ControllerRequired":true,"ControllersHealthy":1}])");
  const char* page = R"({"Volumes":[{"ExternalID":"vol-1"}],"NextToken":"2"})";
  agent_.says("GET /v1/volumes/external?plugin_id=p", page);
  agent_.says("GET /v1/volumes/external?next_token=2&plugin_id=p", page);
  const Said said = volume("status", {"-type=csi", "-verbose"});
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.err, "Error querying the volumes of plugin \"p\": it repeats the page \"2\" for ever\n");
}

TEST_F(VolumeCommands, OneIsFoundByTheBeginningOfItsName) {
  const std::string row =
      R"({"ID":"data","Name":"database","Namespace":"default","PluginID":"p","Schedulable":true,"NodesHealthy":2})";
  agent_.says("GET /v1/volumes?prefix=da&type=csi", R"([{"ID":"data"}])");
  agent_.says("GET /v1/volume/csi/data", row);
  EXPECT_NE(volume("status", {"-short", "da"}).out.find("Nodes Healthy   = 2"), std::string::npos)
      << volume("status", {"-short", "da"}).out;
  EXPECT_EQ(volume("status", {"-t", "{{.Name}}", "data"}).out, "database\n");
  EXPECT_NE(volume("status", {"-json", "data"}).out.find("\"NodesHealthy\": 2"), std::string::npos);
  agent_.says("GET /v1/volumes?prefix=d&type=csi", R"([{"ID":"data"},{"ID":"dust"}])");
  const Said several = volume("status", {"d"});
  EXPECT_EQ(several.code, 1);
  EXPECT_NE(several.err.find("Prefix matched multiple volumes"), std::string::npos) << several.err;
  agent_.says("GET /v1/volumes?prefix=none&type=csi", "[]");
  EXPECT_NE(volume("status", {"none"}).err.find("No volumes with prefix or ID \"none\" found"), std::string::npos);
}

TEST_F(VolumeCommands, ClaimsAreExplained) {
  agent_.says("GET /v1/volume/csi/data/claims", std::string(R"({"Claims":[{"AllocationID":")") + kAlloc +
                                                    R"(","JobID":"db","Mode":"write","Step":"releasing","HeldBy":"it",)"
                                                    R"("FreedBy":"the node"}]})");
  const Said said = volume("claims explain", {"data"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("Allocation = 2ed913ba"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("Freed By   = the node"), std::string::npos) << said.out;
  agent_.says("GET /v1/volume/csi/data/claims", R"({"Claims":[]})");
  EXPECT_EQ(volume("claims explain", {"data"}).out, "Nobody claims the volume\n");
}

TEST_F(VolumeCommands, AnExampleIsWrittenOnce) {
  const std::string path = folder_ + "/example.json";
  EXPECT_EQ(volume("init", {"-json", path}).out, "Example volume specification written to " + path + "\n");
  EXPECT_EQ(volume("init", {path}).code, 1) << "it is there already";
  EXPECT_EQ(volume("init", {"-type=tape", folder_ + "/other"}).code, 1);
}

TEST_F(VolumeCommands, SnapshotsAreMadeListedAndDeleted) {
  agent_.says("PUT /v1/volumes/snapshot",
              R"({"Snapshots":[{"ID":"snap-1","ExternalSourceVolumeID":"vol-1","SizeBytes":2048,"IsReady":true}]})");
  const Said made = snapshot("create", {"data", "first", "-parameter=kind=fast", "-secret=a=b"});
  EXPECT_EQ(
      made.out,
      "Snapshot ID  Volume ID  Size     Create Time  Ready?\nsnap-1       vol-1      2.0 KiB  <none>       true\n")
      << made.err;
  const std::string body = agent_.asked().back().body;
  EXPECT_NE(body.find(R"("SourceVolumeID":"data")"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("Name":"first")"), std::string::npos) << body;

  agent_.says("GET /v1/plugins?type=csi", R"([{"ID":"p"}])");
  agent_.says("GET /v1/volumes/snapshot?per_page=30&plugin_id=p", R"({"Snapshots":[{"ID":"snap-1"}],"NextToken":"n"})");
  const Said listed = snapshot("list", {"-secret=a=b"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_NE(listed.out.find("drover volume snapshot list"), std::string::npos) << "how to go on: " << listed.out;
  EXPECT_EQ(agent_.asked().back().secrets, "a=b");
  agent_.says("GET /v1/plugins?type=csi", R"([{"ID":"p"},{"ID":"q"}])");
  EXPECT_NE(snapshot("list", {}).err.find("name one by -plugin"), std::string::npos);

  agent_.says("DELETE /v1/volumes/snapshot?plugin_id=p&snapshot_id=snap-1", "");
  EXPECT_EQ(snapshot("delete", {"p", "snap-1"}).code, 0);
  EXPECT_EQ(snapshot("delete", {"p", "snap-2"}).code, 1);
}

TEST_F(VolumeCommands, StoragePluginsAreShownBesideThoseOfTheNode) {
  const std::string row =
      R"("ID":"p","Provider":"example.org","ControllersHealthy":1,"ControllersExpected":1,"NodesHealthy":2,"NodesExpected":3)";
  agent_.says("GET /v1/plugins?type=csi", "[{" + row + "}]");
  const std::string table =
      "Container Storage Interface\n"
      "ID  Provider     Controllers Healthy/Expected  Nodes Healthy/Expected\n"
      "p   example.org  1/1                           2/3\n";
  EXPECT_EQ(plugin({"-type=csi"}).out, table);
  const Said both = plugin({});
  EXPECT_NE(both.out.find(table), std::string::npos) << both.out;
  EXPECT_NE(both.out.find("Installed"), std::string::npos) << both.out;
  EXPECT_EQ(plugin({"-type=node"}).out.find("Container Storage"), std::string::npos);
  EXPECT_EQ(plugin({"-type=other"}).code, 1);

  agent_.says("GET /v1/plugin/csi/p",
              "{" + row + R"(,"Version":"1.2","Controllers":{},"Nodes":{)" + "\"" + kNode +
                  R"(":{"Healthy":true,"NodeInfo":{"RequiresNodeStageVolume":true}}},"Allocations":[]})");
  const Said one = plugin({"p"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_NE(one.out.find("Version              = 1.2"), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("No allocations placed"), std::string::npos) << one.out;
  const Said verbose = plugin({"-verbose", "p"});
  EXPECT_NE(verbose.out.find("Node Capabilities\n  requires node stage volume\n"), std::string::npos) << verbose.out;
  EXPECT_NE(verbose.out.find(kNode), std::string::npos) << verbose.out;
  agent_.says("GET /v1/agent/plugin/p", R"({"Name":"p","Type":"csi","State":"running","PID":7,"Restarts":2})");
  const Said local = plugin({"p"});
  EXPECT_NE(local.out.find("Version              = 1.2"), std::string::npos) << local.out;
  EXPECT_NE(local.out.find("\nProgram on this node\nName     = p\n"), std::string::npos) << local.out;
  EXPECT_EQ(local.out.find("Digest"), std::string::npos) << local.out;
  EXPECT_EQ(plugin({"-type=node", "p"}).out.find("Nodes Healthy"), std::string::npos);
  EXPECT_EQ(plugin({"-short", "p"}).out.find("Program"), std::string::npos);
  agent_.says("GET /v1/plugins?prefix=none&type=csi", "[]");
  EXPECT_EQ(plugin({"none"}).code, 1);
  EXPECT_EQ(plugin({"-type=csi", "none"}).code, 1);
}

}  // namespace
}  // namespace drover::cli
