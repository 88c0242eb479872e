#include "kernel/agent.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <thread>

#include "drover/access_control.h"
#include "drover/agent_config.h"
#include "drover/log.h"
#include "drover/machine_addresses.h"
#include "drover/mutex.h"
#include "drover/node_locator.h"
#include "drover/pause.h"
#include "drover/proposer.h"
#include "drover/reload.h"
#include "drover/start_order.h"
#include "drover/wire.h"
#include "kernel/data_folder.h"
#include "kernel/host/lifecycle.h"
#include "kernel/host/loader.h"
#include "kernel/host/plugin_host.h"
#include "kernel/log_sink.h"
#include "kernel/raft/driver.h"
#include "kernel/raft/watchdog.h"
#include "kernel/raft_control.h"
#include "kernel/raft_peers.h"
#include "kernel/rpc/router.h"
#include "kernel/rpc/server_names.h"
#include "kernel/state_machine.h"
#include "kernel/version.h"
#include "storage/local_store.h"

#include "drover/v1/node_service.pb.h"

namespace drover {
namespace {

constexpr auto kStopTime = std::chrono::seconds(10);

// The token of a leadership that has ended.
std::stop_token ended() {
  std::stop_source source;
  source.request_stop();
  return source.get_token();
}

class Agent final : public rpc::Environment {
 public:
  explicit Agent(std::string program) : program_(std::move(program)) {}
  ~Agent() override { shut_down(); }

  Status start(std::span<const std::string> arguments);
  // Blocks until a signal ends the agent. The exit code.
  int wait();
  void leave(const sigset_t& signals);

  // --- rpc::Environment [any]
  std::string region() const override { return settings_.region; }
  std::string server_name() const override { return settings_.server ? settings_.name : ""; }
  bool is_server() const override { return settings_.server; }
  bool has_started(std::string_view plugin) const override { return all_started_ || plugins_->has_started(plugin); }
  bool is_leader() const override { return consensus_ && consensus_->role() == raft::Role::leader; }
  bool is_ready() const override { return consensus_ && ready_term_ == consensus_->term(); }
  void confirm_leadership(SteadyTime deadline, std::function<void(Status)> done) override {
    if (!consensus_) return done(unavailable("this agent is not a server"));
    consensus_->read_index(deadline,
                           [done = std::move(done)](const Result<raft::Index>& index) { done(index.status()); });
  }
  uint64_t term() const override { return consensus_ ? consensus_->term() : 0; }
  std::stop_token leadership() const override {
    MutexLock lock(lead_mutex_);
    return term_ends_;
  }
  void propose(std::string_view plugin, std::string_view command, std::string payload, SteadyTime deadline,
               uint64_t only_in_term, std::function<void(Result<Applied>)> done) override {
    if (auto* own_way = static_cast<Proposer*>(extensions_.find(Proposer::kExtensionPoint, command)))
      return own_way->propose(std::move(payload), deadline, only_in_term, std::move(done));
    host::propose(shared_, plugin, command, std::move(payload), deadline, only_in_term, std::move(done));
  }
  std::string leader_address() const override {
    if (!consensus_) return "";
    raft::Member leader = consensus_->leader_hint();
    return leader.id == consensus_->node_id() ? "" : std::move(leader.address);
  }
  std::string any_server_address() const override {
    const std::vector<std::string> known = known_servers();
    return known.empty() ? "" : known[server_at_.load() % known.size()];
  }
  std::optional<std::string> server_address(std::string_view server) const override;
  std::string unvisited_server(const std::vector<std::string>& path) const override {
    return unvisited_server_of(servers(), settings_.region, settings_.name, path);
  }
  std::vector<ServerMember> servers() const;
  std::vector<std::string> known_servers() const;
  std::optional<Uuid> local_node() const override {
    MutexLock lock(node_mutex_);
    return node_;
  }
  std::chrono::nanoseconds last_contact() const override {
    return consensus_ ? consensus_->last_contact().value_or(std::chrono::nanoseconds::max())
                      : std::chrono::nanoseconds(0);
  }
  Result<Uuid> locate(std::string_view id) const override {
    Result<Uuid> node = not_found("nothing here knows what runs on which node");
    for (NodeLocator* locator : extensions_.all<NodeLocator>()) {
      node = locator->locate(id);
      if (node) return node;
    }
    return node;
  }

 private:
  Status find_plugins(const RawConfig& raw);
  Status declare_plugins();
  Status join_raft();
  template <typename T>
  Result<T*> only(const std::string& subject, const std::string& plugin) const;
  void reach_out();
  void server_unreachable(const std::string& address);
  Status verify_node(const Uuid& node, const std::string& secret);
  Status open_log(const RawConfig& raw);
  void fill_shared();
  void lead();
  void watch(std::stop_token stop);
  void shut_down();

  const std::string program_;
  SystemClock clock_;
  Metrics metrics_;
  std::unique_ptr<log::Sink> log_sink_;
  AgentSettings settings_;
  TemporaryFolder dev_folder_;
  DeclaredBlocks declared_blocks_;
  host::CommandTable commands_;
  rpc::MethodTable methods_;
  host::ExtensionTable extensions_;
  std::unique_ptr<state::Store> store_;
  std::unique_ptr<StoreMachine> machine_;
  std::unique_ptr<raft::FileSystem> files_;
  std::optional<Tls> tls_;
  Wire* wire_ = nullptr;              // a plugin's; started in reach_out()
  std::unique_ptr<RaftPeers> peers_;  // null on a pure client
  std::unique_ptr<raft::Consensus> consensus_;
  std::unique_ptr<RaftControl> raft_control_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<rpc::Router> router_;
  std::unique_ptr<LocalDatabase> local_;
  host::Shared shared_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::unique_ptr<host::Lifecycle> plugins_;
  std::vector<host::PluginFile> plugin_files_;
  // Plugins for the other role are declared for their methods, which other agents answer; they never start.
  std::vector<host::Lifecycle::Member> elsewhere_;
  mutable std::atomic<size_t> server_at_{0};  // in known_servers()
  std::atomic<raft::Term> ready_term_{0};     // in which this server leads and has applied what came before
  std::atomic<bool> all_started_{false};      // the plugins
  std::atomic<uint64_t> ticks_{0};            // of consensus
  mutable Mutex lead_mutex_;
  std::stop_token term_ends_ DROVER_GUARDED_BY(lead_mutex_) = ended();
  std::shared_ptr<std::stop_source> lead_ends_ DROVER_GUARDED_BY(lead_mutex_);  // of what the plugins do now
  std::optional<std::stop_callback<std::function<void()>>> on_term_end_ DROVER_GUARDED_BY(lead_mutex_);
  std::jthread watchdog_;
  mutable Mutex node_mutex_;
  std::optional<Uuid> node_ DROVER_GUARDED_BY(node_mutex_);
  bool running_ = false;
};

// True when the configuration or the manifest enables this plugin.
bool enabled(const Manifest& manifest, const RawConfig& raw) {
  if (const ConfigBlock* block = raw.root.block("plugin", manifest.name); block && block->has("enabled")) {
    return block->boolean("enabled");
  }
  return manifest.enabled;
}

// True when the plugin has work to do in an agent of these roles.
bool serves(const Manifest& manifest, bool server, bool client) {
  return (server && manifest.has_role("server")) || (client && manifest.has_role("client"));
}

bool role(const RawConfig& raw, std::string_view name) {
  const ConfigBlock* block = raw.root.block(name);
  return block && block->boolean("enabled");
}

Status Agent::find_plugins(const RawConfig& raw) {
  host::Discovery found = host::discover(plugin_folders(raw.root, program_));
  for (const Status& problem : found.problems) return problem;

  const bool server = role(raw, "server");
  const bool client = role(raw, "client");
  std::vector<host::CheckedFile> checked;
  for (host::PluginFile& file : found.plugins) {
    // A module for the other role has methods that this agent's callers ask for: it must know where they go.
    const bool known = file.manifest.kind == "module" && serves(file.manifest, true, true);
    if (!enabled(file.manifest, raw) || !(known || serves(file.manifest, server, client))) continue;
    const ConfigBlock* block = raw.root.block("plugin", file.manifest.name);
    const std::vector<std::string> pinned = block ? block->string_list("digest") : std::vector<std::string>();
    DROVER_TRY(host::CheckedFile one, host::check_file(file, pinned));
    checked.push_back(std::move(one));
  }
  // One trial load for all that are new or have changed since they last passed one.
  std::string memory_folder = raw.root.string("data_dir");
  if (memory_folder.empty()) {
    const char* home = std::getenv("XDG_CACHE_HOME");
    memory_folder = home && *home ? home : "/var/cache";
  }
  host::ProbeMemory memory(memory_folder + "/drover-plugin-probes");
  std::vector<const host::CheckedFile*> unknown;
  for (const host::CheckedFile& file : checked) {
    if (!memory.knows(file)) unknown.push_back(&file);
  }
  if (!unknown.empty()) {
    DROVER_RETURN_IF_ERROR(host::probe(program_, unknown));
    memory.remember(unknown);
  }

  std::vector<const Manifest*> manifests;
  for (const host::CheckedFile& file : checked) manifests.push_back(&file.file().manifest);
  DROVER_TRY(std::vector<size_t> order, start_order(manifests));
  std::vector<host::Lifecycle::Member> members;
  for (size_t i : order) {
    DROVER_TRY(std::unique_ptr<Plugin> plugin, host::load(checked[i]));
    host::Lifecycle::Member member{.name = checked[i].file().manifest.name, .plugin = std::move(plugin)};
    if (!serves(checked[i].file().manifest, server, client)) {
      elsewhere_.push_back(std::move(member));
      continue;
    }
    members.push_back(std::move(member));
    plugin_files_.push_back(checked[i].file());
  }
  plugins_ = std::make_unique<host::Lifecycle>(std::move(members), clock_);
  return ok_status();
}

Status Agent::declare_plugins() {
  // Only the names and declarations of these methods are kept.
  state::Store store;
  host::CommandTable commands;
  rpc::MethodTable methods;
  host::ExtensionTable extensions;
  DeclaredBlocks blocks;
  const host::Registry known{store, commands, methods, extensions, blocks};
  for (auto& [name, plugin] : elsewhere_)
    DROVER_RETURN_IF_ERROR(plugin->declare(*host::make_declarations(name, known)).with_context("plugin " + name));
  methods_.add_elsewhere(methods);
  std::vector<host::LaterTable> later;
  const host::Registry registry{*store_, commands_, methods_, extensions_, declared_blocks_, &later};
  const Status declared = plugins_->declare([&](const std::string& name, Plugin& plugin) {
    return plugin.declare(*host::make_declarations(name, registry));
  });
  for (const host::LaterTable& table : later) *table.id = store_->find_table(table.name);
  return declared;
}

Status Agent::open_log(const RawConfig& raw) {
  log::set_level(settings_.log_level);
  LogOptions options{.json = settings_.log_json, .file = settings_.log_file};
  options.rotate_bytes = shared_.configuration.bytes("log_rotate_bytes");
  options.max_files = static_cast<int>(shared_.configuration.integer("log_rotate_max_files"));
  DROVER_TRY(log_sink_, make_log_sink(options));
  std::cout << agent_banner(settings_, raw.files, kVersion) << std::flush;
  log::set_sink(log_sink_.get());
  return ok_status();
}

void Agent::fill_shared() {
  AgentInfo& info = shared_.info;
  info.name = settings_.name;
  info.region = settings_.region;
  info.datacenter = settings_.datacenter;
  info.version = std::string(kVersion);
  info.data_dir = settings_.data_dir;
  info.dev_mode = settings_.dev;
  info.server = settings_.server;
  info.client = settings_.client;
  info.bind_address = settings_.bind_address;
  info.http_address = settings_.http_address;
  info.advertise_http = settings_.advertise_http;
  info.advertise_rpc = settings_.advertise_rpc;
  info.serf_address = settings_.serf_address;
  info.advertise_serf = settings_.advertise_serf;
  info.started_at = clock_.wall_ns();
  shared_.clock = &clock_;
  shared_.metrics = &metrics_;
  shared_.store = store_.get();
  shared_.extensions = &extensions_;
  shared_.methods = &methods_;
  shared_.raft_info = [this] { return consensus_ ? describe(*consensus_) : RaftInfo(); };
  shared_.identify_node = [this](Uuid node, const std::string& secret) {
    {
      MutexLock lock(node_mutex_);
      node_ = node;
    }
    if (settings_.server) return;  // it is called in this process
    const auto server = [this] { return any_server_address(); };
    wire_->attach({.node = node, .secret = secret, .server = server});
  };
  shared_.local_node = [this] { return local_node(); };
}

std::vector<ServerMember> Agent::servers() const {
  const std::vector<ServerDirectory*> directories = extensions_.all<ServerDirectory>();
  return directories.empty() ? std::vector<ServerMember>() : directories[0]->servers();
}

// Those of the configuration first, then those that a node has heard of since.
std::vector<std::string> Agent::known_servers() const {
  std::vector<std::string> known = settings_.servers;
  for (const HeardServers* heard : extensions_.all<HeardServers>()) {
    for (std::string& address : heard->rpc_addresses()) {
      if (std::ranges::find(known, address) == known.end()) known.push_back(std::move(address));
    }
  }
  return known;
}

std::optional<std::string> Agent::server_address(std::string_view server) const {
  if (!consensus_) return std::nullopt;
  const std::string leader = is_leader() ? "" : leader_address();
  if (server == "leader") return is_leader() || !leader.empty() ? std::optional(leader) : std::nullopt;
  if (is_named(consensus_->node_id(), settings_.name, settings_.region, server)) return "";
  return server_address_of(servers(), server, settings_.region);
}

// The next server gets its turn, unless another call has moved on already.
void Agent::server_unreachable(const std::string& address) {
  size_t at = server_at_;
  const std::vector<std::string> known = known_servers();
  if (!known.empty() && known[at % known.size()] == address)
    server_at_.compare_exchange_strong(at, at + 1);
}

Status Agent::verify_node(const Uuid& node, const std::string& secret) {
  v1::NodeProof request;
  request.set_node_id(node.bytes());
  request.set_secret_id(secret);
  CallContext context;
  context.method = "/drover.v1.NodeRegistry/Prove";
  context.query.region = settings_.region;
  context.node_secret = secret.size() == 16 ? Uuid::from_bytes(secret).to_string() : secret;
  context.deadline = clock_.steady() + std::chrono::seconds(10);
  return router_->call_and_wait(std::move(context), request.SerializeAsString()).status();
}

// The one that there must be: without it something is missing, and two would not agree.
template <typename T>
Result<T*> Agent::only(const std::string& subject, const std::string& plugin) const {
  const std::vector<std::string> names = extensions_.names(T::kExtensionPoint);
  if (names.empty())
    return failed_precondition("no enabled plugin provides " + subject + "; enable plugin " + plugin +
                               ", or put it into the plugin folder");
  if (names.size() > 1)
    return failed_precondition(subject + " is provided twice, as " + names[0] + " and as " + names[1] +
                               "; disable one of these plugins");
  return static_cast<T*>(extensions_.find(T::kExtensionPoint, names[0]));
}

void Agent::reach_out() {
  if (settings_.server) peers_ = std::make_unique<RaftPeers>(*wire_, commands_.names());
  const auto form_of = [this](std::string_view name) {
    const rpc::Method* method = methods_.find(name);
    if (!method) return MethodForm::unknown;
    return method->streaming ? MethodForm::streaming : MethodForm::unary;
  };
  wire_->start(
      {.router = *router_,
       .form_of = form_of,
       .executor = *pool_,
       .clock = clock_,
       .tls = tls_,
       .verify_node = [this](const Uuid& node, const std::string& secret) { return verify_node(node, secret); },
       .unreachable = [this](const std::string& address) { server_unreachable(address); },
       .lanes = peers_.get()});
  router_->set_peers(wire_);
}

Status Agent::join_raft() {
  machine_ = std::make_unique<StoreMachine>(*store_, commands_, metrics_, [this] { lead(); });
  files_ = raft::make_file_system();
  DROVER_RETURN_IF_ERROR(make_folder(settings_.data_dir + "/server", 0700));
  raft::Options options;
  options.directory = settings_.data_dir + "/server/raft";
  options.address = settings_.advertise_rpc;
  options.bootstrap_alone = settings_.is_alone;
  options.tick *= settings_.raft_multiplier;
  options.lease_reads = settings_.raft_lease_reads;
  options.scrub_interval = settings_.raft_scrub_interval;
  options.suspended = time_suspended;
  options.on_tick = [this] {
    ++ticks_;
    report_raft(metrics_, *consensus_);
  };
  consensus_ = raft::make_consensus(options, *machine_, *files_, clock_, peers_.get());
  DROVER_RETURN_IF_ERROR(consensus_->start());
  raft_control_ = make_raft_control(*consensus_);
  shared_.consensus = consensus_.get();
  shared_.who_lacks = [this](std::string_view command) { return peers_->who_lacks(command); };
  shared_.raft_control = raft_control_.get();
  shared_.info.server_id = consensus_->node_id();
  return ok_status();
}

Status Agent::start(std::span<const std::string> arguments) {
  DROVER_TRY(RawConfig raw, read_agent_arguments(arguments));
  store_ = std::make_unique<state::Store>();
  DROVER_RETURN_IF_ERROR(find_plugins(raw));
  DROVER_RETURN_IF_ERROR(declare_plugins());
  std::vector<std::string> warnings;
  DROVER_TRY(shared_.configuration, check_config(raw, declared_blocks_, warnings));
  shared_.configuration_json = config_to_json(raw, declared_blocks_, shared_.configuration);
  DROVER_TRY(settings_, agent_settings(shared_.configuration, raw.dev, machine_addresses()));
  DROVER_TRY(wire_, only<Wire>("the wire between agents", "grpc"));
  if (settings_.data_dir.empty()) {
    DROVER_TRY(dev_folder_.path, TemporaryFolder::make());
    settings_.data_dir = dev_folder_.path;
  }
  if (settings_.tls) {
    DROVER_TRY(tls_, read_tls(settings_.tls->ca_file, settings_.tls->cert_file, settings_.tls->key_file,
                              "server." + settings_.region + ".nomad"));
  }
  DROVER_RETURN_IF_ERROR(make_folder(settings_.data_dir, 0755));
  DROVER_RETURN_IF_ERROR(check_format(settings_.data_dir));
  DROVER_RETURN_IF_ERROR(open_log(raw));
  for (const std::string& warning : warnings) log::warn("config", "option without effect", {{"detail", warning}});
  fill_shared();

  DROVER_RETURN_IF_ERROR(make_folder(settings_.data_dir + "/local", 0700));
  DROVER_TRY(local_, LocalDatabase::open(settings_.data_dir + "/local"));
  pool_ = std::make_unique<ThreadPool>(ThreadPool::Options{}, clock_);
  router_ =
      std::make_unique<rpc::Router>(rpc::Router::Options{}, methods_, store_.get(), *this, *pool_, clock_, metrics_);
  if (const ConfigBlock* acl = shared_.configuration.block("acl"); acl && acl->boolean("enabled")) {
    DROVER_TRY(AccessControl* const access, only<AccessControl>("access control", "acl"));
    router_->set_access_control(access);
  }
  for (Auditor* auditor : extensions_.all<Auditor>()) router_->add_auditor(*auditor);
  shared_.caller = router_.get();
  shared_.pool = pool_.get();

  reach_out();
  if (settings_.server) {
    DROVER_RETURN_IF_ERROR(join_raft());
  }
  running_ = true;
  if (consensus_) watchdog_ = std::jthread([this](std::stop_token stop) { watch(std::move(stop)); });
  DROVER_RETURN_IF_ERROR(plugins_->start([this](const std::string& name) -> Host& {
    hosts_.push_back(host::make_plugin_host(name, shared_, local_->space(name)));
    return *hosts_.back();
  }));
  all_started_ = true;
  // Listening comes after the plugins, because calls are handled as soon as they arrive.
  if (settings_.server) DROVER_RETURN_IF_ERROR(wire_->listen(settings_.rpc_address, "ports.rpc"));
  if (consensus_) {
    // The earlier terms' entries are applied when this is called: the state is whole.
    consensus_->subscribe_leadership([this](raft::Term term, std::stop_token until) {
      {
        MutexLock lock(lead_mutex_);
        term_ends_ = until;
      }
      ready_term_ = term;
      log::info("raft", "became leader", {{"term", term}});
      lead();
    });
  }
  return ok_status();
}

// Begins the plugins' leadership, anew if it goes on already. [raft], and [apply] when the state was replaced: plugins
// must rebuild what they keep in memory while they lead from the rows that are there now.
void Agent::lead() {
  auto ends = std::make_shared<std::stop_source>();
  std::shared_ptr<std::stop_source> former;
  {
    MutexLock lock(lead_mutex_);
    if (!term_ends_.stop_possible() || term_ends_.stop_requested()) return;
    former = std::exchange(lead_ends_, ends);
    on_term_end_.emplace(term_ends_, [ends] { ends->request_stop(); });
  }
  if (former) former->request_stop();
  plugins_->lead(ends->get_token());  // waits, plugin by plugin, for the former one's end
}

// Consensus should never stand still. Where it does, this logs what it waits for. [watchdog]
void Agent::watch(std::stop_token stop) {
  pthread_setname_np(pthread_self(), "watchdog");
  raft::Watchdog watchdog;
  while (!stop.stop_requested()) {
    const raft::Vitals now{.ticks = ticks_,
                           .leads = is_leader(),
                           .is_ready = is_ready(),
                           .term = consensus_->term(),
                           .last = consensus_->last_index(),
                           .durable = consensus_->durable_index(),
                           .commit = consensus_->commit_index(),
                           .applied = consensus_->applied_index(),
                           .peers = consensus_->peers()};
    for (const raft::Finding& finding : watchdog.look(now, clock_.steady())) {
      log::warn("raft", finding.sentence, {{"waits_for", finding.waits_for}, {"term", now.term}});
      metrics_.add("nomad.raft.standstills");
      if (!finding.renew.is_zero()) peers_->renew_appends(finding.renew);
    }
    pause_for(std::chrono::seconds(1), stop);
  }
}

// A second signal does not wait until the plugins have left: the agent ends at once, as by a crash, which log and tasks
// survive.
void Agent::leave(const sigset_t& signals) {
  std::atomic<bool> has_left = false;
  const pthread_t waiting = pthread_self();
  std::jthread leaver([&] {
    pthread_setname_np(pthread_self(), "leave");
    plugins_->leave();
    has_left = true;
    pthread_kill(waiting, SIGHUP);  // is blocked, and only wakes sigwait
  });
  while (!has_left) {
    int received = 0;
    sigwait(&signals, &received);
    if (received == SIGHUP) continue;
    log::warn("agent", "a second signal: ends without leaving orderly");
    std::_Exit(1);
  }
}

int Agent::wait() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  int received = 0;
  do {
    sigwait(&signals, &received);
    if (received != SIGHUP) continue;
    log::info("agent", "SIGHUP: the configuration is read at the start only; plugins look after what is theirs");
    for (const std::string& name : extensions_.names(Reloadable::kExtensionPoint))
      static_cast<Reloadable*>(extensions_.find(Reloadable::kExtensionPoint, name))->reload();
  } while (received == SIGHUP);
  const bool graceful = received == SIGINT ? settings_.leave_on_interrupt : settings_.leave_on_terminate;
  log::info("agent", "stopping", {{"signal", received == SIGINT ? "interrupt" : "terminated"}, {"leave", graceful}});
  if (graceful) leave(signals);
  shut_down();
  return graceful ? 0 : 1;
}

void Agent::shut_down() {
  if (!std::exchange(running_, false)) {
    if (consensus_) consensus_->stop();
    if (wire_) wire_->stop();
    if (pool_) pool_->stop();
    log::set_sink(nullptr);
    return;
  }
  ready_term_ = 0;
  watchdog_ = {};                // ends
  if (router_) router_->stop();  // blocked reads and streams end
  if (store_) store_->close_feed();
  if (consensus_) consensus_->stop();  // leadership ends, and with it what plugins do while leading
  plugins_->stop(kStopTime);
  wire_->stop();
  if (pool_) pool_->stop();
  log::info("agent", "stopped");
  log::set_sink(nullptr);
}

}  // namespace

int run_agent(const std::string& program, std::span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "-h" || argument == "-help" || argument == "--help") {
      std::cout << agent_help();
      return 0;
    }
  }
  // Runs before any thread exists, so that all inherit the mask and wait() receives the signals.
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  Agent agent(program);
  if (Status status = agent.start(arguments); !status.ok()) {
    std::cerr << "==> Error starting agent: " << status.message() << "\n";
    return 1;
  }
  std::cout << "==> Drover agent started! Log data will stream in below:\n\n" << std::flush;
  return agent.wait();
}

}  // namespace drover
