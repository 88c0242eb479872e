// The agent of a life: the plugins' own code over a host and servers in this process's memory, rows on the disk.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "drover/api/client.pb.h"
#include "drover/config.h"
#include "drover/uuid.h"
#include "drover/v1/node_variables.pb.h"
#include "plugins/agent/testing/fakes.h"
#include "storage/local_store.h"
#include "tests/crash_steps/story.h"

namespace drover::crash {
namespace {

using namespace std::chrono_literals;

constexpr const char* kModules[] = {"identity", "networks", "templates", "artifacts", "raw_exec", "exec", "agent"};
std::vector<std::pair<std::string, Plugin* (*)()>> modules;

[[noreturn]] void give_up(const std::string& why, Page& page) {
  std::strncpy(page.told, why.c_str(), sizeof page.told - 1);
  ::_exit(3);
}

// Also answers what tasks ask for, and keeps what the servers were told.
class Servers final : public Caller {
 public:
  Servers(const Story& story, std::string allocation, Page& page)
      : story_(story), allocation_(std::move(allocation)), page_(page) {}

  agent::FakeServers& node() { return servers_; }

  void call(CallContext context, std::string request, std::function<void(Result<Reply>)> done) override {
    if (context.method == "/drover.v1.NodeVariables/Read" && context.query.min_index > 0) {
      const std::lock_guard lock(mutex_);
      kept_.push_back(std::move(done));  // it does not change
      return;
    }
    done(call_and_wait(std::move(context), std::move(request)));
  }
  Result<std::unique_ptr<StreamCall>> open(CallContext, std::string, StreamReceiver) override {
    return unimplemented("no streams");
  }
  Result<Reply> call_and_wait(CallContext context, std::string request) override {
    if (context.method == "/drover.v1.NodeVariables/Read") {
      if (context.query.min_index > 0) wait_for_end(context.stop);
      v1::NodeVariableResponse response;
      response.mutable_variable()->set_path("nomad/jobs");
      response.set_items(R"({"word":"orange"})");
      Reply reply{response.SerializeAsString(), {}};
      reply.meta.index = 7;
      return reply;
    }
    // SignIdentitiesResponse with one token, whose message is the plugin's own.
    if (context.method == "/drover.v1.NodeIdentities/Sign") return Reply{"\x0a\x0e\x0a\x04mine\x12\x06signed", {}};
    const bool tells = context.method == "/drover.v1.NodeAllocations/Update";
    auto reply = servers_.call_and_wait(std::move(context), std::move(request));
    if (tells) keep();
    return reply;
  }

 private:
  static void wait_for_end(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait(lock, stop, [] { return false; });
  }
  void keep() {
    servers_.wait([&] {
      const auto at = servers_.reported.find(allocation_);
      if (at == servers_.reported.end()) return true;
      const v1::Allocation& now = at->second;
      uint32_t running = 0;
      bool is_over = now.task_states_size() > 0, has_failed = now.client_status() == v1::CLIENT_STATUS_FAILED;
      for (const auto& [name, state] : now.task_states()) {
        if (state.state() == "running") running |= 1U << (name[1] - '0');
        is_over = is_over && state.state() == "dead";
        has_failed = has_failed || state.failed();
      }
      std::strncpy(page_.told, now.ShortDebugString().c_str(), sizeof page_.told - 1);
      page_.ran |= running;
      page_.all_run = running == (1U << story_.tasks.size()) - 1;
      page_.is_over = is_over && now.client_status() != v1::CLIENT_STATUS_RUNNING;
      page_.has_failed = has_failed;
      return true;
    });
  }

  const Story& story_;
  const std::string allocation_;
  Page& page_;
  agent::FakeServers servers_;
  std::mutex mutex_;
  std::vector<std::function<void(Result<Reply>)>> kept_;
};

// Takes what plugins declare besides handlers.
class Declared final : public agent::FakeDeclarations {
 public:
  Result<TableId> table(TableSpec) override { return TableId{}; }
  Status configuration(std::string block, ConfigSchema schema) override {
    auto& options = schemas[block == "plugin" ? "plugin " + plugin : block].options;
    for (ConfigOption& option : schema.options) options.push_back(std::move(option));
    return ok_status();
  }
  std::string plugin;  // whose turn it is
  std::map<std::string, ConfigSchema> schemas;
};

// One plugin's view of the agent: with its own rows and its own block, and with threads for what is posted.
class NodeHost final : public agent::FakeHost {
 public:
  NodeHost(const std::string& folder, Servers& servers, std::unique_ptr<LocalStore> rows, const Declared& declared,
           const ConfigBlock& node, std::optional<ConfigBlock> own)
      : FakeHost(folder, servers.node(), *rows, false),
        servers_(servers),
        rows_(std::move(rows)),
        own_(std::move(own)) {
    info_.client = true;
    client = node;
    extensions = declared.extensions;
  }
  Caller& caller() override { return servers_; }
  const ConfigBlock* configuration(std::string_view block) const override {
    return block == "plugin" && own_ ? &*own_ : FakeHost::configuration(block);
  }
  void post(std::function<void()> task) override { std::thread(std::move(task)).detach(); }
  void post_after(std::chrono::nanoseconds delay, std::function<void()> task) override {
    std::thread([delay, task = std::move(task)] {
      std::this_thread::sleep_for(delay);  // the delay itself, not a wait for something
      task();
    }).detach();
  }

 private:
  Servers& servers_;
  const std::unique_ptr<LocalStore> rows_;
  const std::optional<ConfigBlock> own_;
};

v1::Task task_of(const StoryTask& drawn, size_t number, const Lane& lane) {
  v1::Task task;
  const std::string name = "t" + std::to_string(number);
  task.set_name(name);
  task.set_driver(drawn.is_isolated ? "exec" : "raw_exec");
  task.set_kill_timeout(5'000'000'000);
  std::string arguments = "\"" + name + "\"";
  const auto reads = [&](const std::string& path) { arguments += ",\"" + path + "\""; };
  if (drawn.has_template) {
    v1::Template& made = *task.add_templates();
    made.set_dest_path("local/word");
    made.set_embedded_tmpl("{{ with nomadVar \"nomad/jobs\" }}{{ .word }}{{ end }}\n");
    made.set_change_mode("noop");
    reads("${NOMAD_TASK_DIR}/word");
  }
  if (drawn.has_artifact) {
    v1::Artifact& fetched = *task.add_artifacts();
    fetched.set_getter_source(lane.artifact);
    fetched.set_relative_dest("local/");
    reads("${NOMAD_TASK_DIR}/fruit");
  }
  if (drawn.has_volume && drawn.is_isolated) {
    v1::VolumeMount& mounted = *task.add_volume_mounts();
    mounted.set_volume("shared");
    mounted.set_destination("/vol");
    reads("/vol/fruit");
  }
  if (drawn.has_payload) {
    task.mutable_dispatch_payload()->set_file("payload");
    reads("${NOMAD_TASK_DIR}/payload");
  }
  if (drawn.has_identity) {
    v1::Identity& identity = *task.add_identities();
    identity.set_name("mine");
    identity.set_file(true);
    reads("${NOMAD_SECRETS_DIR}/nomad_mine.jwt");
  }
  task.set_config("{\"command\":\"" + (drawn.is_isolated ? "/bin/task" : lane.task) +
                  "\",\"args\":[" + arguments + "]}");
  task.mutable_resources()->set_cpu(20);
  task.mutable_resources()->set_memory_mb(32);
  return task;
}

void place(const Lane& lane, const Story& story, const std::string& id, agent::FakeServers& servers) {
  v1::Job job;
  job.set_id("life");
  job.set_name("life");
  job.set_namespace_("default");
  job.set_type("service");
  job.set_payload("pay\n");
  v1::TaskGroup& group = *job.add_task_groups();
  group.set_name("g");
  group.mutable_restart_policy()->set_attempts(100);
  group.mutable_restart_policy()->set_interval(3'600'000'000'000);
  group.mutable_restart_policy()->set_delay(10'000'000);
  group.mutable_restart_policy()->set_mode("delay");
  v1::VolumeRequest& volume = (*group.mutable_volumes())["shared"];
  volume.set_name("shared");
  volume.set_type("host");
  volume.set_source("shared");
  v1::Allocation allocation;
  allocation.set_id(id);
  allocation.set_name("life.g[0]");
  allocation.set_namespace_("default");
  allocation.set_job_id("life");
  allocation.set_task_group("g");
  allocation.set_desired_status(v1::DESIRED_STATUS_RUN);
  auto& given = *allocation.mutable_allocated_resources();
  if (story.has_bridge) {
    group.add_networks()->set_mode("bridge");
    v1::PortMapping& port = *given.mutable_shared()->add_ports();
    port.set_label("http");
    port.set_value(25000);
    port.set_to(80);
  }
  for (size_t i = 0; i < story.tasks.size(); ++i) {
    v1::Task& task = *group.add_tasks() = task_of(story.tasks[i], i, lane);
    auto& resources = (*given.mutable_tasks())[task.name()];
    resources.mutable_cpu()->set_cpu_shares(20);
    resources.mutable_memory()->set_memory_mb(32);
  }
  servers.place(allocation, job);
}

ConfigBlock checked(const std::string& text, const ConfigSchema& schema, Page& page) {
  const auto block = parse_config("agent.hcl", text);
  if (!block) give_up(block.status().message(), page);
  auto applied = apply_schema(*block, schema);
  if (!applied) give_up(applied.status().message(), page);
  return *std::move(applied);
}

}  // namespace

void load_modules(const Lane& lane) {
  for (const char* name : kModules) {
    void* code = ::dlopen((lane.modules + "/" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!code) {
      std::fprintf(stderr, "%s\n", ::dlerror());
      ::_exit(3);
    }
    modules.emplace_back(name, reinterpret_cast<Plugin* (*)()>(::dlsym(code, "drover_module_open")));
  }
}

void run_agent(const Lane& lane, const Story& story, const std::string& allocation, Page& page) {
  count_steps(&page);
  auto database = LocalDatabase::open(lane.data() + "/local");
  if (!database) give_up(database.status().message(), page);
  Servers servers(story, allocation, page);
  int wanted = page.wanted.load();
  if (wanted != kRemoved) place(lane, story, allocation, servers.node());
  if (wanted == kStopped) servers.node().stop(allocation);

  Declared declared;
  std::vector<std::pair<std::string, Plugin*>> plugins;
  for (const auto& [name, open] : modules) {
    declared.plugin = name;
    plugins.emplace_back(name, open());
    if (const Status status = plugins.back().second->declare(declared); !status.ok()) give_up(status.message(), page);
  }
  const ConfigBlock client = checked("cni_path = \"/nowhere\"\nbridge_network_subnet = \"10.213.5.0/24\"\n"
                                     "cgroup_parent = \"" + lane.group + "\"\ngc_interval = \"1h\"\n"
                                     "chroot_env = {\n  \"" + lane.task + "\" = \"/bin/task\"\n}\n"
                                     "host_volume \"shared\" {\n  path = \"" + lane.volume() + "\"\n}\n",
                                     declared.schemas["client"], page);
  std::vector<std::unique_ptr<NodeHost>> hosts;
  LocalStore* rows_of_agent = nullptr;
  for (auto& [name, plugin] : plugins) {
    std::optional<ConfigBlock> own;
    if (name == "raw_exec") own = checked("enabled = true\n", declared.schemas["plugin raw_exec"], page);
    auto rows = (*database)->space(name);
    if (name == "agent") rows_of_agent = rows.get();
    hosts.push_back(
        std::make_unique<NodeHost>(lane.data(), servers, std::move(rows), declared, client, std::move(own)));
    if (const Status status = plugin->start(*hosts.back()); !status.ok())
      give_up(name + ": " + status.message(), page);
  }
  for (;; std::this_thread::sleep_for(500us)) {
    if (const int now = page.wanted.load(); now != wanted) {
      if (wanted == kRuns) servers.node().stop(allocation);
      if (now == kRemoved) servers.node().remove(allocation);
      wanted = now;
    }
    if (wanted != kRemoved) continue;
    const auto left = rows_of_agent->list("alloc");
    page.is_gone = left && left->empty() &&
                   !std::filesystem::exists(lane.data() + "/alloc/" + Uuid::from_bytes(allocation).to_string());
    if (page.is_gone) ::_exit(0);
  }
}

}  // namespace drover::crash
