#include "task/task_start.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "cores/shared_cores.h"
#include "create/container_body.h"
#include "create/parts.h"
#include "drover/log.h"
#include "drover/pause.h"
#include "images/image_store.h"
#include "nomad/plugins/driver.pb.h"
#include "task/containers.h"

namespace drover::docker {
namespace {

using namespace std::chrono_literals;

constexpr int kTries = 5;
constexpr auto kFirstPause = 200ms;  // fourfold after each try
constexpr auto kCleanTime = 10s;
constexpr size_t kLongestProfile = 1 << 20;

// Files of the driver in the task's folder, which the task itself does not see there.
Status write_file(const ContainerBody::File& file) {
  const std::string made = file.path + ".new";
  (void)::unlink(made.c_str());
  const int fd = ::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return errno_status(errno, "write " + file.path);
  const ssize_t size = ::write(fd, file.content.data(), file.content.size());
  ::close(fd);
  if (size != static_cast<ssize_t>(file.content.size()) || ::rename(made.c_str(), file.path.c_str()) != 0)
    return errno_status(errno, "write " + file.path);
  return ok_status();
}

// A link in the task's own folders must not lead a mount to what the operator does not let jobs mount.
Status check_own_path(const std::string& path, const std::string& root) {
  std::error_code error;
  const auto real_root = std::filesystem::canonical(root, error);
  if (error) return not_found("the allocation's folder " + root + ": " + error.message());
  const auto real = std::filesystem::weakly_canonical(path, error);
  if (error) return invalid_argument("cannot mount " + path + ": " + error.message());
  if (is_below(real, real_root)) return ok_status();
  return invalid_argument("volumes are not enabled; cannot mount host path: \"" + path + "\" is a link out of \"" +
                          root + "\"");
}

Result<std::map<std::string, std::string>> read_profiles(const ContainerOptions& options,
                                                         const driver::TaskConfig& task) {
  std::map<std::string, std::string> out;
  for (const auto& [written, path] : seccomp_files(options, task)) {
    std::ifstream file(path);
    if (!file) return invalid_argument("opening seccomp profile (" + written + ") failed: it cannot be read");
    std::string content(kLongestProfile, '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<size_t>(file.gcount()));
    out[written] = std::move(content);
  }
  return out;
}

class Start {
 public:
  Start(const StartParts& parts, const driver::TaskConfig& task, std::stop_token stop)
      : parts_(parts), task_(task), stop_(std::move(stop)) {}

  Result<Started> run() {
    DROVER_TRY(options_, read_container_options(task_.msgpack_driver_config()));
    if (is_of_processes(options_.work_dir))
      return invalid_argument("work_dir \"" + options_.work_dir + "\" leads out of the container");
    auto image = provide_image(parts_.engine, parts_.puller,
                               {.options = options_,
                                .plugin = parts_.plugin,
                                .local_folder = task_folder(task_) + "/local",
                                .tell = parts_.tell},
                               stop_);
    if (!image) return start_error(image.status(), {});
    image_ = *image;
    parts_.keeper.use(image_, task_.id());
    auto started = start();
    if (!started) parts_.keeper.release(image_, task_.id());
    return started;
  }

 private:
  Result<Started> start() {
    auto body = body_of();
    if (!body)
      return start_error(body.status(), "Failed to create container configuration for image \"" + options_.image +
                                            "\" (\"" + image_ + "\")");
    for (const ContainerBody::File& file : body->files) DROVER_RETURN_IF_ERROR(write_file(file));
    auto id = create(body->json);
    if (!id) {
      remove_unheard(id.status());
      return start_error(id.status(), "failed to create container");
    }
    auto container = run_created(*id);
    if (!container) {
      if (const Status removed = remove_container(parts_.engine, *id); !removed.ok())
        log::warn("docker", "a container that did not start could not be removed",
                  {{"container", *id}, {"error", removed.message()}});
      return start_error(container.status(), "Failed to start container " + *id);
    }
    const int64_t started_ns = container->started_ns > 0 ? container->started_ns : SystemClock().wall_ns();
    return Started{.handle = {.container = *id, .image = image_, .started_ns = started_ns, .port_map = body->port_map},
                   .container = *container,
                   .cores_file = cores_file(),
                   .advertises_ipv6 = options_.advertise_ipv6};
  }

  Result<ContainerBody> body_of() {
    DROVER_TRY(auto profiles, read_profiles(options_, task_));
    DROVER_TRY(ContainerBody body, container_body({.task = task_,
                                                   .options = options_,
                                                   .plugin = parts_.plugin,
                                                   .engine = parts_.facts,
                                                   .image = image_,
                                                   .cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)),
                                                   .shared_cores = read_shared_cores(cores_file()),
                                                   .seccomp_profiles = std::move(profiles)}));
    for (const std::string& path : body.own_paths) DROVER_RETURN_IF_ERROR(check_own_path(path, task_.alloc_dir()));
    return body;
  }

  std::string cores_file() const { return shared_cores_file(task_, options_, parts_.facts.cgroup_version); }

  // True when there shall be another try.
  bool pause(int tries) const { return tries + 1 < kTries && pause_for(kFirstPause * (1 << (2 * tries)), stop_); }

  Result<std::string> create(const std::string& body) {
    std::string name = container_name(task_);
    for (int tries = 0;; ++tries) {
      const auto answer =
          parts_.engine.call({.method = "POST", .target = "/containers/create" + query({{"name", name}}), .body = body},
                             Patience::of(Engine::kCallTime, stop_));
      if (answer) return read_text(*answer, "Id", "a new container");
      if (is_name_in_use(answer.status())) {
        DROVER_TRY(const bool is_freed, free_name(name));
        if (!is_freed) name = other_container_name(task_);
        if (tries < kTries) continue;
      }
      if (!is_transient(answer.status()) || !pause(tries)) return answer.status();
    }
  }

  // A create whose answer was not waited for may have made a container all the same.
  void remove_unheard(const Status& cause) {
    const bool is_unheard =
        cause.code() == Code::cancelled || cause.code() == Code::unavailable || cause.code() == Code::deadline_exceeded;
    if (!is_unheard) return;
    for (const std::string& name : {container_name(task_), other_container_name(task_)}) {
      const auto made = inspect_container(parts_.engine, name, Patience::of(kCleanTime));
      if (made && is_of_this_start(*made)) (void)remove_container(parts_.engine, made->id);
    }
  }

  static std::string label(const Container& container, const char* key) {
    const auto at = container.labels.find(key);
    return at == container.labels.end() ? std::string() : at->second;
  }
  bool is_of_this_start(const Container& container) const { return label(container, kTaskLabel) == task_.id(); }

  // Removes what an earlier life of this node left of this very task. False: it is somebody else's, and stays.
  Result<bool> free_name(const std::string& name) {
    const auto holder = inspect_container(parts_.engine, name, Patience::of(Engine::kCallTime, stop_));
    if (holder.status().code() == Code::not_found) return false;  // it is being made, or removed
    if (!holder) return holder.status();
    const bool is_left = !task_.node_id().empty() && label(*holder, kNodeLabel) == task_.node_id() &&
                         label(*holder, kAllocLabel) == task_.alloc_id() && !parts_.is_held(holder->id);
    if (!is_left && !is_of_this_start(*holder)) return false;
    log::info("docker", "a container that an earlier start left behind is removed",
              {{"container", holder->id}, {"name", name}});
    DROVER_RETURN_IF_ERROR(remove_container(parts_.engine, holder->id));
    return true;
  }

  Result<Container> run_created(const std::string& id) {
    for (int tries = 0;; ++tries) {
      if (stop_.stop_requested()) return cancelled("the task was stopped while it was started");
      const Status started = start_container(parts_.engine, id);
      if (started.ok()) break;
      if (!is_transient(started) || !pause(tries)) return started;
    }
    return inspect_container(parts_.engine, id, Patience::of(Engine::kCallTime, stop_));
  }

  const StartParts& parts_;
  const driver::TaskConfig& task_;
  const std::stop_token stop_;
  ContainerOptions options_;
  std::string image_;
};

}  // namespace

Status start_error(const Status& cause, const std::string& context) {
  const std::string text = context.empty() ? cause.message() : context + ": " + cause.message();
  const bool is_gone_image = text.find("No such image") != std::string::npos;
  const bool may_help = cause.code() == Code::unavailable || cause.code() == Code::internal ||
                        cause.code() == Code::deadline_exceeded || is_gone_image ||
                        text.find("volume is attached on another node") != std::string::npos;
  if (cause.code() == Code::invalid_argument || cause.code() == Code::cancelled ||
      cause.code() == Code::permission_denied)
    return {cause.code(), text};
  if (cause.code() == Code::failed_precondition && context.empty()) return {cause.code(), text};
  return {may_help ? Code::failed_precondition : Code::unknown, text};
}

Result<Started> start_container_of(const StartParts& parts, const driver::TaskConfig& task, std::stop_token stop) {
  return Start(parts, task, std::move(stop)).run();
}

}  // namespace drover::docker
