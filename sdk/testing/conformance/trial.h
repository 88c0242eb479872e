// The means to write a check: calls by name, tasks of the kinds that the setup knows, and the words for what failed.
//
// An error that a check returns is its failure. One thread; `async` calls run on threads of their own.
#pragma once

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "drover/conformance.h"
#include "drover/messages.h"
#include "drover/methods.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover {
namespace driver = hashicorp::nomad::plugins::drivers::proto;
}

namespace drover::conformance {

using namespace std::chrono_literals;
namespace base = hashicorp::nomad::plugins::base::proto;
using plugin_programs::Channel;
using plugin_programs::Messages;

inline constexpr auto kShort = 40ms;  // within which nothing may happen that must not

inline Status failure(std::string what) { return failed_precondition(std::move(what)); }
inline Status expect(bool holds, std::string what) { return holds ? ok_status() : failure(std::move(what)); }

std::string driver_method(std::string_view name);
std::string base_method(std::string_view name);

google::protobuf::Duration duration_of(std::chrono::nanoseconds time);

// Returns what a shell's command prints within the time, with one more variable in its environment. Errors: it
// failed, and what it said last.
Result<std::string> shell_output(const std::string& command, const std::string& variable, const std::string& value,
                                 std::chrono::nanoseconds within);

// Reads a file in HCL. Errors name file and line.
Result<hcl::Value> read_object(const std::string& file);

// That many calls at once; the first error.
Status all_at_once(int count, const std::function<Status(int)>& call);

// Removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }  // empty: it could not be made

 private:
  std::string path_;
};

// A FIFO with its reading end open.
class Pipe {
 public:
  explicit Pipe(std::string path);
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  const std::string& path() const { return path_; }
  // Reads on until the text has come; everything read since the last close. False at the deadline.
  bool read_until(std::string_view text, std::chrono::nanoseconds limit);
  const std::string& text() const { return text_; }
  void clear() { text_.clear(); }
  // True when anybody else writes to it or holds it open for that. Drops what came so far.
  bool has_writer();
  void close();   // the reader goes
  void reopen();  // and comes back

 private:
  const std::string path_;
  int fd_ = -1;
  std::string text_;
};

struct Task {
  std::string id;
  driver::TaskConfig config;
  driver::TaskHandle handle;
};

class Trial {
 public:
  Trial(Subject& subject, const Setup& setup, std::string folder);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  Subject& subject() { return subject_; }
  ProgramSubject& process() { return static_cast<ProgramSubject&>(subject_); }  // Requires: Check::program
  const Setup& setup() const { return setup_; }
  std::chrono::nanoseconds limit() const { return setup_.limit; }
  const std::string& folder() const { return folder_; }
  // The check cannot say anything about this plugin, and why: return it.
  Status inapplicable(std::string why) {
    inapplicable_ = std::move(why);
    return ok_status();
  }
  const std::string& why_inapplicable() const { return inapplicable_; }
  // Waits until it holds.
  bool eventually(const std::function<bool()>& holds);
  bool eventually(const std::function<bool()>& holds, std::chrono::nanoseconds limit);

  // ---- calls; `method` without its service is the driver's

  Result<std::string> raw(const std::string& method, std::string request, std::chrono::nanoseconds within,
                          std::stop_token stop = {});
  template <typename Answer, typename Request>
  Result<Answer> call(const std::string& method, const Request& request) {
    return call<Answer>(method, request, limit());
  }
  template <typename Answer, typename Request>
  Result<Answer> call(const std::string& method, const Request& request, std::chrono::nanoseconds within,
                      std::stop_token stop = {}) {
    DROVER_TRY(std::string bytes, raw(method, serialize(request), within, std::move(stop)));
    return parse_message<Answer>(bytes);
  }
  std::shared_ptr<Messages> open(const std::string& method, const google::protobuf::MessageLite& request);
  // The next message within the limit, as bytes; errors: it did not come, the stream ended.
  Result<std::string> next(const std::shared_ptr<Messages>& messages);
  template <typename Answer>
  Result<Answer> next(const std::shared_ptr<Messages>& messages) {
    DROVER_TRY(std::string bytes, next(messages));
    return parse_message<Answer>(bytes);
  }
  // True when the stream is still open after a moment; drops what comes meanwhile.
  bool stays_open(const std::shared_ptr<Messages>& messages);
  // A failure that says how it ended, if not. `what` is the stream, in the author's words.
  Status expect_open(const std::shared_ptr<Messages>& messages, const std::string& what = "it");
  // True when it ends within the limit.
  bool ends(const std::shared_ptr<Messages>& messages);

  Result<base::PluginInfoResponse> info();
  Status is_alive();  // answers PluginInfo
  // Configures a fresh instance as a host does.
  Status configure();
  Result<std::string> config_bytes();
  Result<driver::DriverCapabilities> capabilities();
  Result<driver::FingerprintResponse> fingerprint();
  Result<std::string> encode(const hcl::Value& config);

  Status start(const driver::TaskConfig& config, driver::TaskHandle* handle = nullptr);
  Result<driver::ExitResult> wait(const std::string& id);
  Result<driver::ExitResult> wait(const std::string& id, std::chrono::nanoseconds within, std::stop_token stop = {});
  Status stop(const std::string& id) { return stop(id, 2s, ""); }
  Status stop(const std::string& id, std::chrono::nanoseconds timeout, const std::string& signal);
  Status destroy(const std::string& id, bool force);
  Result<driver::TaskStatus> inspect(const std::string& id);
  Status signal(const std::string& id, const std::string& name);
  Status recover(const driver::TaskHandle& handle);
  // RecoverTask with the next instance: whether the task is found again. Errors: neither is said, or it is said to be
  // gone and still holds its standard output.
  Result<bool> found_again(const Task& task);
  std::shared_ptr<Messages> stats(const std::string& id, std::chrono::nanoseconds interval = 1s);
  Result<driver::ExecTaskResponse> exec(const std::string& id, std::vector<std::string> command,
                                        std::chrono::nanoseconds timeout = 10s);

  // ---- tasks

  std::string new_id();
  // The configuration as an agent would hand it over. Requires: the setup has the kind.
  Result<driver::TaskConfig> config(std::string_view kind);
  Result<Task> launch(std::string_view kind);
  // Started, ended by itself.
  Result<Task> ended();
  Status expect_running(const std::string& id, std::string_view when);
  Status expect_unknown(const Status& status, std::string_view call);
  // Started by the check itself: is destroyed with the trial.
  void keep(const driver::TaskHandle& handle) { kept_[handle.config().id()] = handle; }
  Pipe& out() { return *out_; }
  Pipe& err() { return *err_; }

  // The next instance, configured.
  Status replace();  // killed
  Status renew();    // ended in order
  // Ends whatever the trial started, as far as the plugin lets it.
  void clean();

 private:
  Status revive();
  Status lay_root();

  Subject& subject_;
  const Setup& setup_;
  const std::string folder_;
  std::string inapplicable_;
  bool has_root_ = false;  // or needs none
  std::map<std::string, driver::TaskHandle> kept_;
  std::unique_ptr<Pipe> out_, err_;
};

// Every kind of plugin must do the following, in its own groups. Bytes that are no message are an error of their call
// alone.
Status survives_garbage(Trial& t, const std::string& method);
inline constexpr Check kCrashIdle = {"crash.idle", "after a crash while nothing is called, the next instance serves",
                                     "keep no lock or file that stops a second start", Check::nothing,
                                     [](Trial& t) -> Status {
                                       DROVER_RETURN_IF_ERROR(t.replace());
                                       return t.is_alive();
                                     }};

std::span<const Check> handshake_checks();
std::span<const Check> device_checks();
std::span<const Check> check_provider_checks();
std::span<const Check> service_provider_checks();
std::span<const Check> auth_method_checks();
std::span<const Check> information_checks();
std::span<const Check> start_checks();
std::span<const Check> end_checks();
std::span<const Check> look_checks();
std::span<const Check> reach_checks();
std::span<const Check> recover_checks();
std::span<const Check> crash_checks();
std::span<const Check> output_checks();
std::span<const Check> load_checks();

// Check that the plugin's schemas take what the setup has for them: its own configuration, tasks, checks.
Status check_own_config(Trial& trial);
Status check_tasks(Trial& trial, const Setup& setup);
Status check_checks(Trial& trial, const Setup& setup);

}  // namespace drover::conformance
