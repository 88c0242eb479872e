#include "services/service_watch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "drover/api/services.pb.h"
#include "drover/json.h"
#include "drover/log.h"
#include "drover/node_calls.h"

namespace drover::templates {
namespace {

constexpr auto kWait = std::chrono::minutes(5);

nlohmann::json service_of(const v1::ServiceRegistration& row) {
  std::vector<std::string> tags(row.tags().begin(), row.tags().end());
  std::ranges::sort(tags);
  return {{"ID", row.id()},
          {"Name", row.service_name()},
          {"Node", Uuid::from_bytes(row.node_id()).to_string()},
          {"Address", row.address()},
          {"Port", row.port()},
          {"Datacenter", row.datacenter()},
          {"Tags", tags},
          {"JobID", row.job_id()},
          {"AllocID", Uuid::from_bytes(row.alloc_id()).to_string()}};
}

Result<nlohmann::json> rows_of(const ServiceQuery& query, const std::string& body) {
  nlohmann::json rows = nlohmann::json::array();
  if (!query.name.empty()) {
    DROVER_TRY(const auto answer, parse_message<v1::ServiceRegistrationsResponse>(body));
    for (const v1::ServiceRegistration& row : answer.services()) rows.push_back(service_of(row));
    return rows;
  }
  DROVER_TRY(const auto answer, parse_message<v1::ListServicesResponse>(body));
  for (const v1::NamespaceServices& each : answer.namespaces()) {
    for (const v1::ServiceStub& stub : each.services())
      rows.push_back({{"Name", stub.service_name()}, {"Tags", std::vector(stub.tags().begin(), stub.tags().end())}});
  }
  return rows;
}

}  // namespace

struct ServiceWatch::State : std::enable_shared_from_this<ServiceWatch::State> {
  struct Watched {
    std::optional<Known> known;
    uint64_t index = 0;
    std::chrono::nanoseconds retry = kFirstRetry;
    SteadyTime asked;
  };

  explicit State(Host& its_host) : host(its_host) {}

  std::optional<Known> find(const ServiceQuery& query) {
    bool is_new = false;
    std::optional<Known> known;
    {
      MutexLock lock(mutex);
      if (over.stop_requested()) return std::nullopt;
      auto [at, inserted] = all.try_emplace(query);
      is_new = inserted;
      at->second.asked = host.clock().steady();
      known = at->second.known;
    }
    if (is_new) read(query);
    return known;
  }

  // Asks once; the answer asks on.
  void read(const ServiceQuery& query) {
    uint64_t index = 0;
    {
      MutexLock lock(mutex);
      const auto at = all.find(query);
      if (at == all.end() || over.stop_requested()) return;
      if (host.clock().steady() - at->second.asked > kForgetAfter) {
        all.erase(at);
        return;
      }
      index = at->second.index;
    }
    const NodeCalls* calls = host.extension<NodeCalls>("agent");
    if (!calls || !calls->proof()) return again(query, kFirstRetry);
    const bool is_list = query.name.empty();
    CallContext context = calls->context(is_list ? "/drover.v1.Services/List" : "/drover.v1.Services/Get",
                                         kWait + std::chrono::seconds(30), over.get_token());
    if (!query.region.empty()) context.query.region = query.region;
    context.query.name_space = query.name_space;
    context.query.min_index = index;
    context.query.max_wait = kWait;
    context.query.stale = true;
    v1::GetServiceRequest request;
    request.set_service_name(query.name);
    request.set_choose(query.choose);
    host.caller().call(
        std::move(context), is_list ? "" : request.SerializeAsString(),
        [state = shared_from_this(), query](Result<Reply> reply) { state->take(query, std::move(reply)); });
  }

  void take(const ServiceQuery& query, Result<Reply> reply) {
    std::chrono::nanoseconds pause = kPace;
    auto rows = reply ? rows_of(query, reply->body) : Result<nlohmann::json>(reply.status());
    {
      MutexLock lock(mutex);
      const auto at = all.find(query);
      if (at == all.end() || over.stop_requested()) return;
      Watched& watched = at->second;
      if (!rows) {
        pause = watched.retry;
        watched.retry = std::min<std::chrono::nanoseconds>(watched.retry * 2, kLastRetry);
        log::warn("templates", "services are not read", {{"service", query.name}, {"error", rows.status().message()}});
      } else {
        watched.retry = kFirstRetry;
        watched.index = reply->meta.index < watched.index ? 0 : reply->meta.index;
        if (!watched.known || *watched.known->rows != *rows) {
          const uint64_t before = watched.known ? watched.known->version : 0;
          watched.known = {.version = before + 1, .rows = std::make_shared<const nlohmann::json>(*std::move(rows))};
        }
      }
    }
    again(query, pause);
  }

  void again(const ServiceQuery& query, std::chrono::nanoseconds pause) {
    host.post_after(pause, [state = shared_from_this(), query] { state->read(query); });
  }

  Host& host;
  std::stop_source over;
  Mutex mutex;
  std::map<ServiceQuery, Watched> all DROVER_GUARDED_BY(mutex);
};

void ServiceWatch::start(Host& host) { state_ = std::make_shared<State>(host); }

void ServiceWatch::stop() {
  if (state_) state_->over.request_stop();
}

std::optional<ServiceWatch::Known> ServiceWatch::find(const ServiceQuery& query) { return state_->find(query); }

}  // namespace drover::templates
