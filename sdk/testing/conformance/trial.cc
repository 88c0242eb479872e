#include "trial.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "drover/hcl.h"
#include "drover/hclspec.h"
#include "drover/task_driver.h"
#include "drover/uuid.h"
#include "sdk/testing/task_root.h"

namespace drover::conformance {
namespace {

constexpr const char* kAlloc = "5f1c7d2e-0000-4000-8000-000000000001";

SteadyTime after(std::chrono::nanoseconds time) { return std::chrono::steady_clock::now() + time; }

constexpr int64_t kMemoryMegabytes = 128;  // of a task; virtual machines take no less
constexpr size_t kMostInPipe = 1 << 20;
constexpr auto kDying = 2s;  // for a task that ends with its plugin

bool has_open(const std::filesystem::path& process, const std::string& path) {
  std::error_code ignored;  // it may end meanwhile
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator fd(process / "fd", ignored); fd != end; fd.increment(ignored)) {
    if (std::filesystem::read_symlink(fd->path(), ignored) == path) return true;
  }
  return false;
}

// The processes that have this file open, but this one, for people.
std::string holders_of(const std::string& path) {
  std::string out;
  std::error_code ignored;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator process("/proc", ignored); process != end; process.increment(ignored)) {
    const std::string pid = process->path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos || pid == std::to_string(::getpid())) continue;
    if (has_open(process->path(), path)) out += (out.empty() ? "" : ", ") + pid;
  }
  return out;
}

// A pause that nothing shortens, for looking again.
void pause(std::chrono::nanoseconds time) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  ::poll(nullptr, 0, static_cast<int>(ms));
}

}  // namespace

std::string driver_method(std::string_view name) {
  return "/hashicorp.nomad.plugins.drivers.proto.Driver/" + std::string(name);
}
std::string base_method(std::string_view name) {
  return "/hashicorp.nomad.plugins.base.proto.BasePlugin/" + std::string(name);
}

google::protobuf::Duration duration_of(std::chrono::nanoseconds time) {
  google::protobuf::Duration out;
  out.set_seconds(time / 1s);
  out.set_nanos(static_cast<int32_t>((time % 1s).count()));
  return out;
}

Result<std::string> shell_output(const std::string& command, const std::string& variable, const std::string& value,
                                 std::chrono::nanoseconds within) {
  const auto quoted = [](const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  };
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(within).count();
  const std::string line = "exec env " + variable + "=" + quoted(value) + " timeout " + std::to_string(seconds) +
                           " /bin/sh -c " + quoted(command) + " 2>&1";
  FILE* const out = ::popen(line.c_str(), "re");
  if (!out) return errno_status(errno, "run " + command);
  std::string text;
  char buffer[4096];
  for (size_t n = 1; n > 0;) {
    n = std::fread(buffer, 1, sizeof buffer, out);
    text.append(buffer, n);
  }
  if (::pclose(out) != 0) return failure("the command \"" + command + "\" failed: " + text.substr(0, 500));
  return text;
}

Result<hcl::Value> read_object(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return errno_status(errno, "open " + file);
  hcl::Diagnostics problems;
  const hcl::File parsed = hcl::parse(file, std::string(std::istreambuf_iterator<char>(in), {}), problems);
  const hcl::Node root =
      hcl::evaluate(parsed.body, {.variables = {}, .functions = hcl::standard_functions()}, problems);
  DROVER_RETURN_IF_ERROR(problems.status());
  return hcl::object_of(root);
}

Status all_at_once(int count, const std::function<Status(int)>& call) {
  std::vector<std::future<Status>> all;
  for (int i = 0; i < count; ++i) all.push_back(std::async(std::launch::async, [&call, i] { return call(i); }));
  Status first;
  for (auto& one : all) {
    const Status status = one.get();
    if (first.ok()) first = status;
  }
  return first;
}

TemporaryFolder::TemporaryFolder() {
  char name[] = "/tmp/drover-check-XXXXXX";
  if (!::mkdtemp(name)) return;
  (void)::chmod(name, 0755);  // tasks may run as another user
  path_ = name;
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

// ---- Pipe

Pipe::Pipe(std::string path) : path_(std::move(path)) {
  (void)::mkfifo(path_.c_str(), 0600);
  reopen();
}
Pipe::~Pipe() { close(); }

void Pipe::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  text_.clear();
}

// For writing too, so that the pipe never is at its end between two writers.
void Pipe::reopen() { fd_ = ::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC); }

bool Pipe::has_writer() {
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  close();  // after the other one is open: a writer is never without a reader
  ssize_t n = 1;
  char buffer[4096];
  // More than a pipe holds is from somebody who still writes.
  for (size_t all = 0; n > 0 && all <= kMostInPipe; all += static_cast<size_t>(n))
    n = ::read(reader, buffer, sizeof buffer);
  const bool is_held = n > 0 || (n < 0 && errno == EAGAIN);
  reopen();
  if (reader >= 0) ::close(reader);
  return is_held;
}

bool Pipe::read_until(std::string_view text, std::chrono::nanoseconds limit) {
  const SteadyTime deadline = after(limit);
  while (text_.find(text) == std::string::npos) {
    char buffer[4096];
    const ssize_t n = ::read(fd_, buffer, sizeof buffer);
    if (n > 0) {
      text_.append(buffer, static_cast<size_t>(n));
      continue;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= 0ms) return false;
    pollfd event{.fd = fd_, .events = POLLIN, .revents = 0};
    (void)::poll(&event, 1, static_cast<int>(left.count()));
  }
  return true;
}

// ---- Trial

Trial::Trial(Subject& subject, const Setup& setup, std::string folder)
    : subject_(subject), setup_(setup), folder_(std::move(folder)) {
  for (const char* each : {"/alloc/alloc/logs", "/alloc/web/local", "/alloc/web/secrets", "/alloc/web/tmp"})
    std::filesystem::create_directories(folder_ + each);
  out_ = std::make_unique<Pipe>(folder_ + "/alloc/alloc/logs/.web.stdout.fifo");
  err_ = std::make_unique<Pipe>(folder_ + "/alloc/alloc/logs/.web.stderr.fifo");
}

Trial::~Trial() { clean(); }

bool Trial::eventually(const std::function<bool()>& holds) { return eventually(holds, limit()); }
bool Trial::eventually(const std::function<bool()>& holds, std::chrono::nanoseconds limit) {
  const SteadyTime deadline = after(limit);
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    pause(2ms);
  }
  return true;
}

Result<std::string> Trial::raw(const std::string& method, std::string request, std::chrono::nanoseconds within,
                               std::stop_token stop) {
  const std::string name = method.starts_with('/') ? method : driver_method(method);
  auto answer = subject_.channel().call(name, std::move(request), after(within), std::move(stop));
  if (answer.ok() || answer.status().code() != Code::deadline_exceeded) return answer;
  return deadline_exceeded(name.substr(name.rfind('/') + 1) + " did not answer in time");
}

std::shared_ptr<Messages> Trial::open(const std::string& method, const google::protobuf::MessageLite& request) {
  return subject_.channel().open(method.starts_with('/') ? method : driver_method(method), serialize(request));
}

Result<std::string> Trial::next(const std::shared_ptr<Messages>& messages) {
  auto waiting = std::async(std::launch::async, [messages] { return messages->next(); });
  const bool is_late = waiting.wait_for(limit()) != std::future_status::ready;
  if (is_late) messages->cancel();
  auto message = waiting.get();
  if (message) return *std::move(message);
  if (is_late) return deadline_exceeded("the stream has brought no message in time");
  const Status status = messages->status();
  return status.ok() ? failure("the stream has ended") : status.with_context("the stream has ended");
}

bool Trial::stays_open(const std::shared_ptr<Messages>& messages) {
  const SteadyTime deadline = after(kShort);
  while (std::chrono::steady_clock::now() < deadline) {
    auto waiting = std::async(std::launch::async, [messages] { return messages->next(); });
    if (waiting.wait_until(deadline) != std::future_status::ready) {
      messages->cancel();
      (void)waiting.get();
      return true;
    }
    if (!waiting.get()) return false;
  }
  return true;
}

Status Trial::expect_open(const std::shared_ptr<Messages>& messages, const std::string& what) {
  if (stays_open(messages)) return ok_status();
  return failure(what + " ended: " + messages->status().to_string());
}

bool Trial::ends(const std::shared_ptr<Messages>& messages) {
  auto reading = std::async(std::launch::async, [messages] {
    while (messages->next()) {
    }
  });
  const bool is_over = reading.wait_for(limit()) == std::future_status::ready;
  if (!is_over) messages->cancel();
  reading.get();
  return is_over;
}

Result<base::PluginInfoResponse> Trial::info() {
  return call<base::PluginInfoResponse>(base_method("PluginInfo"), base::PluginInfoRequest());
}

Status Trial::is_alive() { return info().status().with_context("the plugin should still answer, but"); }

Result<std::string> Trial::config_bytes() {
  DROVER_TRY(auto schema, call<base::ConfigSchemaResponse>(base_method("ConfigSchema"), base::ConfigSchemaRequest()));
  if (!schema.has_spec()) return std::string();
  DROVER_RETURN_IF_ERROR(hclspec::check(schema.spec()).with_context("the schema of the plugin's configuration"));
  const std::string& file = setup_.config_place;
  DROVER_TRY(auto config, hclspec::decode(schema.spec(), setup_.config.value_or(hcl::Value(hcl::Object())))
                              .with_context(file.empty() ? "the plugin's configuration (-config)"
                                                         : file + ": the plugin's configuration"));
  return hclspec::to_msgpack(config);
}

Status Trial::configure() {
  base::SetConfigRequest request;
  request.set_plugin_api_version("v0.1.0");
  request.mutable_nomad_config()->mutable_driver()->set_clientminport(20000);
  request.mutable_nomad_config()->mutable_driver()->set_clientmaxport(32000);
  DROVER_TRY(*request.mutable_msgpack_config(), config_bytes());
  return call<base::SetConfigResponse>(base_method("SetConfig"), request).status().with_context("SetConfig");
}

Result<driver::DriverCapabilities> Trial::capabilities() {
  DROVER_TRY(auto answer, call<driver::CapabilitiesResponse>("Capabilities", driver::CapabilitiesRequest()));
  return std::move(*answer.mutable_capabilities());
}

Result<driver::FingerprintResponse> Trial::fingerprint() {
  return next<driver::FingerprintResponse>(open("Fingerprint", driver::FingerprintRequest()));
}

Result<std::string> Trial::encode(const hcl::Value& config) {
  DROVER_TRY(auto schema,
             call<driver::TaskConfigSchemaResponse>("TaskConfigSchema", driver::TaskConfigSchemaRequest()));
  if (!schema.has_spec()) return hclspec::to_msgpack(config);
  DROVER_RETURN_IF_ERROR(hclspec::check(schema.spec()).with_context("the schema of tasks"));
  DROVER_TRY(auto decoded, hclspec::decode(schema.spec(), config).with_context("the task's config"));
  return hclspec::to_msgpack(decoded);
}

Status Trial::start(const driver::TaskConfig& config, driver::TaskHandle* handle) {
  driver::StartTaskRequest request;
  *request.mutable_task() = config;
  DROVER_TRY(auto started, call<driver::StartTaskResponse>("StartTask", request));
  if (started.result() != driver::StartTaskResponse::SUCCESS)
    return failure("StartTask says no: " + started.driver_error_msg());
  driver::TaskHandle kept = started.handle();
  if (kept.config().id().empty()) *kept.mutable_config() = config;
  keep(kept);
  if (handle) *handle = started.handle();
  return ok_status();
}

Result<driver::ExitResult> Trial::wait(const std::string& id) { return wait(id, limit()); }
Result<driver::ExitResult> Trial::wait(const std::string& id, std::chrono::nanoseconds within, std::stop_token stop) {
  driver::WaitTaskRequest request;
  request.set_task_id(id);
  DROVER_TRY(auto answer, call<driver::WaitTaskResponse>("WaitTask", request, within, std::move(stop)));
  if (!answer.err().empty()) return Status(Code::unknown, "WaitTask says: " + answer.err());
  return answer.result();
}

Status Trial::stop(const std::string& id, std::chrono::nanoseconds timeout, const std::string& signal) {
  driver::StopTaskRequest request;
  request.set_task_id(id);
  *request.mutable_timeout() = duration_of(timeout);
  request.set_signal(signal);
  return call<driver::StopTaskResponse>("StopTask", request).status();
}

Status Trial::destroy(const std::string& id, bool force) {
  driver::DestroyTaskRequest request;
  request.set_task_id(id);
  request.set_force(force);
  const Status status = call<driver::DestroyTaskResponse>("DestroyTask", request).status();
  if (status.ok()) kept_.erase(id);
  return status;
}

Result<driver::TaskStatus> Trial::inspect(const std::string& id) {
  driver::InspectTaskRequest request;
  request.set_task_id(id);
  DROVER_TRY(auto answer, call<driver::InspectTaskResponse>("InspectTask", request));
  return std::move(*answer.mutable_task());
}

Status Trial::signal(const std::string& id, const std::string& name) {
  driver::SignalTaskRequest request;
  request.set_task_id(id);
  request.set_signal(name);
  return call<driver::SignalTaskResponse>("SignalTask", request).status();
}

Status Trial::recover(const driver::TaskHandle& handle) {
  driver::RecoverTaskRequest request;
  request.set_task_id(handle.config().id());
  *request.mutable_handle() = handle;
  return call<driver::RecoverTaskResponse>("RecoverTask", request).status();
}

Result<bool> Trial::found_again(const Task& task) {
  const Status recovered = recover(task.handle);
  if (recovered.ok()) return true;
  if (recovered.code() != Code::not_found)
    return recovered.with_context("RecoverTask should find the task or say that it is not found, but");
  if (eventually([&] { return !out_->has_writer() && !err_->has_writer(); }, kDying)) return false;
  std::string holders = holders_of(out_->path());
  if (holders.empty()) holders = holders_of(err_->path());
  return failure("RecoverTask says not found, and the task still runs" +
                 (holders.empty() ? "" : " (process " + holders + ")"));
}

std::shared_ptr<Messages> Trial::stats(const std::string& id, std::chrono::nanoseconds interval) {
  driver::TaskStatsRequest request;
  request.set_task_id(id);
  *request.mutable_collection_interval() = duration_of(interval);
  return open("TaskStats", request);
}

Result<driver::ExecTaskResponse> Trial::exec(const std::string& id, std::vector<std::string> command,
                                             std::chrono::nanoseconds timeout) {
  driver::ExecTaskRequest request;
  request.set_task_id(id);
  for (std::string& word : command) request.add_command(std::move(word));
  *request.mutable_timeout() = duration_of(timeout);
  return call<driver::ExecTaskResponse>("ExecTask", request);
}

// ---- tasks

std::string Trial::new_id() { return std::string(kAlloc) + "/web/" + Uuid::random().to_string().substr(0, 8); }

// Lays what a host lays into the folder of a task that is locked in there.
Status Trial::lay_root() {
  if (std::exchange(has_root_, true)) return ok_status();
  const auto can = capabilities();
  if (!can.ok() || can->fs_isolation() != driver::DriverCapabilities::CHROOT) return ok_status();
  const std::string root = folder_ + "/alloc/web";
  for (const std::string& program : setup_.programs) DROVER_RETURN_IF_ERROR(lay_in_root(root, program));
  return make_task_root(root, {"sh", "sleep", "cat", "true"});
}

Result<driver::TaskConfig> Trial::config(std::string_view kind) {
  const auto spec = setup_.tasks.find(kind);
  if (spec == setup_.tasks.end()) return failure("there is no task \"" + std::string(kind) + "\" to run");
  DROVER_RETURN_IF_ERROR(lay_root());
  driver::TaskConfig config;
  config.set_id(new_id());
  config.set_name("web");
  config.set_alloc_id(kAlloc);
  config.set_job_name("conformance");
  config.set_job_id("conformance");
  config.set_task_group_name("group");
  config.set_namespace_("default");
  config.set_node_name("conformance");
  config.set_alloc_dir(folder_ + "/alloc");
  config.set_stdout_path(out_->path());
  config.set_stderr_path(err_->path());
  auto& env = *config.mutable_env();
  env["NOMAD_TASK_NAME"] = "web";
  env["NOMAD_ALLOC_DIR"] = folder_ + "/alloc/alloc";
  env["NOMAD_TASK_DIR"] = folder_ + "/alloc/web/local";
  env["NOMAD_SECRETS_DIR"] = folder_ + "/alloc/web/secrets";
  env["PATH"] = "/usr/local/bin:/usr/bin:/bin";
  auto& resources = *config.mutable_resources();
  resources.mutable_allocated_resources()->mutable_cpu()->set_cpu_shares(100);
  resources.mutable_allocated_resources()->mutable_memory()->set_memory_mb(kMemoryMegabytes);
  resources.mutable_linux_resources()->set_cpu_shares(100);
  resources.mutable_linux_resources()->set_memory_limit_bytes(kMemoryMegabytes << 20);
  DROVER_TRY(*config.mutable_msgpack_driver_config(), encode(spec->second.config));
  return config;
}

Result<Task> Trial::launch(std::string_view kind) {
  Task task;
  DROVER_TRY(task.config, config(kind));
  task.id = task.config.id();
  DROVER_RETURN_IF_ERROR(start(task.config, &task.handle).with_context("StartTask"));
  return task;
}

Result<Task> Trial::ended() {
  DROVER_TRY(Task task, launch("ending"));
  DROVER_RETURN_IF_ERROR(wait(task.id).status().with_context("WaitTask"));
  return task;
}

Status Trial::expect_running(const std::string& id, std::string_view when) {
  auto task = inspect(id);
  DROVER_RETURN_IF_ERROR(task.status().with_context("InspectTask " + std::string(when)));
  return expect(task->state() == driver::RUNNING,
                "the task should run " + std::string(when) + ", but InspectTask says " + TaskState_Name(task->state()));
}

Status Trial::expect_unknown(const Status& status, std::string_view call) {
  if (status.ok()) return failure(std::string(call) + " should not know the task, but succeeded");
  return expect(status.code() == Code::not_found, std::string(call) + " should say \"" + std::string(kTaskNotFound) +
                                                      "\", but says: " + status.message());
}

Status Trial::revive() {
  DROVER_RETURN_IF_ERROR(subject_.start().with_context("the next instance of the plugin"));
  return configure();
}

Status Trial::replace() {
  subject_.kill();
  return revive();
}

Status Trial::renew() {
  DROVER_RETURN_IF_ERROR(subject_.end().with_context("the orderly end"));
  return revive();
}

void Trial::clean() {
  if (kept_.empty()) return;
  if (!is_alive().ok()) {
    subject_.kill();
    if (!subject_.start().ok() || !configure().ok()) return;
  }
  const auto kept = kept_;
  for (const auto& [id, handle] : kept) {
    if (inspect(id).status().code() == Code::not_found) (void)recover(handle);
    (void)destroy(id, true);
  }
  kept_.clear();
}

Status survives_garbage(Trial& t, const std::string& method) {
  const Status status = t.raw(method, "\xff\xff\xff garbage", t.limit()).status();
  if (status.ok()) return failure(method.substr(method.rfind('/') + 1) + " succeeds");
  if (status.code() == Code::unavailable || status.code() == Code::deadline_exceeded) return status;
  return t.is_alive();
}

}  // namespace drover::conformance
