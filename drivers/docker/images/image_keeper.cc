#include "images/image_keeper.h"

#include <pthread.h>

#include "drover/log.h"
#include "drover/pause.h"

namespace drover::docker {
namespace {

using namespace std::chrono_literals;

constexpr int kTries = 3;
constexpr auto kBetweenTries = 3s;

}  // namespace

void ImageUses::use(const std::string& image, const std::string& task) {
  if (image.empty()) return;
  tasks_[image].insert(task);
  unused_.erase(image);
}

void ImageUses::release(const std::string& image, const std::string& task, SteadyTime now) {
  const auto at = tasks_.find(image);
  if (at == tasks_.end() || at->second.erase(task) == 0 || !at->second.empty()) return;
  tasks_.erase(at);
  unused_[image] = now;
}

std::vector<std::string> ImageUses::unused_since(SteadyTime before) {
  std::vector<std::string> out;
  for (auto at = unused_.begin(); at != unused_.end();) {
    if (at->second > before) {
      ++at;
      continue;
    }
    out.push_back(at->first);
    at = unused_.erase(at);
  }
  return out;
}

std::optional<SteadyTime> ImageUses::oldest_unused() const {
  std::optional<SteadyTime> oldest;
  for (const auto& [image, since] : unused_) {
    if (!oldest || since < *oldest) oldest = since;
  }
  return oldest;
}

ImageKeeper::ImageKeeper(Engine& engine, std::optional<std::chrono::nanoseconds> delay)
    : engine_(engine), delay_(delay) {
  if (delay_) thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

void ImageKeeper::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void ImageKeeper::use(const std::string& image, const std::string& task) {
  const MutexLock lock(mutex_);
  uses_.use(image, task);
}

void ImageKeeper::release(const std::string& image, const std::string& task) {
  const MutexLock lock(mutex_);
  uses_.release(image, task, SystemClock().steady());
  changed_.notify_all();
}

void ImageKeeper::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "docker-images");
  while (!stop.stop_requested()) {
    std::vector<std::string> unused;
    {
      MutexLock lock(mutex_);
      const auto oldest = uses_.oldest_unused();
      // The same oldest one as before: nothing is due sooner than that.
      const auto has_changed = [&]() DROVER_REQUIRES(mutex_) { return uses_.oldest_unused() != oldest; };
      if (oldest) {
        changed_.wait_until(lock, stop, *oldest + *delay_, has_changed);
      } else {
        changed_.wait(lock, stop, has_changed);
      }
      unused = uses_.unused_since(SystemClock().steady() - *delay_);
    }
    for (const std::string& image : unused) remove(image, stop);
  }
}

void ImageKeeper::remove(const std::string& image, const std::stop_token& stop) {
  for (int i = 0; i < kTries; ++i) {
    const auto done = engine_.call({.method = "DELETE", .target = "/images/" + percent_encode(image) + "?force=true"},
                                   Patience::of(Engine::kCallTime, stop));
    const Code code = done.status().code();
    if (code == Code::ok) return log::debug("docker", "an image that no task uses was removed", {{"image", image}});
    if (code == Code::not_found || code == Code::failed_precondition) return;  // gone, or somebody else's
    log::warn("docker", "an image could not be removed", {{"image", image}, {"error", done.status().message()}});
    if (!pause_for(kBetweenTries, stop)) return;
  }
}

}  // namespace drover::docker
