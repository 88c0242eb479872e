#include "cores/shared_cores.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "drover/log.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::docker {

std::string shared_cores_file(const driver::TaskConfig& task, const ContainerOptions& options, int cgroup_version) {
  const driver::LinuxResources& given = task.resources().linux_resources();
  const std::string& group = given.cpuset_cgroup();
  if (group.empty() || !given.cpuset_cpus().empty() || !options.cpuset_cpus.empty()) return {};
  // With version 2 the task was to have a group of its own below the shared one.
  return (cgroup_version == 1 ? group : group.substr(0, group.rfind('/'))) + "/cpuset.cpus";
}

std::string read_shared_cores(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

Status SharedCores::start() {
  if (thread_.joinable()) return ok_status();
  watch_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (watch_ < 0 || wake_ < 0) return errno_status(errno, "watch the shared cores");
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  return ok_status();
}

void SharedCores::follow(const std::string& container, const std::string& file, const std::string& cores) {
  if (file.empty()) return;
  const MutexLock lock(mutex_);
  Status status = start();
  if (status.ok() && ::inotify_add_watch(watch_, file.c_str(), IN_MODIFY) < 0)
    status = errno_status(errno, "watch " + file);
  if (!status.ok()) {
    log::warn("docker", "a container does not follow the shared cores",
              {{"container", container}, {"error", status.message()}});
    return;
  }
  containers_[container] = {.file = file, .cores = cores};
  (void)::eventfd_write(wake_, 1);  // they may have changed before the watch was there
}

void SharedCores::forget(const std::string& container) {
  const MutexLock lock(mutex_);
  containers_.erase(container);
}

void SharedCores::stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    (void)::eventfd_write(wake_, 1);
    thread_.join();
  }
  for (int* fd : {&watch_, &wake_}) {
    if (*fd >= 0) ::close(std::exchange(*fd, -1));
  }
}

void SharedCores::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "docker-cores");
  std::array<pollfd, 2> both = {pollfd{.fd = watch_, .events = POLLIN, .revents = 0},
                                pollfd{.fd = wake_, .events = POLLIN, .revents = 0}};
  while (!stop.stop_requested()) {
    (void)::poll(both.data(), both.size(), -1);
    std::array<char, 4096> ignored{};
    for (const pollfd& each : both) {
      while (::read(each.fd, ignored.data(), ignored.size()) > 0) continue;
    }
    if (!stop.stop_requested()) bring_up_to_date();
  }
}

void SharedCores::bring_up_to_date() {
  std::map<std::string, Container> moved;
  {
    const MutexLock lock(mutex_);
    for (auto& [id, container] : containers_) {
      std::string cores = read_shared_cores(container.file);
      if (cores.empty() || cores == container.cores) continue;
      container.cores = std::move(cores);
      moved[id] = container;
    }
  }
  for (const auto& [id, container] : moved) {
    const auto answer = engine_.call({.method = "POST",
                                      .target = "/containers/" + percent_encode(id) + "/update",
                                      .body = nlohmann::json{{"CpusetCpus", container.cores}}.dump()});
    if (answer || answer.status().code() == Code::failed_precondition) continue;  // done, or it has ended
    const MutexLock lock(mutex_);
    if (std::exchange(is_told_, true)) continue;
    log::warn("docker", "containers stay on cores that tasks have reserved",
              {{"container", id}, {"error", answer.status().message()}});
  }
}

}  // namespace drover::docker
