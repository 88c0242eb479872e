// Pulls each image once, however many tasks wait for it, and tells all of them how it goes.
//
//   (none) ──first waiter──▶ pulling, on a thread of its own ──▶ pulled, or failed: the same for all ──▶ (none)
//
// A waiter that leaves does not end the pull. [any]
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "drover/mutex.h"
#include "engine/engine.h"
#include "images/image_name.h"
#include "images/pull_progress.h"

namespace drover::docker {

struct PullOrder {
  ImageName image;
  std::string registry_auth;  // the header; empty: anonymous
  std::chrono::nanoseconds time{}, activity_time{};
  // Called with what waiters shall see, from another thread; must not block.
  std::function<void(const std::string& text)> tell;
};

class ImagePuller {
 public:
  explicit ImagePuller(Engine& engine) : engine_(engine) {}
  ~ImagePuller() { stop(); }

  // Returns when the image is there. Errors: "Failed to pull `IMAGE`: …", failed_precondition where a later try may
  // help; cancelled when `stop` was requested.
  Status pull(const PullOrder& order, std::stop_token stop);
  // Ends all pulls and waits. Idempotent.
  void stop();

 private:
  struct Pull {
    std::vector<std::function<void(const std::string&)>> listeners;
    std::optional<Status> end;
    std::jthread thread;
  };

  void run(const std::shared_ptr<Pull>& pull, const PullOrder& order, const std::stop_token& stop);
  void tell(const std::shared_ptr<Pull>& pull, const std::string& text);
  static void join(std::vector<std::shared_ptr<Pull>>& pulls);

  Engine& engine_;
  Mutex mutex_;
  CondVarAny changed_;
  bool is_stopped_ DROVER_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<Pull>> pulls_ DROVER_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Pull>> ended_ DROVER_GUARDED_BY(mutex_);  // their threads are to be joined
};

// Follows one pull to its end; `progress` is told now and then. Errors: the cause.
Status follow_pull(Engine& engine, const PullOrder& order, const std::function<void(const std::string&)>& progress,
                   const std::stop_token& stop);

}  // namespace drover::docker
