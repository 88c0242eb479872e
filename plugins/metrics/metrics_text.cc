#include "metrics_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "drover/time.h"

namespace drover::metrics {
namespace {

std::string prometheus_name(std::string_view name) {
  std::string out;
  for (char c : name) {
    const bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += ok ? c : '_';
  }
  return out;
}

std::string labels_text(const Labels& labels) {
  if (labels.empty()) return {};
  std::string out = "{";
  for (const auto& [name, value] : labels) {
    if (out.size() > 1) out += ',';
    out += prometheus_name(name) + "=\"";
    for (char c : value) {
      if (c == '\\' || c == '"') out += '\\';
      out += c == '\n' ? ' ' : c;
    }
    out += '"';
  }
  return out + "}";
}

// "2026-11-23 11:22:30 +0000 UTC", as Go writes a time.
std::string go_time(int64_t wall_ns) {
  std::string text = format_time(wall_ns).substr(0, std::string_view("2026-11-23T11:22:30").size());
  text[text.find('T')] = ' ';
  return text + " +0000 UTC";
}

std::string number(double value) { return nlohmann::json(value).dump(); }

}  // namespace

std::string to_prometheus(const std::vector<Metrics::Value>& values) {
  std::string out;
  std::string last;
  for (const Metrics::Value& v : values) {
    const std::string name = prometheus_name(v.name);
    static constexpr std::string_view kTypes[] = {"counter", "gauge", "summary"};
    if (name != last) {
      out += "# HELP " + name + " " + name + "\n# TYPE " + name + " " +
             std::string(kTypes[static_cast<size_t>(v.kind)]) + "\n";
    }
    last = name;
    const std::string labels = labels_text(v.labels);
    if (v.kind == Metrics::Kind::timer) {
      out += name + "_sum" + labels + " " + number(v.value) + "\n";
      out += name + "_count" + labels + " " + std::to_string(v.count) + "\n";
    } else {
      out += name + labels + " " + number(v.value) + "\n";
    }
  }
  return out;
}

std::string to_summary(const std::vector<Metrics::Value>& values, int64_t started_ns, int64_t wall_ns) {
  using nlohmann::json;
  json out = {{"Timestamp", go_time(wall_ns)},
              {"Gauges", json::array()},
              {"Points", json::array()},
              {"Counters", json::array()},
              {"Samples", json::array()}};
  const double seconds = std::max(1.0, static_cast<double>(wall_ns - started_ns) / 1e9);
  for (const Metrics::Value& v : values) {
    json labels = json::object();
    for (const auto& [name, value] : v.labels) labels[name] = value;
    if (v.kind == Metrics::Kind::gauge) {
      out["Gauges"].push_back({{"Name", v.name}, {"Value", v.value}, {"Labels", labels}});
      continue;
    }
    const auto n = static_cast<double>(v.count);
    const double mean = v.value / n;
    const double variance = v.count > 1 ? std::max(0.0, (v.sum_of_squares - n * mean * mean) / (n - 1)) : 0.0;
    out[v.kind == Metrics::Kind::counter ? "Counters" : "Samples"].push_back({{"Name", v.name},
                                                                              {"Count", v.count},
                                                                              {"Sum", v.value},
                                                                              {"Rate", v.value / seconds},
                                                                              {"Min", v.minimum},
                                                                              {"Max", v.maximum},
                                                                              {"Mean", mean},
                                                                              {"Stddev", std::sqrt(variance)},
                                                                              {"Labels", labels}});
  }
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace drover::metrics
