// The workers of this server as operators see and change them. Handlers. [pool]
#pragma once

#include <set>
#include <string>

#include "drover/plugin.h"
#include "workers/workers.h"

namespace drover::v1 {
class SchedulerWorkersConfig;
class SchedulerWorkersRequest;
class SchedulerWorkersResponse;
class SetSchedulerWorkersRequest;
}  // namespace drover::v1

namespace drover::scheduler {

class WorkersRpc {
 public:
  explicit WorkersRpc(Workers& workers) : workers_(workers) {}
  Status declare(Declarations& declare);
  void start(Host& host) { host_ = &host; }

 private:
  Result<v1::SchedulerWorkersResponse> list(const v1::SchedulerWorkersRequest& request, Call& call);
  Result<v1::SchedulerWorkersConfig> get(const v1::SchedulerWorkersRequest& request, Call& call);
  Result<v1::SchedulerWorkersConfig> set(const v1::SetSchedulerWorkersRequest& request, Call& call);

  v1::SchedulerWorkersConfig config() const;
  std::set<std::string> named(const std::set<std::string>& types) const;

  Workers& workers_;
  Host* host_ = nullptr;
};

}  // namespace drover::scheduler
