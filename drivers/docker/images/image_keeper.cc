#include "images/image_keeper.h"

#include <pthread.h>

#include <filesystem>
#include <fstream>

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

std::vector<std::string> ImageUses::all() const {
  std::set<std::string> out;
  for (const auto& [image, tasks] : tasks_) out.insert(image);
  for (const auto& [image, since] : unused_) out.insert(image);
  return {out.begin(), out.end()};
}

ImageKeeper::ImageKeeper(Engine& engine, std::optional<std::chrono::nanoseconds> delay, std::string file)
    : engine_(engine), delay_(delay), file_(std::move(file)) {
  if (!delay_) return;
  load();
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

void ImageKeeper::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void ImageKeeper::load() {
  std::ifstream kept(file_);
  const MutexLock lock(mutex_);
  for (std::string image; std::getline(kept, image);) {
    const bool is_id = image.starts_with("sha256:") && image.find_first_not_of("0123456789abcdef", 7) == image.npos;
    if (!is_id) continue;
    uses_.use(image, {});
    uses_.release(image, {}, SystemClock().steady());
  }
  saved_ = uses_.all();
}

void ImageKeeper::save(const std::vector<std::string>& images) const {
  if (file_.empty()) return;
  std::ofstream out(file_ + ".new", std::ios::trunc);
  for (const std::string& image : images) out << image << '\n';
  out.close();
  std::error_code error;
  std::filesystem::rename(file_ + ".new", file_, error);
}

void ImageKeeper::use(const std::string& image, const std::string& task) {
  const MutexLock lock(mutex_);
  uses_.use(image, task);
  changed_.notify_all();
}

void ImageKeeper::release(const std::string& image, const std::string& task) {
  const MutexLock lock(mutex_);
  uses_.release(image, task, SystemClock().steady());
  changed_.notify_all();
}

void ImageKeeper::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "docker-images");
  while (!stop.stop_requested()) {
    std::vector<std::string> unused, known;
    bool has_news = false;
    {
      MutexLock lock(mutex_);
      const auto oldest = uses_.oldest_unused();
      // The same oldest one as before: nothing is due sooner than that.
      const auto has_changed = [&]() DROVER_REQUIRES(mutex_) {
        return uses_.oldest_unused() != oldest || uses_.all() != saved_;
      };
      if (oldest) {
        changed_.wait_until(lock, stop, *oldest + *delay_, has_changed);
      } else {
        changed_.wait(lock, stop, has_changed);
      }
      unused = uses_.unused_since(SystemClock().steady() - *delay_);
      known = uses_.all();
      has_news = known != saved_;
      saved_ = known;
    }
    if (has_news) save(known);
    for (const std::string& image : unused) remove(image, stop);
  }
}

void ImageKeeper::remove(const std::string& image, const std::stop_token& stop) {
  bool is_forced = false;
  for (int i = 0; i < kTries; ++i) {
    const auto done = engine_.call(
        {.method = "DELETE", .target = "/images/" + percent_encode(image) + (is_forced ? "?force=true" : "")},
        Patience::of(Engine::kCallTime, stop));
    const Code code = done.status().code();
    if (code == Code::ok) return log::debug("docker", "an image that no task uses was removed", {{"image", image}});
    // Only for an image of several names: Podman takes force for leave to remove the containers that use it.
    if (!is_forced && done.status().message().find("multiple repositories") != std::string::npos) {
      is_forced = true;
      continue;
    }
    if (code == Code::not_found || code == Code::failed_precondition) return;  // gone, or somebody uses it
    log::warn("docker", "an image could not be removed", {{"image", image}, {"error", done.status().message()}});
    if (!pause_for(kBetweenTries, stop)) return;
  }
}

}  // namespace drover::docker
