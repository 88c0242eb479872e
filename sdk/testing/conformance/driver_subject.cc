#include "driver_subject.h"

#include "../../serve/endpoint.h"
#include "../../serve/kind_methods.h"
#include "drover/methods.h"
#include "drover/plugin_programs/resident.h"
#include "drover/serve.h"
#include "nomad/plugins/base.pb.h"

namespace drover::conformance {
namespace {

class InProcess final : public Subject {
 public:
  explicit InProcess(std::function<std::unique_ptr<Instance>()> make) : make_(std::move(make)) { (void)start(); }
  ~InProcess() override { kill(); }
  plugin_programs::Channel& channel() override { return *channel_; }
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
    channel_ = plugin_programs::connect(serve::make_endpoint(instance_->methods()));
    return ok_status();
  }
  std::string epitaph() const override { return {}; }

 private:
  const std::function<std::unique_ptr<Instance>()> make_;
  std::unique_ptr<Instance> instance_;
  std::unique_ptr<plugin_programs::ResidentChannel> channel_;
};

// Makes the methods by the kind, whose interface the plugin has.
serve::Methods methods_of(const PluginKind& kind, Configurable& plugin, const serve::About& about) {
  serve::Methods methods;
  const auto take = [&]<typename Interface>() {
    if (Interface::kKind == kind) methods = serve::methods_of(static_cast<Interface&>(plugin), about);
  };
  PluginInterfaces::apply([&]<typename... Interfaces>() { (take.template operator()<Interfaces>(), ...); });
  return methods;
}

class ObjectInstance final : public Instance {
 public:
  ObjectInstance(const PluginKind& kind, std::unique_ptr<Configurable> plugin)
      : plugin_(std::move(plugin)),
        methods_(methods_of(kind, *plugin_, {.name = kNoName, .own_name = kNoName, .version = "0.1.0", .end = [] {}})) {
    if (kind == TaskDriver::kKind) leave_configured(methods_);
  }
  const serve::Methods& methods() const override { return methods_; }
  void stop() override { plugin_->stop(); }

 private:
  const std::unique_ptr<Configurable> plugin_;
  serve::Methods methods_;
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

SubjectFactory object_subject(const PluginKind& kind, std::function<std::unique_ptr<Configurable>()> make) {
  return instance_subject([&kind, make = std::move(make)] { return std::make_unique<ObjectInstance>(kind, make()); });
}
SubjectFactory driver_subject(std::function<std::unique_ptr<TaskDriver>()> make) {
  return object_subject(TaskDriver::kKind, std::move(make));
}

}  // namespace drover::conformance
