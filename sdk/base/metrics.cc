#include "drover/metrics.h"

#include <algorithm>
#include <iterator>

#include "drover/mutex.h"

namespace drover {

void Metrics::record(Kind kind, std::string_view name, double value, const Labels& labels) {
  MutexLock lock(mutex_);
  auto [at, inserted] = cells_.try_emplace({std::string(name), labels}, Cell{.kind = kind});
  Cell& cell = at->second;
  if (inserted) {
    cell.minimum = value;
    cell.maximum = value;
  }
  ++cell.count;
  cell.minimum = std::min(cell.minimum, value);
  cell.maximum = std::max(cell.maximum, value);
  cell.sum_of_squares += value * value;
  cell.value = kind == Kind::gauge ? value : cell.value + value;
}

void Metrics::add(std::string_view name, double amount, const Labels& labels) {
  record(Kind::counter, name, amount, labels);
}
void Metrics::set(std::string_view name, double value, const Labels& labels) {
  record(Kind::gauge, name, value, labels);
}

void Metrics::observe(std::string_view name, std::chrono::nanoseconds took, const Labels& labels) {
  record(Kind::timer, name, std::chrono::duration<double, std::milli>(took).count(), labels);
}

void Metrics::remove(std::string_view name, const Labels& labels) {
  MutexLock lock(mutex_);
  cells_.erase({std::string(name), labels});
}

std::vector<Metrics::Value> Metrics::values() const {
  MutexLock lock(mutex_);
  std::vector<Value> values;
  values.reserve(cells_.size());
  for (const auto& [key, cell] : cells_) {
    values.push_back(
        {key.first, key.second, cell.kind, cell.value, cell.count, cell.minimum, cell.maximum, cell.sum_of_squares});
  }
  return values;
}

void GaugeSet::set(const std::string& name, double value, const Labels& labels) {
  metrics_.set(name, value, labels);
  shown_[{name, labels}] = true;
}

void GaugeSet::remove(const std::string& name, const Labels& labels) {
  metrics_.remove(name, labels);
  shown_.erase({name, labels});
}

void GaugeSet::end_round() {
  for (auto at = shown_.begin(); at != shown_.end();) {
    const auto& [gauge, is_new] = *at;
    if (!is_new) metrics_.remove(gauge.first, gauge.second);
    at = is_new ? std::next(at) : shown_.erase(at);
  }
  for (auto& [gauge, is_new] : shown_) is_new = false;
}

void GaugeSet::clear() {
  for (const auto& [gauge, is_new] : shown_) metrics_.remove(gauge.first, gauge.second);
  shown_.clear();
}

}  // namespace drover
