// The handler that starts children of parameterized jobs.
#pragma once

#include <vector>

#include "drover/plugin.h"
#include "tables.h"

namespace drover::v1 {
class DispatchJobRequest;
class DispatchJobResponse;
}  // namespace drover::v1

namespace drover::jobs {

class DispatchHandlers {
 public:
  explicit DispatchHandlers(const Tables& tables) : tables_(tables) {}
  std::vector<MethodBinding> methods();
  void start(Host& host, int32_t highest_priority);

 private:
  Result<Write<v1::DispatchJobResponse>> dispatch(const v1::DispatchJobRequest& request, Call& call);

  const Tables& tables_;
  Host* host_ = nullptr;
  int32_t highest_priority_ = 0;
};

}  // namespace drover::jobs
