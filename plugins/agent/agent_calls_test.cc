// Calls to a task while it runs, and the events that its driver tells.
#include <fcntl.h>
#include <unistd.h>

#include <deque>

#include "exec_call.h"
#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

// The caller's messages in their order, then the end; keeps what it is told.
class Conversation final : public MessageStream {
 public:
  bool send(std::string message) override {
    const auto response = parse_message<v1::ExecResponse>(message);
    out += response->stdout().data();
    err += response->stderr().data();
    if (response->exited()) exit_code = response->result().exit_code();
    return true;
  }
  std::optional<std::string> receive(SteadyTime) override {
    if (requests.empty()) return {};
    std::string next = requests.front().SerializeAsString();
    requests.pop_front();
    return next;
  }
  std::deque<v1::ExecRequest> requests;
  std::string out, err;
  int exit_code = -1;
};

class AgentCalls : public AgentTest {
 protected:
  Status exec(const v1::ExecRequest& request, Conversation& conversation) {
    FakeCall call;
    return declarations_.bindings.at("Exec").stream(request.SerializeAsString(), call, conversation);
  }
  static v1::ExecRequest wanted(const std::string& alloc, const std::string& task, const std::string& command) {
    v1::ExecRequest request;
    request.set_alloc_id(alloc);
    request.set_task(task);
    request.set_command(command);
    return request;
  }
};

TEST_F(AgentCalls, RunsACommandInsideATask) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  Conversation conversation;
  conversation.requests.resize(4);
  conversation.requests[0].mutable_tty_size()->set_width(80);
  conversation.requests[1].mutable_stdin()->set_data("hello");
  conversation.requests[3].mutable_stdin()->set_close(true);  // the one before is a sign of life
  v1::ExecRequest request = wanted(id, "web", R"(["ls", "-l"])");
  request.set_tty(true);

  const Status status = exec(request, conversation);

  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ("ls;-l;", conversation.err);
  EXPECT_EQ("web on a tty:80;hello", conversation.out);
  EXPECT_EQ(5, conversation.exit_code);
}

TEST_F(AgentCalls, ShowsFiguresOfItself) {
  start();
  until_status(place({task("web")}), v1::CLIENT_STATUS_RUNNING);
  auto shown = host_->extension<AgentStats>("client")->stats();
  EXPECT_EQ(shown.at("num_allocations"), "1");
  EXPECT_EQ(shown.at("node_id"), host_->node().to_string());
  EXPECT_EQ(shown.at("heartbeat_ttl"), "1s");
  EXPECT_NE(shown.at("last_heartbeat"), "never");
  EXPECT_TRUE(shown.contains("known_servers"));
}

TEST_F(AgentCalls, SaysWhyACommandIsNotRun) {
  start();
  const std::string id = place({task("web"), task("clean", "poststop")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  const struct {
    const char* name;
    v1::ExecRequest request;
    Status status;
  } cases[] = {
      {"no task", wanted(id, "", R"(["ls"])"), invalid_argument("must provide task name")},
      {"another task", wanted(id, "db", R"(["ls"])"), not_found("unknown task name \"db\"")},
      {"not running", wanted(id, "clean", R"(["ls"])"), failed_precondition("Task not running")},
      {"no command", wanted(id, "web", ""), invalid_argument("command must be a JSON list of texts")},
      {"no words", wanted(id, "web", "[]"),
       invalid_argument("command must be a JSON list of texts, the program first")},
      {"a number", wanted(id, "web", "[1]"), invalid_argument("command must be a JSON list of texts")},
      {"another node's", wanted(std::string(16, '\0'), "web", R"(["ls"])"),
       not_found("Unknown allocation \"00000000-0000-0000-0000-000000000000\"")},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Conversation conversation;
    EXPECT_EQ(c.status, exec(c.request, conversation));
  }
}

TEST_F(AgentCalls, ADriverWithoutCommandsSaysSo) {
  driver_.runs_commands = false;
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  Conversation conversation;

  const Status status = exec(wanted(id, "web", R"(["ls"])"), conversation);

  EXPECT_EQ(unimplemented("the driver of task web does not run commands inside of it"), status);
}

// The driver's events among the task's.
std::vector<std::string> told(const v1::Allocation& allocation) {
  std::vector<std::string> out;
  for (const v1::TaskEvent& event : allocation.task_states().at("web").events()) {
    if (event.type() == "Driver") out.push_back(event.driver_message());
  }
  return out;
}

TEST_F(AgentCalls, ShowsWhatTheDriverTellsOnceAndInFull) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);

  driver_.tell("web", "image pulled", 1000);
  driver_.tell("nobody", "of no task", 1000);
  driver_.tell("web", "image pulled", 1000);  // as one that is told again
  driver_.tell("web", "image pulled", 1001);  // a second one
  const auto now = servers_.until(id, [](const v1::Allocation& a) { return told(a).size() == 2; });

  EXPECT_EQ((std::vector<std::string>{"image pulled", "image pulled"}), told(now));
  const auto& events = now.task_states().at("web").events();
  const auto event = std::ranges::find(events, "Driver", [](const v1::TaskEvent& each) { return each.type(); });
  ASSERT_NE(events.end(), event);
  EXPECT_EQ(1000 * 1'000'000'000LL, event->time());
  EXPECT_EQ("image pulled", event->display_message());
  EXPECT_EQ("fake", event->details().at("driver"));
  EXPECT_EQ("3 MiB", event->details().at("size"));
}

TEST_F(AgentCalls, WhatTheDriverToldIsNotShownAgainByTheNextAgent) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  driver_.tell("web", "image pulled", 1000);
  servers_.until(id, [](const v1::Allocation& a) { return told(a).size() == 1; });
  stop();

  start();
  driver_.tell("web", "image pulled", 1000);
  driver_.tell("web", "layers joined", 1001);
  const auto now =
      servers_.until(id, [](const v1::Allocation& a) { return !told(a).empty() && told(a).back() == "layers joined"; });

  EXPECT_EQ((std::vector<std::string>{"image pulled", "layers joined"}), told(now));
}

TEST_F(AgentTest, ShowsTheLogsOfATask) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  auto process = driver_.find("web");
  const int fd = ::open(process->config.stdout_path().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(6, ::write(fd, "hello\n", 6));
  ::close(fd);
  servers_.stop(id);
  until_status(id, v1::CLIENT_STATUS_COMPLETE);

  v1::LogsRequest request;
  request.set_alloc_id(id);
  request.set_task("web");
  request.set_type("stdout");
  EXPECT_EQ("hello\n", logs(request).value_or("error"));
  request.set_type("stderr");
  EXPECT_EQ("", logs(request).value_or("error"));
  request.set_type("both");
  EXPECT_EQ(Code::invalid_argument, logs(request).status().code());
  request.set_type("stdout");
  request.set_task("db");
  EXPECT_EQ("unknown task name \"db\"", logs(request).status().message());
  request.set_alloc_id(std::string(16, '\0'));
  EXPECT_EQ("Unknown allocation \"00000000-0000-0000-0000-000000000000\"", logs(request).status().message());
}

}  // namespace
}  // namespace drover::agent
