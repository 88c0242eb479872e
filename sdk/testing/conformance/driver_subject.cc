#include "driver_subject.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>

#include "../../serve/device_service.h"
#include "../../serve/driver_service.h"
#include "../../serve/workers.h"
#include "drover/methods.h"
#include "drover/task_driver.h"
#include "nomad/plugins/base.pb.h"

namespace drover::conformance {
namespace {

// What the caller and the handler of one call share.
class LocalCall final : public serve::Call {
 public:
  explicit LocalCall(std::string request) : request_(std::move(request)) {}

  // The handler's side.
  const std::string& request() const override { return request_; }
  std::stop_token stop() const override { return stop_.get_token(); }
  bool send(std::string message) override {
    const std::lock_guard lock(mutex_);
    if (stop_.stop_requested() || status_) return false;
    newest_ = message;
    queue_.push_back(std::move(message));
    changed_.notify_all();
    return true;
  }

  // The caller's.
  void finish(Status status) {
    {
      const std::lock_guard lock(mutex_);
      if (!status_) status_ = external::translate(std::move(status));
      changed_.notify_all();
    }
    stop_.request_stop();
  }
  bool wait_end(SteadyTime deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this] { return status_.has_value(); });
  }
  std::optional<std::string> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !queue_.empty() || status_; });
    if (queue_.empty()) return {};
    std::string message = std::move(queue_.front());
    queue_.pop_front();
    return message;
  }
  std::optional<std::string> newest(SteadyTime deadline) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [this] { return newest_ || status_; });
    return status_ ? std::nullopt : newest_;
  }
  Status status() const {
    const std::lock_guard lock(mutex_);
    return status_.value_or(Status());
  }

 private:
  const std::string request_;
  std::stop_source stop_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> queue_;  // guarded by mutex_, like the following
  std::optional<std::string> newest_;
  std::optional<Status> status_;
};

class LocalMessages final : public external::Messages {
 public:
  explicit LocalMessages(std::shared_ptr<LocalCall> call) : call_(std::move(call)) {}
  ~LocalMessages() override { cancel(); }
  std::optional<std::string> next() override { return call_->next(); }
  std::optional<std::string> newest(SteadyTime deadline) override { return call_->newest(deadline); }
  Status status() const override { return call_->status(); }
  void cancel() override { call_->finish(cancelled("the caller has cancelled the call")); }

 private:
  const std::shared_ptr<LocalCall> call_;
};

class LocalChannel final : public external::Channel {
 public:
  explicit LocalChannel(std::unique_ptr<Instance> instance) : instance_(std::move(instance)) {}

  Result<std::string> call(const std::string& method, std::string request, std::optional<SteadyTime> deadline,
                           std::stop_token stop) override {
    const auto call = begin(method, std::move(request));
    {
      const std::stop_callback cancel(std::move(stop), [&] { call->finish(cancelled("the caller has gone")); });
      if (!call->wait_end(deadline.value_or(SteadyTime::max()))) call->finish(deadline_exceeded("deadline exceeded"));
    }
    DROVER_RETURN_IF_ERROR(call->status());
    auto answer = call->next();
    if (!answer) return internal_error("the call has ended without an answer");
    return *std::move(answer);
  }
  std::shared_ptr<external::Messages> open(const std::string& method, std::string request,
                                           external::Messages::Keep) override {
    return std::make_shared<LocalMessages>(begin(method, std::move(request)));
  }
  // A handler sees the first request only.
  std::shared_ptr<external::Messages> converse(const std::string& method, std::vector<std::string> requests) override {
    return std::make_shared<LocalMessages>(begin(method, std::move(requests.front())));
  }

  // The instance goes; whoever calls learns it.
  void cut() {
    if (is_cut_.exchange(true)) return;
    instance_->stop();
    {
      const std::lock_guard lock(mutex_);
      for (const auto& weak : calls_) {
        if (const auto call = weak.lock()) call->finish(gone());
      }
      calls_.clear();
    }
    workers_.reset();  // joins
    instance_.reset();
  }

 private:
  std::shared_ptr<LocalCall> begin(const std::string& method, std::string request) {
    auto call = std::make_shared<LocalCall>(std::move(request));
    const std::lock_guard lock(mutex_);
    if (is_cut_) {
      call->finish(gone());
      return call;
    }
    const auto found = instance_->methods().find(method);
    if (found == instance_->methods().end()) {
      call->finish(unimplemented("the plugin has no such method"));
      return call;
    }
    calls_.remove_if([](const auto& weak) { return weak.expired(); });
    calls_.push_back(call);
    const bool is_posted = workers_->post([this, call, &handler = found->second] {
      Status status = handler(*call);
      call->finish(is_cut_ ? gone() : std::move(status));
    });
    if (!is_posted) call->finish(resource_exhausted("the plugin has too many calls at once"));
    return call;
  }

  static Status gone() { return unavailable("the plugin has gone"); }

  std::unique_ptr<Instance> instance_;
  std::unique_ptr<serve::Workers> workers_ = std::make_unique<serve::Workers>(serve::kMaxCalls);
  std::mutex mutex_;
  std::atomic<bool> is_cut_ = false;
  std::list<std::weak_ptr<LocalCall>> calls_;  // guarded by mutex_
};

class InProcess final : public Subject {
 public:
  explicit InProcess(std::function<std::unique_ptr<Instance>()> make) : make_(std::move(make)) { (void)start(); }
  ~InProcess() override { kill(); }
  external::Channel& channel() override { return *channel_; }
  void kill() override { channel_->cut(); }
  Status end() override {
    kill();
    return ok_status();
  }
  Status start() override {
    channel_ = std::make_unique<LocalChannel>(make_());
    return ok_status();
  }
  std::string epitaph() const override { return {}; }

 private:
  const std::function<std::unique_ptr<Instance>()> make_;
  std::unique_ptr<LocalChannel> channel_;
};

class DriverInstance final : public Instance {
 public:
  explicit DriverInstance(std::unique_ptr<TaskDriver> driver)
      : driver_(std::move(driver)),
        methods_(serve::driver_methods(
            {.driver = *driver_, .name = "driver", .own_name = "driver", .version = "0.1.0", .end = [] {}})) {
    leave_configured(methods_);
  }
  const serve::Methods& methods() const override { return methods_; }
  void stop() override { driver_->stop(); }

 private:
  const std::unique_ptr<TaskDriver> driver_;
  serve::Methods methods_;
};

class DeviceInstance final : public Instance {
 public:
  explicit DeviceInstance(std::unique_ptr<DevicePlugin> plugin)
      : plugin_(std::move(plugin)),
        methods_(serve::device_methods({.plugin = *plugin_, .name = "device", .version = "0.1.0", .end = [] {}})) {}
  const serve::Methods& methods() const override { return methods_; }
  void stop() override { plugin_->stop(); }

 private:
  const std::unique_ptr<DevicePlugin> plugin_;
  const serve::Methods methods_;
};

}  // namespace

void leave_configured(serve::Methods& methods) {
  namespace base = hashicorp::nomad::plugins::base::proto;
  const std::string service = "/hashicorp.nomad.plugins.base.proto.BasePlugin/";
  methods[service + "ConfigSchema"] = [](serve::Call& call) {
    (void)call.send("");
    return ok_status();
  };
  methods[service + "SetConfig"] = [](serve::Call& call) -> Status {
    DROVER_RETURN_IF_ERROR(parse_message<base::SetConfigRequest>(call.request()).status());
    (void)call.send("");
    return ok_status();
  };
}

SubjectFactory instance_subject(std::function<std::unique_ptr<Instance>()> make) {
  return [make = std::move(make)]() -> Result<std::unique_ptr<Subject>> {
    return std::unique_ptr<Subject>(std::make_unique<InProcess>(make));
  };
}

SubjectFactory driver_subject(std::function<std::unique_ptr<TaskDriver>()> make) {
  return instance_subject([make = std::move(make)] { return std::make_unique<DriverInstance>(make()); });
}

SubjectFactory device_subject(std::function<std::unique_ptr<DevicePlugin>()> make) {
  return instance_subject([make = std::move(make)] { return std::make_unique<DeviceInstance>(make()); });
}

}  // namespace drover::conformance
