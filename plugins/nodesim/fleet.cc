#include "fleet.h"

#include <algorithm>

#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/node_service.pb.h"
#include "drover/v1/service_sync.pb.h"

namespace drover::nodesim {
namespace {

using namespace std::chrono_literals;

// As agents do.
constexpr auto kCallTime = 15s;
constexpr auto kFetchTime = 30s;
constexpr auto kWatchTime = 5min;
constexpr auto kGather = 50ms;  // changes that come together are one report
constexpr const char* kNomadVersion = "1.5.6";  // as agents say: jobs with checks ask for it
constexpr std::chrono::nanoseconds kFirstRetry = 200ms;
constexpr std::chrono::nanoseconds kLongestRetry = 15s;
constexpr std::chrono::nanoseconds kShortestTtl = 1s;

std::chrono::nanoseconds scaled(std::chrono::nanoseconds time, double factor) {
  return std::chrono::nanoseconds(static_cast<int64_t>(factor * static_cast<double>(time.count())));
}

Course course_of(const Settings& settings) {
  Course course = settings.course;
  if (settings.in_step) course.report_every.reset();
  return course;
}

}  // namespace

struct Fleet::Node {
  Node(size_t place, const Course& course) : number(place), server(place), book(course) {}

  const size_t number;
  const Uuid id = Uuid::random();
  const Uuid secret = Uuid::random();
  std::atomic<size_t> server;  // whose turn it is
  std::atomic<bool> is_begun{false}, is_ready{false};

  Mutex mutex;
  AllocationBook book DROVER_GUARDED_BY(mutex);
  bool reports DROVER_GUARDED_BY(mutex) = false;                        // a report is under way
  std::optional<SteadyTime> next_report DROVER_GUARDED_BY(mutex) = {};  // report() will run then
  std::chrono::nanoseconds report_delay DROVER_GUARDED_BY(mutex) = kFirstRetry;
  uint64_t index DROVER_GUARDED_BY(mutex) = 0;                          // of the list that it knows
  uint64_t sync_turn DROVER_GUARDED_BY(mutex) = 0;                      // of the last sync that was planned
  bool syncs DROVER_GUARDED_BY(mutex) = false;                          // a sync is under way
  // Used by one chain of calls each.
  std::chrono::nanoseconds alive_delay = kFirstRetry, watch_delay = kFirstRetry, sync_delay = kFirstRetry;
};

Fleet::Fleet(const Settings& settings, Peers& wire, Executor& executor, Clock& clock, Figures& figures)
    : settings_(settings),
      course_(course_of(settings)),
      wire_(wire),
      executor_(executor),
      clock_(clock),
      figures_(figures) {
  for (int i = 0; i < settings.count; ++i) nodes_.push_back(std::make_unique<Node>(static_cast<size_t>(i), course_));
}

Fleet::~Fleet() = default;

void Fleet::start() {
  for (int i = 0; i < settings_.registering; ++i) begin_next();
}

Fleet::Progress Fleet::progress() const {
  Progress progress{.ready = ready_};
  for (const auto& node : nodes_) {
    const MutexLock lock(node->mutex);
    progress.running += node->book.running();
  }
  const MutexLock lock(mutex_);
  progress.last_error = last_error_;
  return progress;
}

void Fleet::report_all() {
  for (const auto& node : nodes_) {
    {
      const MutexLock lock(node->mutex);
      node->book.report_all(clock_.steady());
    }
    plan_report(*node);
  }
}

double Fleet::between(double low, double high) {
  const MutexLock lock(mutex_);
  return std::uniform_real_distribution<double>(low, high)(random_);
}

void Fleet::after(std::chrono::nanoseconds delay, std::function<void()> task) {
  executor_.post_at(clock_.steady() + delay, std::move(task));
}

std::chrono::nanoseconds Fleet::pause_after(const Status& failure, std::chrono::nanoseconds& delay) {
  const auto pause = scaled(delay, between(0.75, 1.25));
  delay = std::min(delay * 2, kLongestRetry);
  const MutexLock lock(mutex_);
  last_error_ = failure.message();
  return pause;
}

template <typename Response, typename Request>
void Fleet::ask(Node& node, Kind kind, const char* method, const Request& request, std::chrono::nanoseconds time,
                QueryOptions query, Then<Response> then) {
  const SteadyTime began = clock_.steady();
  CallContext context;
  context.method = method;
  context.query = std::move(query);
  context.query.region = settings_.region;
  context.node_secret = node.secret.to_string();
  context.deadline = began + time;
  context.stop = stop_.get_token();
  wire_.call_server(settings_.servers[node.server % settings_.servers.size()], std::move(context),
                    request.SerializeAsString(),
                    [this, &node, kind, began, then = std::move(then)](Result<Reply> reply) {
                      if (stop_.stop_requested()) return;
                      figures_.add(kind, clock_.steady() - began, reply.ok());
                      if (!reply && reply.status().code() == Code::unavailable) ++node.server;
                      // Off the wire's thread.
                      executor_.post([then, reply = std::make_shared<Result<Reply>>(std::move(reply))] {
                        if (!*reply) return then((*reply).status(), {});
                        then(parse_message<Response>((*reply)->body), (*reply)->meta);
                      });
                    });
}

void Fleet::begin_next() {
  const size_t number = begun_++;
  if (number < nodes_.size()) register_node(*nodes_[number]);
}

void Fleet::register_node(Node& simulated) {
  v1::RegisterNodeRequest request;
  v1::Node& node = *request.mutable_node();
  node.set_id(simulated.id.bytes());
  node.set_secret_id(simulated.secret.bytes());
  node.set_name("sim-" + std::to_string(simulated.number));
  node.set_datacenter(settings_.datacenter);
  node.set_node_class(settings_.node_class);
  node.set_http_addr("127.0.0.1:0");  // nobody can ask it
  node.set_status(v1::NODE_STATUS_INITIALIZING);
  (*node.mutable_meta())["simulated"] = "true";
  auto& attributes = *node.mutable_attributes();
  attributes["kernel.name"] = "linux";
  attributes["cpu.arch"] = "amd64";
  attributes["arch"] = "amd64";
  attributes["os.name"] = "linux";
  attributes["nomad.service_discovery"] = "true";
  attributes["nomad.version"] = kNomadVersion;
  attributes["cpu.totalcompute"] = std::to_string(settings_.cpu_mhz);
  attributes["unique.hostname"] = node.name();
  for (const std::string& name : settings_.drivers) {
    v1::DriverInfo& driver = (*node.mutable_drivers())[name];
    driver.set_detected(true);
    driver.set_healthy(true);
    driver.set_health_description("Healthy");
    (*driver.mutable_attributes())["driver." + name] = "1";
    attributes["driver." + name] = "1";
  }
  v1::NodeResources& resources = *node.mutable_node_resources();
  resources.mutable_cpu()->set_cpu_shares(settings_.cpu_mhz);
  resources.mutable_memory()->set_memory_mb(settings_.memory_mb);
  resources.mutable_disk()->set_disk_mb(settings_.disk_mb);
  ask<v1::HeartbeatResponse>(simulated, Kind::registration, "/drover.v1.NodeRegistry/Register", request, kCallTime, {},
                             [this, &simulated](const Result<v1::HeartbeatResponse>& answer, const ReplyMeta&) {
                               if (!simulated.is_begun.exchange(true)) begin_next();
                               if (answer) return heartbeat(simulated);
                               after(pause_after(answer.status(), simulated.alive_delay),
                                     [this, &simulated] { register_node(simulated); });
                             });
}

void Fleet::heartbeat(Node& node) {
  v1::HeartbeatRequest request;
  request.set_node_id(node.id.bytes());
  request.set_secret_id(node.secret.bytes());
  request.set_status(v1::NODE_STATUS_READY);
  ask<v1::HeartbeatResponse>(
      node, Kind::heartbeat, "/drover.v1.NodeRegistry/Heartbeat", request, kCallTime, {},
      [this, &node](const Result<v1::HeartbeatResponse>& answer, const ReplyMeta&) {
        if (!answer) {
          const bool is_unknown = answer.status().code() == Code::not_found;
          return after(pause_after(answer.status(), node.alive_delay),
                       [this, &node, is_unknown] { is_unknown ? register_node(node) : heartbeat(node); });
        }
        node.alive_delay = kFirstRetry;
        if (!node.is_ready.exchange(true)) {
          ++ready_;
          watch(node);
          sync_services_after(kGather, node);
        }
        const auto ttl =
            std::max<std::chrono::nanoseconds>(std::chrono::nanoseconds(answer->heartbeat_ttl()), kShortestTtl);
        after(scaled(ttl, between(0.8, 0.95)), [this, &node] { heartbeat(node); });
      });
}

void Fleet::watch(Node& node) {
  v1::WatchAllocationsRequest request;
  request.set_node_id(node.id.bytes());
  request.set_secret_id(node.secret.bytes());
  QueryOptions query{.max_wait = kWatchTime, .stale = true};
  {
    const MutexLock lock(node.mutex);
    query.min_index = node.index;
  }
  ask<v1::WatchAllocationsResponse>(
      node, Kind::watch, "/drover.v1.NodeAllocations/Watch", request, kWatchTime + kFetchTime, query,
      [this, &node](const Result<v1::WatchAllocationsResponse>& answer, const ReplyMeta& meta) {
        if (!answer) {
          return after(pause_after(answer.status(), node.watch_delay), [this, &node] { watch(node); });
        }
        std::vector<std::string> ids;
        {
          const MutexLock lock(node.mutex);
          ids = node.book.listed(*answer);
          if (ids.empty()) node.index = std::max<uint64_t>(meta.index, 1);  // zero would not block
        }
        if (!ids.empty()) return fetch(node, ids, meta.index);
        sync_services_if_changed(node);
        node.watch_delay = kFirstRetry;
        watch(node);
      });
}

void Fleet::fetch(Node& node, const std::vector<std::string>& ids, uint64_t index) {
  v1::FetchAllocationsRequest request;
  request.set_node_id(node.id.bytes());
  request.set_secret_id(node.secret.bytes());
  for (const std::string& id : ids) request.add_alloc_ids(id);
  ask<v1::FetchAllocationsResponse>(
      node, Kind::fetch, "/drover.v1.NodeAllocations/Fetch", request, kFetchTime, {.stale = true},
      [this, &node, index](const Result<v1::FetchAllocationsResponse>& answer, const ReplyMeta&) {
        Status status = answer.status();
        if (answer) {
          const MutexLock lock(node.mutex);
          if (node.book.fetched(*answer, clock_.steady())) {
            node.index = std::max<uint64_t>(index, 1);
          } else {
            status = unavailable("the server that answered is behind the one that listed the allocations");
          }
        }
        if (!status.ok()) return after(pause_after(status, node.watch_delay), [this, &node] { watch(node); });
        node.watch_delay = kFirstRetry;
        plan_report(node);
        sync_services_if_changed(node);
        watch(node);
      });
}

// Sees to it that report() runs when there is something to report.
void Fleet::plan_report(Node& node) {
  SteadyTime when;
  {
    const MutexLock lock(node.mutex);
    const auto due = node.book.due();
    if (!due || node.reports) return;
    when = std::max(*due, clock_.steady() + kGather);
    if (node.next_report && *node.next_report <= when) return;
    node.next_report = when;
  }
  executor_.post_at(when, [this, &node] { report(node); });
}

void Fleet::report(Node& node) {
  v1::UpdateAllocationsRequest request;
  request.set_node_id(node.id.bytes());
  request.set_secret_id(node.secret.bytes());
  auto reports = std::make_shared<std::vector<v1::Allocation>>();
  {
    const MutexLock lock(node.mutex);
    node.next_report.reset();
    if (node.reports) return;  // its end plans the next
    *reports = node.book.take(clock_.steady(), clock_.wall_ns());
    node.reports = !reports->empty();
  }
  sync_services_if_changed(node);
  if (reports->empty()) return plan_report(node);
  for (const v1::Allocation& one : *reports) *request.add_allocations() = one;
  ask<v1::UpdateAllocationsResponse>(
      node, Kind::report, "/drover.v1.NodeAllocations/Update", request, kCallTime, {},
      [this, &node, reports](const Result<v1::UpdateAllocationsResponse>& answer, const ReplyMeta&) {
        {
          const MutexLock lock(node.mutex);
          node.reports = false;
          if (answer) {
            node.report_delay = kFirstRetry;
            figures_.reported(reports->size());
          } else {
            node.book.failed(*reports, clock_.steady() + pause_after(answer.status(), node.report_delay));
          }
        }
        plan_report(node);
      });
}

void Fleet::sync_services_after(std::chrono::nanoseconds delay, Node& node) {
  uint64_t turn = 0;
  {
    const MutexLock lock(node.mutex);
    turn = ++node.sync_turn;
  }
  after(delay, [this, &node, turn] { sync_services(node, turn); });
}

void Fleet::sync_services_if_changed(Node& node) {
  {
    const MutexLock lock(node.mutex);
    if (!node.book.services_changed()) return;
  }
  sync_services_after(kGather, node);
}

// One at a time, so that no older word arrives last. The turns of others that were planned meanwhile are passed over.
void Fleet::sync_services(Node& node, uint64_t turn) {
  v1::SyncNodeServicesRequest request;
  request.set_node_id(node.id.bytes());
  request.set_secret_id(node.secret.bytes());
  {
    const MutexLock lock(node.mutex);
    if (node.sync_turn != turn || node.syncs) return;
    node.syncs = true;
    node.book.say_services(request);
  }
  ask<v1::SyncNodeServicesResponse>(
      node, Kind::services, "/drover.v1.NodeServices/Sync", request, kFetchTime, {},
      [this, &node, turn](const Result<v1::SyncNodeServicesResponse>& answer, const ReplyMeta&) {
        bool is_old = false;
        {
          const MutexLock lock(node.mutex);
          node.syncs = false;
          is_old = node.sync_turn != turn;
        }
        if (!answer) return sync_services_after(pause_after(answer.status(), node.sync_delay), node);
        node.sync_delay = kFirstRetry;
        const std::chrono::nanoseconds every(answer->sync_every());
        sync_services_after(is_old ? kGather : scaled(std::max(every, kShortestTtl), between(0.9, 1.1)), node);
      });
}

}  // namespace drover::nodesim
