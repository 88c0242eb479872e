// The agent's metrics, in the forms that dashboards read.
#include <unistd.h>

#include <array>

#include "drover/api/system.pb.h"
#include "drover/config.h"
#include "drover/module.h"
#include "metrics_text.h"

namespace drover::metrics {
namespace {

std::string machine_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

class MetricsPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    using enum ConfigType;
    DROVER_RETURN_IF_ERROR(declare.configuration(
        "telemetry", {.options = {
                          {.name = "prometheus_metrics",
                           .type = boolean,
                           .default_text = "false",
                           .help = "Offer metrics in Prometheus' form."},
                          {.name = "collection_interval",
                           .type = duration,
                           .default_text = "1s",
                           .help = "Time between settings of a node's gauges.",
                           .is_api_text = true},
                          {.name = "publish_allocation_metrics",
                           .type = boolean,
                           .default_text = "false",
                           .help = "Set gauges of each task: processor and memory."},
                          {.name = "publish_node_metrics",
                           .type = boolean,
                           .default_text = "false",
                           .help = "Set gauges of a node's machine: processors, memory, disks."},
                          {.name = "statsite_address", .type = string, .api_name = "StatsiteAddr"},
                          {.name = "statsd_address", .type = string, .api_name = "StatsdAddr"},
                          {.name = "datadog_address", .type = string, .api_name = "DataDogAddr"},
                          {.name = "datadog_tags", .type = string_list, .api_name = "DataDogTags"},
                          {.name = "disable_hostname",
                           .type = boolean,
                           .default_text = "false",
                           .help = "Leave out the label `host` of metrics."},
                          {.name = "use_node_name",
                           .type = boolean,
                           .default_text = "false",
                           .help = "Put the agent's name into the label `host`, not the machine's."},
                          {.name = "filter_default", .type = boolean, .default_text = "true"},
                          {.name = "prefix_filter", .type = string_list},
                          {.name = "disable_dispatched_job_summary_metrics", .type = boolean, .default_text = "false"},
                          {.name = "disable_rpc_rate_metrics_labels", .type = boolean, .default_text = "false"},
                      }}));
    return declare.service("drover.v1.AgentMetrics", {method<&MetricsPlugin::get>("Get", this)});
  }

  Status start(Host& host) override {
    host_ = &host;
    prometheus_ = host.agent().dev_mode;
    host_name_ = machine_name();
    if (const ConfigBlock* telemetry = host.configuration("telemetry")) {
      prometheus_ = prometheus_ || telemetry->boolean("prometheus_metrics");
      if (telemetry->boolean("disable_hostname")) host_name_.clear();
      if (telemetry->boolean("use_node_name")) host_name_ = host.agent().name;
    }
    return ok_status();
  }

  void stop(SteadyTime) override {}

 private:
  Result<v1::MetricsResponse> get(const v1::MetricsRequest& request, Call&) {
    v1::MetricsResponse response;
    auto values = host_->metrics().values();
    if (!host_name_.empty()) {
      for (Metrics::Value& value : values) value.labels.emplace_back("host", host_name_);
    }
    if (request.format() == "prometheus") {
      if (!prometheus_)
        return with_http_status(
            failed_precondition("Prometheus is not enabled; set telemetry { prometheus_metrics = true }"), 415);
      response.set_text(to_prometheus(values));
      return response;
    }
    if (!request.format().empty())
      return invalid_argument("format \"" + request.format() + "\" is unknown; use prometheus or leave it out");
    response.set_summary(to_summary(values, host_->agent().started_at, host_->clock().wall_ns()));
    return response;
  }

  Host* host_ = nullptr;
  bool prometheus_ = false;
  std::string host_name_;  // the label of every metric; empty: none
};

}  // namespace
}  // namespace drover::metrics

DROVER_MODULE(drover::metrics::MetricsPlugin, "module", "metrics", "0.1.0");
