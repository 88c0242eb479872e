#include <google/protobuf/text_format.h>

#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "drover/hclspec.h"
#include "drover/sha256.h"
#include "drover/task_options.h"
#include "drover/uuid.h"

#include "drover/v1/auth_method.pb.h"
#include "drover/v1/check_provider.pb.h"
#include "drover/v1/service_provider.pb.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/device.pb.h"
#include "nomad/plugins/hclspec.pb.h"
#include "nomad/plugins/structs.pb.h"
#include "reference.h"

namespace drover::faulty {
namespace {

using namespace std::chrono_literals;

template <typename Message>
Message read(const char* text) {
  Message message;
  DROVER_CHECK(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

class ReferenceDevice final : public DevicePlugin {
 public:
  Result<device::FingerprintResponse> fingerprint() override {
    return read<device::FingerprintResponse>(
        R"(device_group { vendor: "reference" device_type: "file" device_name: "nothing"
                          devices { ID: "/dev/null" healthy: true } devices { ID: "/dev/zero" healthy: true }
                          attributes { key: "speed" value { int_val: 1 unit: "GB/s" } } }
           device_group { vendor: "reference" device_type: "file" device_name: "noise"
                          devices { ID: "/dev/urandom" healthy: true } })");
  }
  Result<device::ContainerReservation> reserve(std::span<const std::string> ids) override {
    auto out = read<device::ContainerReservation>(
        R"(envs { key: "REFERENCE" value: "1" } mounts { host_path: "/dev" task_path: "/dev-of-host" })");
    for (const std::string& id : ids) {
      if (id != "/dev/null" && id != "/dev/zero" && id != "/dev/urandom")
        return not_found("there is no device " + id.substr(0, 100));
      auto& one = *out.add_devices();
      one.set_host_path(id);
      one.set_task_path(id);
      one.set_permissions("rw");
    }
    return out;
  }
  Result<device::StatsResponse> stats() override {
    auto out = read<device::StatsResponse>(
        R"(groups { vendor: "reference" type: "file" name: "nothing"
                    instance_stats { key: "/dev/null" value {} } instance_stats { key: "/dev/zero" value {} } }
           groups { vendor: "reference" type: "file" name: "noise" instance_stats { key: "/dev/urandom" value {} } })");
    for (auto& group : *out.mutable_groups()) {
      for (auto& [id, one] : *group.mutable_instance_stats()) {
        one.mutable_summary()->mutable_bool_val()->set_value(true);
        one.mutable_timestamp()->set_seconds(SystemClock().wall_ns() / 1'000'000'000);
      }
    }
    return out;
  }
};

class ReferenceChecks final : public CheckProvider {
 public:
  std::vector<v1::CheckType> types() const override {
    return {check::type("told", "Comes out as its options say.", hclspec::object_of({{"result", "string", true}}))};
  }
  Result<v1::CheckResult> run(const v1::RunCheckRequest& request, std::stop_token stop) override {
    DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(request.options()));
    const std::string result = options.text("result");
    DROVER_RETURN_IF_ERROR(options.finish());
    if (result == "passing") return check::passing("all is well");
    if (result == "warning") return check::warning("all is nearly well");
    if (result == "critical") return check::critical("nothing is well");
    if (result != "slow") return invalid_argument("result: \"" + result + "\" is none");
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait(lock, stop, [] { return false; });
    return check::critical("it took too long");
  }
};

class ReferenceServices final : public ServiceProvider {
 public:
  hclspec::Spec config_schema() const override { return hclspec::object_of({{"folder", "string", true}}); }
  Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) override {
    DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(request.msgpack_config()));
    std::string folder = options.text("folder");
    DROVER_RETURN_IF_ERROR(options.finish());
    const std::lock_guard lock(mutex_);
    folder_ = std::move(folder);
    return ok_status();
  }

  Result<v1::SyncServicesResponse> sync(const v1::SyncServicesRequest& request, std::stop_token) override {
    v1::SyncServicesResponse out;
    std::string text;
    for (const v1::ServiceInstance& instance : request.instances()) {
      if (instance.address().empty()) {
        v1::UnpublishedInstance& failed = *out.add_failures();
        failed.set_id(instance.id());
        failed.set_reason("it has no address");
      } else {
        text += instance.id() + " " + instance.address() + ":" + std::to_string(instance.port()) + "\n";
      }
    }
    const std::lock_guard lock(mutex_);
    const std::string path = folder_ + "/" + Uuid::parse(request.node_id()).value_or(Uuid()).to_string();
    std::ofstream(path + ".new") << text;
    if (std::rename((path + ".new").c_str(), path.c_str()) != 0) return errno_status(errno, "rename " + path);
    return out;
  }

 private:
  std::mutex mutex_;
  std::string folder_;  // guarded by mutex_
};

Result<hcl::Value> read_config(std::string_view config) {
  auto value = hcl::from_json(config);
  if (value && !value->is_object()) return invalid_argument("the Config must be an object");
  return value;
}

std::vector<v1::AuthConfigError> errors_of(const hcl::Value& config) {
  std::vector<v1::AuthConfigError> errors;
  for (const auto& [name, value] : config.object()) {
    if (name != "Users") {
      errors.push_back(auth::config_error(name, "there is no such option"));
    } else if (!value.is_object()) {
      errors.push_back(auth::config_error(name, "must be an object"));
    } else {
      for (const auto& [user, password] : value.object()) {
        if (!password.is_string()) errors.push_back(auth::config_error("Users." + user, "must be a text"));
      }
    }
  }
  if (!config.find("Users")) errors.push_back(auth::config_error("Users", "is missing"));
  return errors;
}

v1::AuthIdentity identity(const std::string& user) {
  v1::AuthIdentity out;
  out.set_subject(user);
  (*out.mutable_claims())["name"] = user;
  (*out.mutable_list_claims())["groups"].add_values("mathematicians");
  return out;
}

std::string code_for(const std::string& kept) {
  Sha256 sum;
  sum.add(kept);
  return to_hex(sum.take());
}

class ReferenceAuth final : public AuthMethod {
 public:
  std::string type() const override { return "Reference"; }
  Flows flows() const override { return {.token = true, .browser = true}; }
  Result<std::vector<v1::AuthConfigError>> check_config(std::string_view config) override {
    const auto value = read_config(config);
    if (!value) return std::vector<v1::AuthConfigError>{auth::config_error("", value.status().message())};
    return errors_of(*value);
  }

  Result<v1::AuthIdentity> login(const v1::AuthLoginRequest& request, std::stop_token) override {
    DROVER_TRY(const hcl::Value config, read_config(request.config()));
    if (!errors_of(config).empty()) return invalid_argument("the Config has errors");
    const size_t colon = request.token().find(':');
    const std::string user = request.token().substr(0, colon);
    const hcl::Value* const password = config.find("Users")->find(user);
    const bool is_right = password && colon != std::string::npos && !password->string().empty() &&
                          request.token().substr(colon + 1) == password->string();
    if (!is_right) return auth::refused("unknown user or wrong password");
    return identity(user);
  }

  Result<v1::StartAuthLoginResponse> start_login(const v1::StartAuthLoginRequest& request, std::stop_token) override {
    v1::StartAuthLoginResponse out;
    out.set_kept("reference " + Uuid::random().to_string());
    out.set_auth_url("http://127.0.0.1/login?state=" + request.state() + "&code=" + code_for(out.kept()));
    return out;
  }

  Result<v1::AuthIdentity> complete_login(const v1::CompleteAuthLoginRequest& request, std::stop_token) override {
    if (!request.kept().starts_with("reference ") || request.code() != code_for(request.kept()))
      return auth::refused("the login was not begun here, or the code is wrong");
    return identity("ada");
  }
};

}  // namespace

std::unique_ptr<DevicePlugin> reference_device() { return std::make_unique<ReferenceDevice>(); }
std::unique_ptr<CheckProvider> reference_checks() { return std::make_unique<ReferenceChecks>(); }
std::unique_ptr<ServiceProvider> reference_services() { return std::make_unique<ReferenceServices>(); }
std::unique_ptr<AuthMethod> reference_auth() { return std::make_unique<ReferenceAuth>(); }

conformance::Setup reference_setup(const PluginKind& kind, const std::string& folder) {
  conformance::Setup setup;
  if (kind == DevicePlugin::kKind) return setup;
  setup.is_sdk = true;
  for (const char* task : {"endless", "deaf", "ending", "talking", "invalid"})
    setup.tasks[task] = {.config = hcl::Value(hcl::Object{{"kind", task}})};
  setup.tasks["ending"].exit_code = 7;
  setup.tasks["talking"].out = "this is out\n";
  setup.tasks["talking"].err = "this is err\n";
  for (const char* check : {"passing", "warning", "critical", "slow", "invalid"})
    setup.checks[check] = {.type = "told", .options = hcl::Value(hcl::Object{{"result", check}})};
  const std::string config = R"({"Users":{"ada":"countess-1815"}})";
  setup.logins["good"] = {.config = config, .token = "ada:countess-1815", .subject = "ada"};
  setup.logins["refused"] = {.config = config, .token = "ada:baroness"};
  setup.logins["invalid"] = {.config = R"({"Users":{"ada":1815}})", .path = "Users.ada"};
  setup.logins["browser"] = {
      .config = config, .subject = "ada", .visit = "printf '%s' \"$DROVER_LOGIN_URL\" | sed 's/.*code=//'"};
  if (kind == ServiceProvider::kKind) setup.config = hcl::Value(hcl::Object{{"folder", folder}});
  setup.published = [folder](const std::string& node_id) -> Result<std::string> {
    std::ifstream file(folder + "/" + node_id);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  return setup;
}

}  // namespace drover::faulty
