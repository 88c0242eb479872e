// operator debug: collects what helps to understand a cluster, in one file to look at or to hand on.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli_command.h"
#include "debug/bundle.h"
#include "debug/captures.h"
#include "drover/api/client.pb.h"
#include "drover/api/events.pb.h"
#include "drover/api/members.pb.h"
#include "drover/api/nodes.pb.h"
#include "drover/api/system.pb.h"
#include "drover/duration.h"
#include "drover/uuid.h"
#include "files/frames.h"
#include "output.h"

namespace drover::cli {
namespace {

using std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(50);
constexpr auto kLastWords = std::chrono::seconds(15);  // a stream has a sign of life more often
constexpr int kNotWritten = 2;

std::atomic<bool> interrupted{false};

struct Plan {
  std::chrono::nanoseconds duration{}, interval{};
  std::vector<Target> servers, nodes;
  std::string log_level;
  std::vector<std::string> topics;
  std::string event_index;
  std::chrono::seconds profile_time{};
};

// Shared by the threads that follow logs and events; each of them has a client of its own.
struct Follow {
  Follow(std::shared_ptr<Bundle> into, ClientOptions with) : bundle(std::move(into)), options(std::move(with)) {}
  const std::shared_ptr<Bundle> bundle;
  const ClientOptions options;
  std::atomic<bool> is_over{false};
  std::atomic<int> running{0};

  // Runs it on a thread of its own; the word is the file's, for what goes wrong.
  static void begin(const std::shared_ptr<Follow>& follow, std::string file, std::function<Status(Client&)> stream) {
    ++follow->running;
    std::thread([follow, file = std::move(file), stream = std::move(stream)] {
      Client client(follow->options);
      client.set_namespace("*");
      const Status status = stream(client);
      if (!status.ok() && !follow->is_over) follow->bundle->note_failure(file, status);
      --follow->running;
    }).detach();
  }
};

std::string folder_of(const char* kind, const Target& target) {
  return std::string(kind) + "/" + file_name(target.name) + "/";
}

void follow_log(const std::shared_ptr<Follow>& follow, const std::string& file, const v1::MonitorRequest& request) {
  Follow::begin(follow, file, [follow, file, request](Client& client) {
    FrameReader frames([&](const v1::FileFrame& frame) {
      if (!frame.data().empty()) follow->bundle->add(file, frame.data());
      return !follow->is_over.load();
    });
    const Status status = client.stream<v1::AgentInformation::Monitor>(
        request, [&](std::string_view bytes) { return frames.take(bytes); });
    return frames.status().ok() ? status : frames.status();
  });
}

void follow_events(const std::shared_ptr<Follow>& follow, const Plan& plan) {
  v1::EventStreamRequest request;
  for (const std::string& topic : plan.topics) request.add_topic(topic == "all" || topic == "*" ? "*" : topic);
  Parameters further;
  if (!plan.event_index.empty()) further.emplace("index", plan.event_index);
  Follow::begin(follow, "events.json", [follow, request, further](Client& client) {
    return client.stream<v1::Events::Stream>(
        request,
        [&](std::string_view bytes) {
          follow->bundle->add("events.json", bytes);
          return !follow->is_over.load();
        },
        further);
  });
}

// Takes time, unlike the other profiles, and so all agents do it at once. One that is server and client in one is asked
// twice, and does it once at a time.
void follow_cpu(const std::shared_ptr<Follow>& follow, const std::string& file, v1::ProfileRequest request,
                std::chrono::seconds time) {
  request.set_profile("profile");
  request.set_seconds(time.count());
  Follow::begin(follow, file, [follow, file, request](Client& client) {
    const auto profile = [&] {
      return client.stream<v1::AgentInformation::Profile>(
          request, [&](std::string_view bytes) { return follow->bundle->add(file, bytes), true; });
    };
    Status status = profile();
    for (; status.code() == Code::resource_exhausted && !follow->is_over; status = profile())
      std::this_thread::sleep_for(kLook);
    return status;
  });
}

// Looks at one agent: its log for the time, its machine and profiles now.
template <typename Name>
void look_at(const std::shared_ptr<Follow>& follow, Run& run, const Plan& plan, const std::string& folder,
             const Name& name) {
  v1::MonitorRequest log;
  name(log);
  log.set_log_level(plan.log_level);
  follow_log(follow, folder + "monitor.log", log);
  v1::AgentMachineRequest machine;
  name(machine);
  const std::string host = folder + "agent-host.json";
  const auto seen = run.client.call<v1::AgentInformation::Machine>(machine);
  seen ? follow->bundle->add(host, seen->body) : follow->bundle->note_failure(host, seen.status());
  v1::ProfileRequest cpu;
  name(cpu);
  follow_cpu(follow, folder + "profile.prof", cpu, plan.profile_time);
  for (const Capture& profile : profiles()) {
    v1::ProfileRequest request;
    name(request);
    request.set_profile(std::string(profile.path));
    request.set_debug(1);
    const std::string file = folder + std::string(profile.file);
    const Status status = run.client.stream<v1::AgentInformation::Profile>(
        request, [&](std::string_view bytes) { return follow->bundle->add(file, bytes), true; });
    if (!status.ok()) follow->bundle->note_failure(file, status);
  }
}

void ask(Client& client, Bundle& bundle, const std::string& folder, std::span<const Capture> captures) {
  for (const Capture& capture : captures) {
    const std::string file = folder + std::string(capture.file);
    const auto answer = client.send({.verb = "GET", .path = std::string(capture.path), .body = {}});
    if (answer) {
      bundle.add(file, answer->dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    } else {
      bundle.note_failure(file, answer.status());
    }
  }
}

// False when the person does not want to wait any longer.
bool wait_until(steady_clock::time_point time) {
  while (!interrupted && steady_clock::now() < time) std::this_thread::sleep_for(kLook);
  return !interrupted;
}

Result<std::chrono::nanoseconds> positive(const Run& run, const char* flag) {
  DROVER_TRY(const auto time, parse_duration(run.arguments.value(flag)));
  if (time <= std::chrono::nanoseconds::zero())
    return invalid_argument("-" + std::string(flag) + " must be more than 0s");
  return time;
}

Result<Plan> plan_of(Run& run) {
  Plan plan;
  DROVER_TRY(plan.duration, positive(run, "duration"));
  DROVER_TRY(plan.interval, positive(run, "interval"));
  if (plan.interval > plan.duration) return invalid_argument("-interval is longer than -duration");
  DROVER_TRY(const auto profile_time, positive(run, "pprof-duration"));
  if (profile_time > plan.duration) return invalid_argument("-pprof-duration is longer than -duration");
  plan.profile_time = std::chrono::ceil<std::chrono::seconds>(profile_time);
  plan.log_level = run.arguments.value("log-level");
  plan.event_index = run.arguments.value("event-index");
  for (const std::string& topic : run.arguments.values("event-topic")) {
    if (topic != "none") plan.topics.push_back(topic);
  }
  const std::string most = run.arguments.value("max-nodes");
  if (most.empty() || most.find_first_not_of("0123456789") != std::string::npos || most.size() > 6)
    return invalid_argument("-max-nodes must be a number, not \"" + most + "\"");
  DROVER_TRY(const auto members, run.client.call<v1::ServerMembership::Members>({}));
  std::vector<Target> servers, nodes;
  for (const v1::AgentMember& member : members->members()) servers.push_back({member.name(), member.name()});
  DROVER_TRY(const auto listed, run.client.call<v1::Nodes::List>({}));
  const std::string node_class = run.arguments.value("node-class");
  for (const v1::NodeListStub& node : listed->nodes()) {
    if (!node_class.empty() && node.node_class() != node_class) continue;
    if (node.status() == v1::NODE_STATUS_DOWN) continue;
    const std::string id = id_text(node.id());
    nodes.push_back({id, id});
  }
  DROVER_TRY(plan.servers, chosen(servers, run.arguments.value("server-id"), 0));
  DROVER_TRY(plan.nodes, chosen(nodes, run.arguments.value("node-id"), std::stoul(most)));
  return plan;
}

void collect(Run& run, const Plan& plan, const std::shared_ptr<Follow>& follow) {
  Bundle& bundle = *follow->bundle;
  const auto began = steady_clock::now();
  for (const Target& server : plan.servers)
    look_at(follow, run, plan, folder_of("server", server), [&](auto& request) { request.set_server_id(server.id); });
  for (const Target& node : plan.nodes)
    look_at(follow, run, plan, folder_of("client", node),
            [&](auto& request) { request.set_node_id(Uuid::parse(node.id)->bytes()); });
  if (!plan.topics.empty()) follow_events(follow, plan);
  run.out << "    Asking for the cluster ..." << std::endl;
  run.client.set_namespace("*");
  ask(run.client, bundle, "cluster/", cluster_captures());
  const size_t count = rounds(plan.duration, plan.interval);
  for (size_t i = 0; i < count && !interrupted; ++i) {
    run.out << "    Round " << i + 1 << " of " << count << " ..." << std::endl;
    std::string number = std::to_string(i);
    number.insert(0, number.size() < 4 ? 4 - number.size() : 0, '0');
    ask(run.client, bundle, "rounds/" + number + "/", interval_captures());
    wait_until(began + std::min(plan.interval * static_cast<int64_t>(i + 1), plan.duration));
  }
  follow->is_over = true;
  const auto patience = steady_clock::now() + kLastWords;
  while (follow->running > 0 && steady_clock::now() < patience) std::this_thread::sleep_for(kLook);
}

int finish(Run& run, const Plan& plan, Bundle& bundle, const std::filesystem::path& folder, bool is_packed) {
  nlohmann::json about = {{"Version", run.host.version()},
                          {"Time", full_time(now_ns())},
                          {"Duration", run.arguments.value("duration")},
                          {"Interval", run.arguments.value("interval")},
                          {"Interrupted", interrupted.load()}};
  for (const Target& server : plan.servers) about["Servers"].push_back(server.name);
  for (const Target& node : plan.nodes) about["Clients"].push_back(node.id);
  const std::filesystem::path archive = folder.filename().string() + ".tar.gz";
  Status status = bundle.finish(std::move(about));
  if (status.ok() && is_packed) status = bundle.pack(archive);
  std::error_code ignored;
  if (is_packed) std::filesystem::remove_all(folder, ignored);
  if (!status.ok()) {
    run.err << "Error creating debug archive: " << status.message() << "\n";
    return kNotWritten;
  }
  if (bundle.failures() > 0)
    run.out << bundle.failures() << " questions were not answered; index.json in it says which, and why\n";
  run.out << (is_packed ? "Created debug archive: " : "Created debug directory: ")
          << (is_packed ? archive.string() : folder.string()) << std::endl;
  return 0;
}

int operator_debug(Run& run) {
  const auto plan = plan_of(run);
  if (!plan) return run.fail("Error starting debugger", plan.status());
  const std::string output = run.arguments.value("output");
  const std::filesystem::path folder = std::filesystem::path(output) / bundle_name(now_ns());
  auto made = Bundle::create(folder);
  if (!made) {
    run.err << "Error creating debug archive: " << made.status().message() << "\n";
    return kNotWritten;
  }
  const std::shared_ptr<Bundle> bundle = *std::move(made);
  run.out << "Starting debugger...\n\n"
          << format_pairs({{"    Servers", std::to_string(plan->servers.size())},
                           {"    Clients", std::to_string(plan->nodes.size())},
                           {"    Interval", run.arguments.value("interval")},
                           {"    Duration", run.arguments.value("duration")}})
          << std::endl;
  std::signal(SIGINT, [](int) { interrupted = true; });  // what there is by then is packed
  const auto follow = std::make_shared<Follow>(bundle, run.client.options());
  collect(run, *plan, follow);
  const int code = finish(run, *plan, *bundle, folder, output.empty());
  // An agent that went silent holds its thread in a call.
  if (follow->running > 0) std::_Exit(code);
  return code;
}

}  // namespace

std::vector<Definition> debug_commands() {
  return {{"operator debug",
           "Collects the state of a cluster, its metrics and the logs of its agents in one archive.",
           "",
           "  The archive holds lists, metrics, logs and, where the token may take them, profiles. Job files,\n"
           "  variables and other secrets are not among them; logs may hold what tasks' names and errors say.\n"
           "  Ctrl-C ends the time early: what there is by then is packed.\n",
           {with_value("duration", "2m", "How long logs are followed and questions repeated"),
            with_value("interval", "30s", "The time between two rounds of questions"),
            with_value("log-level", "DEBUG", "The level of the logs"),
            with_value("pprof-duration", "1s", "How long each agent samples what takes its processor time, in seconds"),
            with_value("max-nodes", "10", "At most so many clients; 0: all"),
            with_value("node-class", "", "Clients of this class only"),
            with_value("node-id", "all", "Clients by the beginnings of their identifiers, with commas between them"),
            with_value("server-id", "all", "Servers by their names, likewise"),
            with_value("event-topic", "none", "Also follow these events, such as Job or Node:ID, or all; repeatable"),
            with_value("event-index", "", "The index from which on events are followed"),
            with_value("output", "", "Leave a folder in this directory in place of an archive in this one")},
           0,
           0,
           operator_debug}};
}

}  // namespace drover::cli
