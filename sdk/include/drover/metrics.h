// Counters, gauges and timers. Names are dotted ("rpc.request"), labels are few and bounded. [any]
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/mutex.h"

namespace drover {

using Labels = std::vector<std::pair<std::string, std::string>>;

class Metrics {
 public:
  void add(std::string_view name, double amount = 1, const Labels& labels = {});                  // counter
  void set(std::string_view name, double value, const Labels& labels = {});                       // gauge
  void observe(std::string_view name, std::chrono::nanoseconds took, const Labels& labels = {});  // timer, milliseconds
  // Removes it: what it measured is gone. Idempotent.
  void remove(std::string_view name, const Labels& labels = {});

  enum class Kind : uint8_t { counter, gauge, timer };
  struct Value {
    std::string name;
    Labels labels;
    Kind kind;
    double value;  // counter: sum; gauge: last; timer: sum of milliseconds
    uint64_t count;
    double minimum, maximum;
    double sum_of_squares;
  };
  std::vector<Value> values() const;  // sorted by name and labels

 private:
  struct Cell {
    Kind kind;
    double value = 0;
    uint64_t count = 0;
    double minimum = 0, maximum = 0, sum_of_squares = 0;
  };
  void record(Kind kind, std::string_view name, double value, const Labels& labels);
  mutable Mutex mutex_;
  std::map<std::pair<std::string, Labels>, Cell> cells_ DROVER_GUARDED_BY(mutex_);
};

// Gauges of one owner: they go with it. One thread at a time.
class GaugeSet {
 public:
  explicit GaugeSet(Metrics& metrics) : metrics_(metrics) {}
  ~GaugeSet() { clear(); }
  GaugeSet(const GaugeSet&) = delete;
  GaugeSet& operator=(const GaugeSet&) = delete;

  void set(const std::string& name, double value, const Labels& labels = {});
  void remove(const std::string& name, const Labels& labels = {});
  // Removes the gauges that were not set since the last call.
  void end_round();
  void clear();

 private:
  Metrics& metrics_;
  std::map<std::pair<std::string, Labels>, bool> shown_;  // true: set in this round
};

}  // namespace drover
