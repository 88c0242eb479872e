#include "images/image_puller.h"

#include <pthread.h>

#include <algorithm>
#include <array>

#include "drover/duration.h"

namespace drover::docker {
namespace {

using namespace std::chrono_literals;

constexpr auto kTellEvery = 2min;
constexpr auto kLook = 10s;  // how often a silent pull is looked at

// Docker's words for an image that will not be there at the next try either.
bool is_for_good(const Status& cause) {
  const std::string& text = cause.message();
  const size_t at = text.find("Error: image ");
  return at != std::string::npos && text.find(" not found", at) != std::string::npos;
}

Status failed(const ImageName& image, const Status& cause) {
  const std::string text = "Failed to pull `" + image.text() + "`: " + cause.message();
  if (cause.code() == Code::cancelled) return cancelled(text);
  return {is_for_good(cause) ? Code::unknown : Code::failed_precondition, text};
}

Request request_of(const PullOrder& order) {
  const ImageName& image = order.image;
  Request request{.method = "POST",
                  .target = "/images/create" + query({{"fromImage", image.repository},
                                                      {"tag", image.digest.empty() ? image.tag : image.digest}})};
  if (!order.registry_auth.empty()) request.headers["X-Registry-Auth"] = order.registry_auth;
  return request;
}

}  // namespace

Status follow_pull(Engine& engine, const PullOrder& order, const std::function<void(const std::string&)>& progress,
                   const std::stop_token& stop) {
  const SteadyTime begun = SystemClock().steady(), deadline = begun + order.time;
  DROVER_TRY(auto exchange, engine.open(request_of(order), {std::min(deadline, begun + order.activity_time), stop}));
  PullProgress seen;
  DROVER_RETURN_IF_ERROR(seen.feed({}, begun));
  SteadyTime next = begun + kTellEvery;
  std::array<char, 8192> piece;
  while (true) {
    const SteadyTime silent_until = seen.last_progress() + order.activity_time;
    const SteadyTime look = SystemClock().steady() + kLook;
    const auto size = exchange->read(piece, {std::min({deadline, silent_until, look}), stop});
    const SteadyTime now = SystemClock().steady();
    if (size && *size == 0) return seen.finish(now);
    if (size) {
      DROVER_RETURN_IF_ERROR(seen.feed({piece.data(), *size}, now));
    } else if (size.status().code() != Code::deadline_exceeded) {
      return size.status();
    }
    if (now >= deadline)
      return deadline_exceeded("context deadline exceeded: not pulled within " + format_duration(order.time) + ", " +
                               seen.amount());
    if (now >= seen.last_progress() + order.activity_time)
      return deadline_exceeded("context canceled: no progress for " + format_duration(order.activity_time) + ", " +
                               seen.amount());
    if (now < next) continue;
    progress("Docker image pull progress: " + seen.text(now));
    next = now + kTellEvery;
  }
}

// Before they are let go: a thread must not be the last to hold itself.
void ImagePuller::join(std::vector<std::shared_ptr<Pull>>& pulls) {
  for (const auto& pull : pulls) {
    if (pull->thread.joinable()) pull->thread.join();
  }
  pulls.clear();
}

void ImagePuller::tell(const std::shared_ptr<Pull>& pull, const std::string& text) {
  std::vector<std::function<void(const std::string&)>> listeners;
  {
    const MutexLock lock(mutex_);
    listeners = pull->listeners;
  }
  for (const auto& listener : listeners) listener(text);
}

void ImagePuller::run(const std::shared_ptr<Pull>& pull, const PullOrder& order, const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "docker-pull");
  Status end = follow_pull(
      engine_, order, [&](const std::string& text) { tell(pull, text); }, stop);
  if (!end.ok()) end = failed(order.image, end);
  const MutexLock lock(mutex_);
  pull->end = end;
  pulls_.erase(order.image.text());
  ended_.push_back(pull);
  changed_.notify_all();
}

Status ImagePuller::pull(const PullOrder& order, std::stop_token stop) {
  std::shared_ptr<Pull> pull;
  std::vector<std::shared_ptr<Pull>> ended;  // joined without the lock
  {
    const MutexLock lock(mutex_);
    if (is_stopped_) return unavailable("the driver is stopping");
    ended.swap(ended_);
    std::shared_ptr<Pull>& known = pulls_[order.image.text()];
    if (!known) {
      known = std::make_shared<Pull>();
      known->thread =
          std::jthread([this, pulling = known, order](std::stop_token ending) { run(pulling, order, ending); });
    }
    known->listeners.push_back(order.tell);
    pull = known;
  }
  order.tell("Downloading image");
  join(ended);
  MutexLock lock(mutex_);
  changed_.wait(lock, stop, [&]() DROVER_REQUIRES(mutex_) { return pull->end.has_value(); });
  if (pull->end) return *pull->end;
  return cancelled("the task was stopped while its image was pulled");
}

void ImagePuller::stop() {
  std::map<std::string, std::shared_ptr<Pull>> running;
  std::vector<std::shared_ptr<Pull>> ended;
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
    running = pulls_;
    ended.swap(ended_);
  }
  for (auto& [name, pull] : running) {
    pull->thread.request_stop();
    ended.push_back(pull);
  }
  join(ended);
  const MutexLock lock(mutex_);
  ended_.clear();  // the same as in `running`
}

}  // namespace drover::docker
