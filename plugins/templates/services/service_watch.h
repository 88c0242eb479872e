// Watches services on the servers for all templates of a node: one blocking read for each distinct query, no thread.
//
//   find ──▶ reading ──answer──▶ known, and reading on behind its index ──nobody asked for kForgetAfter──▶ forgotten
//               └ failed: again, first after kFirstRetry, then ever later; what was known stays
//
// [any]
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "drover/mutex.h"
#include "drover/plugin.h"
#include "services/service_query.h"

namespace drover::templates {

class ServiceWatch {
 public:
  static constexpr std::chrono::milliseconds kFirstRetry{250};
  static constexpr std::chrono::minutes kLastRetry{1};
  static constexpr std::chrono::minutes kForgetAfter{2};
  static constexpr std::chrono::milliseconds kPace{100};  // between two answers of one query

  struct Known {
    uint64_t version = 1;                        // of the same query: another one says something else
    std::shared_ptr<const nlohmann::json> rows;  // as the API gives them
  };

  ~ServiceWatch() { stop(); }
  void start(Host& host);  // once
  void stop();

  // Begins to watch, or goes on. Nothing before the first answer.
  std::optional<Known> find(const ServiceQuery& query);
  // 0 before the first answer.
  uint64_t version(const ServiceQuery& query) {
    const auto known = find(query);
    return known ? known->version : 0;
  }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace drover::templates
