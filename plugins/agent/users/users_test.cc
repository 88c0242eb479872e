// Users that tasks get which name none: the numbers that are given out, and the agent that gives them.
#include <sys/stat.h>
#include <unistd.h>

#include "drover/dynamic_user.h"
#include "testing/agent_fixture.h"
#include "users/user_pool.h"

namespace drover::agent {
namespace {

TEST(DynamicUser, NameSaysTheNumber) {
  EXPECT_EQ("nomad-80123", dynamic_user_name(80123));
  struct Case {
    const char* name;
    std::optional<uint32_t> id;
  };
  const Case cases[] = {{"nomad-80123", 80123},
                        {"nomad-1", 1},
                        {"nomad-2147483647", 2147483647},
                        {"nomad-2147483648", std::nullopt},
                        {"nomad-99999999999", std::nullopt},
                        {"nomad-0", std::nullopt},
                        {"nomad--1", std::nullopt},
                        {"nomad-", std::nullopt},
                        {"nomad-12x", std::nullopt},
                        {"nomad- 12", std::nullopt},
                        {"nobody", std::nullopt},
                        {"80123", std::nullopt},
                        {"", std::nullopt}};
  for (const Case& c : cases) EXPECT_EQ(c.id, dynamic_user_id(c.name)) << c.name;
}

// "take a" gives a task a number, "keep a N" is what a former agent gave, "retire a" the task's end, "drop a" the end of
// all that it left.
TEST(UserPool, GivesEachTaskANumberOfItsOwn) {
  struct Case {
    const char* name;
    UserRange range;
    std::vector<std::string> steps;
    std::vector<uint32_t> taken;  // 0: none was left
  };
  const Case cases[] = {
      {"one after the other", {10, 12}, {"take a", "take b", "take c"}, {10, 11, 12}},
      {"no more than there are", {10, 11}, {"take a", "take b", "take c"}, {10, 11, 0}},
      {"one number", {10, 10}, {"take a", "take b", "retire a", "take c"}, {10, 0, 10}},
      {"free ones before it comes to the first again", {10, 12}, {"take a", "drop a", "take b", "take c"}, {10, 11, 12}},
      {"then from the first", {10, 11}, {"take a", "drop a", "take b", "take c"}, {10, 11, 10}},
      {"those of a former agent are not given out", {10, 12}, {"keep a 10", "keep b 11", "take c", "take d"}, {12, 0}},
      {"one of another range does not count", {10, 10}, {"keep a 99", "take b", "take c"}, {10, 0}},
      {"what is left over comes last", {10, 11}, {"take a", "retire a", "take b", "take c", "take d"}, {10, 11, 10, 0}},
      {"two ends of one number", {10, 10}, {"keep a 10", "keep b 10", "drop a", "take c", "drop b", "take d"}, {0, 10}},
      {"a task ends once", {10, 10}, {"take a", "retire a", "retire a", "take b", "drop a", "take c"}, {10, 10, 0}},
      {"up to the last number that there is",
       {kLastDynamicUser - 1, kLastDynamicUser},
       {"take a", "take b", "take c"},
       {kLastDynamicUser - 1, kLastDynamicUser, 0}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    UserPool pool;
    std::map<char, std::unique_ptr<UserPool::Lease>> leases;
    std::vector<uint32_t> taken;
    for (const std::string& step : c.steps) {
      const char who = step[step.find(' ') + 1];
      if (step.starts_with("take")) {
        auto lease = pool.take(c.range);
        taken.push_back(lease ? (*lease)->id() : 0);
        EXPECT_EQ(lease.ok() ? Code::ok : Code::resource_exhausted, lease.status().code());
        if (lease) leases[who] = *std::move(lease);
      } else if (step.starts_with("keep")) {
        leases[who] = pool.keep(static_cast<uint32_t>(std::stoul(step.substr(7))));
      } else if (step.starts_with("retire")) {
        leases.at(who)->retire();
      } else {
        leases.erase(who);
      }
    }
    EXPECT_EQ(c.taken, taken);
  }
}

TEST(UserRange, IsTheOperators) {
  struct Case {
    const char* text;
    const char* result;
  };
  const Case cases[] = {
      {"", "80000-89999"},
      {"users {\n}", "80000-89999"},
      {"users {\n dynamic_user_min = 100\n dynamic_user_max = 200\n}", "100-200"},
      {"users {\n dynamic_user_max = 80000\n}", "80000-80000"},
      {"users {\n dynamic_user_min = -1\n}", "none"},
      {"users {\n dynamic_user_max = -1\n}", "none"},
      {"users {\n dynamic_user_min = 0\n}", "client.hcl:1: client.users.dynamic_user_min: 0 is root"},
      {"users {\n dynamic_user_min = 90000\n}",
       "client.hcl:1: client.users.dynamic_user_min is greater than dynamic_user_max"},
  };
  for (const Case& c : cases) {
    const auto block = apply_schema(*parse_config("client.hcl", c.text), client_schema());
    ASSERT_TRUE(block.ok()) << block.status().message();
    const auto range = user_range_of(*block);
    const std::string shown = !range    ? range.status().message()
                              : !*range ? "none"
                                        : std::to_string((*range)->first) + "-" + std::to_string((*range)->last);
    EXPECT_EQ(c.result, shown) << c.text;
  }
  const auto below = apply_schema(*parse_config("client.hcl", "users {\n dynamic_user_min = -2\n}"), client_schema());
  EXPECT_EQ(Code::invalid_argument, below.status().code());
}

class WorkloadUsersTest : public AgentTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    driver_.takes_made_up_users = true;
  }
  std::string user_of(const std::string& task) {
    const auto running = driver_.find(task);
    return running ? running->config.user() : "not running";
  }
  static std::string rights_of(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return "nothing";
    char text[64];
    std::snprintf(text, sizeof text, "%o %u:%u", found.st_mode & 07777, found.st_uid, found.st_gid);
    return text;
  }
  std::string run(const std::string& name, const std::string& user = "", int attempts = 2) {
    v1::Task web = task(name);
    web.set_user(user);
    const std::string id = place({web}, "service", attempts);
    until_status(id, v1::CLIENT_STATUS_RUNNING);
    return id;
  }
  std::string end_of(const std::string& id, const std::string& name) {
    const v1::TaskState state = until_status(id, v1::CLIENT_STATUS_FAILED).task_states().at(name);
    for (const v1::TaskEvent& event : state.events()) {
      if (event.type() == "Task hook failed") return event.display_message();
    }
    return state.ShortDebugString();
  }
};

TEST_F(WorkloadUsersTest, ATaskWithoutAUserGetsOneOfItsOwn) {
  start();
  const std::string first = run("first"), second = run("second");
  run("named", "nobody");
  EXPECT_EQ("nomad-80000", user_of("first"));
  EXPECT_EQ("nomad-80001", user_of("second"));
  EXPECT_EQ("nobody", user_of("named"));
  EXPECT_EQ("710 80000:80000", rights_of(alloc_path(first) + "/first"));
  EXPECT_EQ("700 80000:80000", rights_of(alloc_path(first) + "/first/secrets"));
  EXPECT_EQ("777 65534:65534", rights_of(alloc_path(first) + "/first/local"));
  EXPECT_EQ("700 80001:80001", rights_of(alloc_path(second) + "/second/secrets"));
}

TEST_F(WorkloadUsersTest, OnlyDriversThatSaySoGetThem) {
  driver_.takes_made_up_users = false;
  start();
  const std::string id = run("plain");
  EXPECT_EQ("", user_of("plain"));
  EXPECT_EQ("777 65534:65534", rights_of(alloc_path(id) + "/plain"));
}

// Such a driver shows its task some of the machine's files: the folder is the task's, whoever chose its user.
TEST_F(WorkloadUsersTest, TheFolderOfAnUnveiledTaskIsItsUsers) {
  driver_.isolation = driver::DriverCapabilities::UNVEIL;
  start();
  const std::string own = run("own"), named = run("named", "nobody");
  EXPECT_EQ("710 80000:80000", rights_of(alloc_path(own) + "/own"));
  EXPECT_EQ("710 65534:65534", rights_of(alloc_path(named) + "/named"));
  EXPECT_EQ("700 65534:65534", rights_of(alloc_path(named) + "/named/secrets"));
  EXPECT_EQ(alloc_path(own) + "/own/local", driver_.find("own")->config.env().at("NOMAD_TASK_DIR"));

  v1::Task lost = task("lost");
  lost.set_user("no-such-user");
  EXPECT_EQ("workload_users: user \"no-such-user\" is not known on this machine", end_of(place({lost}), "lost"));
}

TEST_F(WorkloadUsersTest, ATaskKeepsItsUserOverRestarts) {
  start();
  const std::string id = run("web");
  driver_.finish("web", 1);
  servers_.until(id, [](const v1::Allocation& a) {
    return a.task_states().at("web").restarts() == 1 && a.task_states().at("web").state() == "running";
  });
  EXPECT_EQ("nomad-80000", user_of("web"));

  stop();
  start();
  ASSERT_TRUE(driver_.wait_recovered(1));
  run("other");
  EXPECT_EQ("nomad-80001", user_of("other"));
  driver_.finish("web", 1);
  servers_.until(id, [](const v1::Allocation& a) {
    return a.task_states().at("web").restarts() == 2 && a.task_states().at("web").state() == "running";
  });
  EXPECT_EQ("nomad-80000", user_of("web"));
}

TEST_F(WorkloadUsersTest, AUserIsFreeAgainWhenItsTaskIsOver) {
  configure("users {\n dynamic_user_min = 70000\n dynamic_user_max = 70000\n}");
  start();
  const std::string id = run("web");
  EXPECT_EQ("workload_users: users: uid/gid pool exhausted", end_of(place({task("late")}), "late"));
  servers_.stop(id);
  until_status(id, v1::CLIENT_STATUS_COMPLETE);

  stop();
  start();  // the row of the one that is over is still there
  run("next", "", 1000);  // the end of the other one may still be on its way
  EXPECT_EQ("nomad-70000", user_of("next"));
}

TEST_F(WorkloadUsersTest, TheOperatorMayForbidThem) {
  configure("users {\n dynamic_user_min = -1\n}");
  start();
  EXPECT_EQ("workload_users: dynamic workload users disabled", end_of(place({task("web")}), "web"));
  run("named", "nobody");
  EXPECT_EQ("nobody", user_of("named"));
}

}  // namespace
}  // namespace drover::agent
