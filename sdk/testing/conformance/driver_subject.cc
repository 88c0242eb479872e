#include "driver_subject.h"

#include "../../serve/endpoint.h"
#include "../../serve/kind_methods.h"
#include "drover/auth_method.h"
#include "drover/check_provider.h"
#include "drover/device_plugin.h"
#include "drover/external/resident.h"
#include "drover/methods.h"
#include "drover/service_provider.h"
#include "drover/task_driver.h"
#include "nomad/plugins/base.pb.h"

namespace drover::conformance {
namespace {

class InProcess final : public Subject {
 public:
  explicit InProcess(std::function<std::unique_ptr<Instance>()> make) : make_(std::move(make)) { (void)start(); }
  ~InProcess() override { kill(); }
  external::Channel& channel() override { return *channel_; }
  void kill() override {
    channel_->cut();
    if (instance_) instance_->stop();
    channel_->release();
    instance_.reset();
  }
  Status end() override {
    kill();
    return ok_status();
  }
  Status start() override {
    instance_ = make_();
    channel_ = external::connect(serve::make_endpoint(instance_->methods()));
    return ok_status();
  }
  std::string epitaph() const override { return {}; }

 private:
  const std::function<std::unique_ptr<Instance>()> make_;
  std::unique_ptr<Instance> instance_;
  std::unique_ptr<external::ResidentChannel> channel_;
};

template <typename Kind>
class ObjectInstance final : public Instance {
 public:
  explicit ObjectInstance(std::unique_ptr<Kind> plugin)
      : plugin_(std::move(plugin)),
        methods_(
            serve::methods_of(*plugin_, {.name = kNoName, .own_name = kNoName, .version = "0.1.0", .end = [] {}})) {
    if (!std::is_base_of_v<Configurable, Kind>) leave_configured(methods_);
  }
  const serve::Methods& methods() const override { return methods_; }
  void stop() override { plugin_->stop(); }

 private:
  const std::unique_ptr<Kind> plugin_;
  serve::Methods methods_;
};

template <typename Kind>
SubjectFactory object_subject(std::function<std::unique_ptr<Kind>()> make) {
  return instance_subject([make = std::move(make)] { return std::make_unique<ObjectInstance<Kind>>(make()); });
}

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
  return object_subject(std::move(make));
}
SubjectFactory device_subject(std::function<std::unique_ptr<DevicePlugin>()> make) {
  return object_subject(std::move(make));
}
SubjectFactory check_subject(std::function<std::unique_ptr<CheckProvider>()> make) {
  return object_subject(std::move(make));
}
SubjectFactory service_subject(std::function<std::unique_ptr<ServiceProvider>()> make) {
  return object_subject(std::move(make));
}
SubjectFactory auth_subject(std::function<std::unique_ptr<AuthMethod>()> make) {
  return object_subject(std::move(make));
}

}  // namespace drover::conformance
