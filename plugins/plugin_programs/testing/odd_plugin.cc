// A plugin that misbehaves as its first argument says; the second is a folder where it may remember things, the third
// and the fourth are its name and version. Its driver starts every task and knows none.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "drover/serve.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::plugin_programs {
namespace {

std::string mode, folder;

// True for the first process that asks.
bool is_first_time() { return ::open((folder + "/been-here").c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0; }

void say(int fd, std::string_view text) { (void)!::write(fd, text.data(), text.size()); }

class OddDriver final : public TaskDriver {
 public:
  OddDriver() {
    if (mode == "flood")
      flood_ = std::thread([] {
        for (int i = 0; i < 200'000; ++i)
          say(STDERR_FILENO, "a line of no use to anybody, and many more of its kind\n");
      });
  }
  ~OddDriver() override {
    if (flood_.joinable()) flood_.join();
  }
  driver::DriverCapabilities capabilities() const override { return {}; }
  driver::FingerprintResponse fingerprint() override {
    driver::FingerprintResponse print;
    print.set_health(mode == "unwell" ? driver::FingerprintResponse::UNHEALTHY : driver::FingerprintResponse::HEALTHY);
    if (mode == "unwell") print.set_health_description("there is no hardware");
    return print;
  }
  Result<std::string> encode_config(std::string_view) override { return std::string(); }
  Result<driver::StartTaskResponse> start_task(const driver::TaskConfig& config) override {
    if (mode == "dies-in-every-start" || (mode == "dies-in-first-start" && is_first_time())) ::raise(SIGKILL);
    if (mode == "says-no-text") return Status(Code::unknown, "the image \xff\xfe is not there");
    if (mode == "leaves-a-flood" && is_first_time()) {
      if (::fork() == 0) {
        while (::write(STDERR_FILENO, "stayed behind\n", 14) > 0) {
        }
        ::_exit(0);
      }
      ::raise(SIGKILL);
    }
    if (mode == "loses-descriptors") {
      int last = -1;
      for (int fd = 0; fd >= 0; fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) last = fd;
      for (int left = 0; left < 3; ++left) ::close(last - left);  // a sanitizer ends a process that has none
    }
    driver::StartTaskResponse started;
    *started.mutable_handle()->mutable_config() = config;
    return started;
  }
  Status recover_task(const driver::TaskHandle&) override {
    if (mode == "forgets-and-dies") ::raise(SIGKILL);
    if (mode == "finds-all") return ok_status();
    return not_found("it was never written down");
  }
  // "tells-exit-once": only to callers that ask before the task is stopped.
  Result<driver::ExitResult> wait_task(std::string_view, std::stop_token stop) override {
    if (mode != "tells-exit-once") return unknown();
    std::unique_lock lock(mutex_);
    if (has_ended_) return unavailable("what watched the task has gone");
    is_asked_ = true;
    changed_.notify_all();
    if (!changed_.wait(lock, stop, [this] { return has_ended_; })) return cancelled("nobody waits any more");
    driver::ExitResult exit;
    exit.set_exit_code(130);
    return exit;
  }
  Status stop_task(std::string_view, std::chrono::nanoseconds, std::string_view) override {
    if (mode != "tells-exit-once") return unknown();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [this] { return is_asked_; });  // a task does not end at once
    has_ended_ = true;
    changed_.notify_all();
    return ok_status();
  }
  Status destroy_task(std::string_view, bool) override { return unknown(); }
  Result<driver::InspectTaskResponse> inspect_task(std::string_view) override { return unknown(); }
  Result<driver::TaskStats> task_stats(std::string_view) override { return unknown(); }
  Status signal_task(std::string_view, std::string_view) override { return Status(Code::unavailable, "not today"); }
  void stop() override {
    if (mode == "ignores-shutdown") ::pause();
  }

 private:
  static Status unknown() { return not_found(std::string(kTaskNotFound)); }
  std::thread flood_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool is_asked_ = false;   // guarded by mutex_
  bool has_ended_ = false;  // guarded by mutex_
};

// A good handshake, and then whatever comes to its mind.
int speak_garbage() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder + "/garbage";
  std::memcpy(address.sun_path, path.data(), path.size());
  (void)::unlink(path.c_str());
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 || ::listen(listener, 8) != 0)
    return 4;
  say(STDOUT_FILENO, "1|2|unix|" + path + "|grpc|\n");
  for (int caller = -1; (caller = ::accept(listener, nullptr, nullptr)) >= 0;) {
    say(caller, "\xff\xfe is this what you wanted? \x01\x02");
    ::close(caller);
  }
  return 5;
}

}  // namespace
}  // namespace drover::plugin_programs

int main(int argc, char** argv) {
  using namespace drover::plugin_programs;
  mode = argc > 1 ? argv[1] : "";
  folder = argc > 2 ? argv[2] : "";
  if (mode == "noise") say(STDOUT_FILENO, "hello, I am a plugin\n");
  if (mode == "exits") {
    say(STDERR_FILENO, "there is no licence\n");
    return 3;
  }
  if (mode == "hangs") ::pause();
  if (mode == "garbage") return speak_garbage();
  if (mode == "other-version") {
    say(STDOUT_FILENO, "1|3|unix|/nowhere|grpc|\n");
    ::pause();
  }
  const bool is_renamed = mode == "other-name" && !is_first_time();
  return drover::serve_plugin(drover::Served<drover::TaskDriver>{.name = argc > 3     ? argv[3]
                                                                         : is_renamed ? "second"
                                                                                      : "first",
                                                                 .version = argc > 4 ? argv[4] : "1.0.0",
                                                                 .make = []() -> std::unique_ptr<drover::TaskDriver> {
                                                                   return std::make_unique<OddDriver>();
                                                                 }},
                              {argv, 1}, STDOUT_FILENO);
}
