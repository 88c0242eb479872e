// The look at a stopped node: what is shown, what is left out, and which folders are refused.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "offline/client_state_command.h"
#include "offline/node_state.h"
#include "offline/rows_copy.h"
#include "testing/agent_fixture.h"

#include "agent_state.pb.h"

namespace drover::agent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const Uuid kAlloc = *Uuid::parse("11111111-2222-4333-8444-555555555555");
constexpr const char* kSecret = "do-not-show-me";  // in every place that may hold one

driver::TaskConfig secretive_config() {
  driver::TaskConfig config;
  config.set_id("11111111/web/1");
  config.set_user("ada");
  (*config.mutable_env())["TOKEN"] = kSecret;
  (*config.mutable_device_env())["KEY"] = kSecret;
  config.set_msgpack_driver_config(kSecret);
  config.mutable_network_isolation_spec()->set_path("/run/netns/x");
  return config;
}

StoredAllocation stored_allocation() {
  StoredAllocation row;
  row.mutable_allocation()->set_id(kAlloc.bytes());
  row.mutable_allocation()->set_job_id("shop");
  row.mutable_job()->set_id("shop");
  row.mutable_job()->set_version(3);
  v1::Task* task = row.mutable_job()->add_task_groups()->add_tasks();
  (*task->mutable_env())["PASSWORD"] = kSecret;
  (*(*row.mutable_hooks())["network"].mutable_values())["network"] = kSecret;
  row.mutable_health()->set_healthy(true);
  return row;
}

StoredTask stored_task() {
  StoredTask row;
  row.mutable_state()->set_state("running");
  row.set_restart_count(2);
  *row.mutable_handle()->mutable_config() = secretive_config();
  row.mutable_handle()->set_state(driver::RUNNING);
  row.mutable_handle()->set_driver_state(Json{{"version", 1}, {"pid", 4711}, {"password", kSecret}}.dump());
  StoredHook& hook = (*row.mutable_hooks())["vault"];
  hook.set_done(true);
  (*hook.mutable_values())["token"] = kSecret;
  *hook.mutable_adds() = secretive_config();
  return row;
}

struct Rows {
  MemoryStore rows;
  AgentStore store{rows};

  Rows() {
    EXPECT_TRUE(store.identity().ok());
    EXPECT_TRUE(store.put_node_token(kSecret).ok());
  }
  void put(const std::string& key, const std::string& value) {
    const LocalStore::Write write{key, value};
    ASSERT_TRUE(rows.write(std::span(&write, 1)).ok());
  }
  Json shown() {
    const auto state = node_state(store);
    EXPECT_TRUE(state.ok()) << state.status().message();
    return state ? Json::parse(state->json) : Json();
  }
};

TEST(ClientState, ShowsTheNodeItsAllocationsAndTasks) {
  Rows rows;
  ASSERT_TRUE(rows.store.put_meta({{"rack", "r2"}, {"old", std::nullopt}}).ok());
  ASSERT_TRUE(rows.store.put_contact({.boot = "b", .steady_ns = 7}).ok());
  ASSERT_TRUE(rows.store.put_allocation(kAlloc, stored_allocation()).ok());
  ASSERT_TRUE(rows.store.put_task(kAlloc, "web", stored_task()).ok());

  const Json all = rows.shown();

  const Json& node = all["Node"];
  EXPECT_EQ((*rows.store.known_id())->to_string(), node["ID"]);
  EXPECT_EQ(Json::parse(R"({"old":null,"rack":"r2"})"), node["MetaChanges"]);
  EXPECT_EQ(Json::parse(R"({"Boot":"b","SteadyTime":7})"), node["LastContact"]);
  EXPECT_EQ(true, node["HasIdentity"]);
  const Json& allocation = all["Allocations"][kAlloc.to_string()];
  EXPECT_EQ("shop", allocation["Alloc"]["JobID"]);
  EXPECT_EQ(3, allocation["Job"]["Version"]);
  EXPECT_EQ(true, allocation["DeployStatus"]["Healthy"]);
  const Json& task = allocation["Tasks"]["web"];
  EXPECT_EQ("running", task["RemoteState"]["State"]);
  EXPECT_EQ(2, task["LocalState"]["RestartCount"]);
  EXPECT_EQ("running", task["LocalState"]["TaskHandle"]["State"]);
  EXPECT_EQ("/run/netns/x", task["LocalState"]["TaskHandle"]["Config"]["NetworkIsolationSpec"]["Path"]);
  EXPECT_EQ(true, task["LocalState"]["Hooks"]["vault"]["Done"]);
  EXPECT_EQ(4711, task["DriverState"]["pid"]);
}

TEST(ClientState, LeavesSecretsOutAndNamesThem) {
  Rows rows;
  ASSERT_TRUE(rows.store.put_allocation(kAlloc, stored_allocation()).ok());
  ASSERT_TRUE(rows.store.put_task(kAlloc, "web", stored_task()).ok());

  const Json all = rows.shown();

  EXPECT_EQ(std::string::npos, all.dump().find(kSecret)) << all.dump(2);
  const Json& task = all["Allocations"][kAlloc.to_string()]["Tasks"]["web"];
  const Json& config = task["LocalState"]["TaskHandle"]["Config"];
  EXPECT_EQ(Json({"msgpack_driver_config", "env", "device_env"}), config["LeftOut"]);
  EXPECT_EQ(Json({"TOKEN"}), config["EnvNames"]);
  EXPECT_EQ(Json({"password"}), task["DriverState"]["LeftOut"]);
  const Json& hook = task["LocalState"]["Hooks"]["vault"];
  EXPECT_EQ(Json({"values"}), hook["LeftOut"]);
  EXPECT_EQ(14, hook["ValueBytes"]["token"]);
  EXPECT_EQ(Json({"secret", "token"}), all["Node"]["LeftOut"]);
}

TEST(ClientState, OfADriverStateThatIsNoObjectShowsTheLengthOnly) {
  Rows rows;
  StoredTask task = stored_task();
  task.mutable_handle()->set_driver_state(kSecret);
  ASSERT_TRUE(rows.store.put_allocation(kAlloc, stored_allocation()).ok());
  ASSERT_TRUE(rows.store.put_task(kAlloc, "web", task).ok());

  EXPECT_EQ(Json::parse(R"({"Bytes":14,"LeftOut":["driver_state"]})"),
            rows.shown()["Allocations"][kAlloc.to_string()]["Tasks"]["web"]["DriverState"]);
}

TEST(ClientState, NamesRowsThatCannotBeReadAndShowsTheOthers) {
  Rows rows;
  const std::string other = "aaaaaaaaaaaaaaaa";
  ASSERT_TRUE(rows.store.put_allocation(kAlloc, stored_allocation()).ok());
  ASSERT_TRUE(rows.store.put_task(kAlloc, "web", stored_task()).ok());
  rows.put("task/" + kAlloc.bytes() + "/log", "\xff");
  rows.put("alloc/" + other, "\xff");

  const auto state = node_state(rows.store);

  ASSERT_TRUE(state.ok()) << state.status().message();
  ASSERT_EQ(2u, state->problems.size());
  EXPECT_NE(std::string::npos, state->problems[0].find("task \"log\" of allocation " + kAlloc.to_string()));
  EXPECT_NE(std::string::npos, state->problems[1].find(Uuid::from_bytes(other).to_string()));
  const Json all = Json::parse(state->json);
  EXPECT_EQ("running", all["Allocations"][kAlloc.to_string()]["Tasks"]["web"]["RemoteState"]["State"]);
  EXPECT_TRUE(all["Allocations"][Uuid::from_bytes(other).to_string()].is_null());
}

TEST(ClientState, OfRowsThatAreNoNodesIsRefused) {
  MemoryStore rows;
  AgentStore store(rows);
  EXPECT_EQ(Code::not_found, node_state(store).status().code());
}

TEST(AgentRows, AnAllocationThatCannotBeReadIsNamed) {
  Rows rows;
  rows.put("alloc/" + kAlloc.bytes(), "\xff");
  const auto read = rows.store.allocations();
  ASSERT_FALSE(read.ok());
  EXPECT_NE(std::string::npos, read.status().message().find(kAlloc.to_string())) << read.status().message();
}

class Console final : public CommandHost {
 public:
  std::ostream& out() override { return printed; }
  std::ostream& err() override { return complained; }
  std::istream& in() override { return input; }
  void* find_extension(std::string_view, std::string_view) const override { return nullptr; }
  std::vector<std::pair<std::string, std::string>> commands() const override { return {}; }
  std::string version() const override { return "test"; }

  std::ostringstream printed, complained;
  std::istringstream input;
};

// An agent's folder with the rows of a node, and the command on it. Copies go into a folder beside.
class ClientStateFolder : public ::testing::Test {
 protected:
  ClientStateFolder() {
    fs::create_directories(data_ + "/local");
    fs::create_directories(copies_);
    if (const char* before = ::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", copies_.c_str(), 1);
  }
  ~ClientStateFolder() override {
    if (before_) {
      ::setenv("TMPDIR", before_->c_str(), 1);
    } else {
      ::unsetenv("TMPDIR");
    }
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  void write_rows(bool is_node = true) {
    const auto database = LocalDatabase::open(data_ + "/local");
    ASSERT_TRUE(database.ok()) << database.status().message();
    const auto rows = (*database)->space("agent");
    AgentStore store(*rows);
    if (is_node) {
      ASSERT_TRUE(store.identity().ok());
    }
    ASSERT_TRUE(store.put_allocation(kAlloc, stored_allocation()).ok());
    ASSERT_TRUE(store.put_task(kAlloc, "web", stored_task()).ok());
  }
  // Names, times and content.
  std::string files() const {
    std::ostringstream all;
    for (const auto& file : fs::recursive_directory_iterator(data_)) {
      all << file.path() << " " << fs::last_write_time(file.path()).time_since_epoch().count() << "\n";
      if (file.is_regular_file()) all << std::ifstream(file.path()).rdbuf() << "\n";
    }
    return all.str();
  }
  int run(std::vector<std::string> arguments) { return ClientStateCommand().run(arguments, console_); }
  std::string error() const { return console_.complained.str(); }

  static std::string new_folder() {
    std::string path = fs::temp_directory_path() / "drover-offline-XXXXXX";
    return ::mkdtemp(path.data()) ? path : std::string();
  }

  const std::string folder_ = new_folder();
  const std::string data_ = folder_ + "/data", copies_ = folder_ + "/copies";
  std::optional<std::string> before_;
  Console console_;
};

TEST_F(ClientStateFolder, IsReadAndLeftAsItIs) {
  write_rows();
  const std::string before = files();

  EXPECT_EQ(0, run({data_})) << error();

  const Json all = Json::parse(console_.printed.str());
  EXPECT_EQ(4711, all["Allocations"][kAlloc.to_string()]["Tasks"]["web"]["DriverState"]["pid"]);
  EXPECT_EQ(before, files());
  EXPECT_TRUE(fs::is_empty(copies_));
}

TEST_F(ClientStateFolder, MayBeNamedByItsRows) {
  write_rows();
  EXPECT_EQ(0, run({data_ + "/local"})) << error();
}

TEST_F(ClientStateFolder, WithoutRowsIsRefused) {
  EXPECT_EQ(1, run({data_}));
  EXPECT_NE(std::string::npos, error().find(data_ + ": no agent's rows are below it")) << error();
}

TEST_F(ClientStateFolder, OfAServerIsRefused) {
  write_rows(false);
  EXPECT_EQ(1, run({data_}));
  EXPECT_NE(std::string::npos, error().find(data_ + ": the rows are no node's")) << error();
  EXPECT_EQ("", console_.printed.str());
}

TEST_F(ClientStateFolder, ThatIsDamagedIsNamed) {
  write_rows();
  for (const auto& file : fs::directory_iterator(data_ + "/local")) {
    if (file.path().filename().string().starts_with("MANIFEST")) std::ofstream(file.path()) << "nothing of the kind";
  }
  EXPECT_EQ(1, run({data_}));
  EXPECT_NE(std::string::npos, error().find(data_ + "/local, read from a copy")) << error();
  EXPECT_NE(std::string::npos, error().find("Corruption")) << error();
  EXPECT_TRUE(fs::is_empty(copies_));
}

TEST_F(ClientStateFolder, IsNamedOnceAndWithoutFlags) {
  EXPECT_EQ(1, run({}));
  EXPECT_EQ(1, run({data_, data_}));
  EXPECT_EQ(1, run({"-pretty", data_}));
  EXPECT_NE(std::string::npos, error().find("flag provided but not defined: -pretty")) << error();
  EXPECT_EQ(0, run({"-help"}));
  EXPECT_NE(std::string::npos, console_.printed.str().find("Usage: drover operator client-state <data_dir>"));
}

}  // namespace
}  // namespace drover::agent
