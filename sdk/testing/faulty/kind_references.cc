#include "kind_references.h"

#include <condition_variable>
#include <cstdio>
#include <filesystem>
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
#include "nomad/plugins/hclspec.pb.h"

namespace drover::faulty {

using namespace std::chrono_literals;

// ---- checks

std::vector<v1::CheckType> ReferenceChecks::types() const {
  return {check::type("told", "Comes out as its options say.", hclspec::object_of({{"result", "string", true}}))};
}

Result<v1::CheckResult> ReferenceChecks::run(const v1::RunCheckRequest& request, std::stop_token stop) {
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

// ---- services

hclspec::Spec ReferenceServices::config_schema() const { return hclspec::object_of({{"folder", "string", true}}); }

Status ReferenceServices::configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) {
  DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(request.msgpack_config()));
  std::string folder = options.text("folder");
  DROVER_RETURN_IF_ERROR(options.finish());
  const std::lock_guard lock(mutex_);
  folder_ = std::move(folder);
  return ok_status();
}

Result<v1::SyncServicesResponse> ReferenceServices::sync(const v1::SyncServicesRequest& request, std::stop_token) {
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

// ---- logins

namespace {

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

}  // namespace

Result<std::vector<v1::AuthConfigError>> ReferenceAuth::check_config(std::string_view config) {
  const auto value = read_config(config);
  if (!value) return std::vector<v1::AuthConfigError>{auth::config_error("", value.status().message())};
  return errors_of(*value);
}

Result<v1::AuthIdentity> ReferenceAuth::login(const v1::AuthLoginRequest& request, std::stop_token) {
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

Result<v1::StartAuthLoginResponse> ReferenceAuth::start_login(const v1::StartAuthLoginRequest& request,
                                                              std::stop_token) {
  v1::StartAuthLoginResponse out;
  out.set_kept("reference " + Uuid::random().to_string());
  out.set_auth_url("http://127.0.0.1/login?state=" + request.state() + "&code=" + code_for(out.kept()));
  return out;
}

Result<v1::AuthIdentity> ReferenceAuth::complete_login(const v1::CompleteAuthLoginRequest& request, std::stop_token) {
  if (!request.kept().starts_with("reference ") || request.code() != code_for(request.kept()))
    return auth::refused("the login was not begun here, or the code is wrong");
  return identity("ada");
}

// ---- the setup

conformance::Setup kinds_setup(const std::string& folder) {
  conformance::Setup setup;
  setup.is_sdk = true;
  for (const char* kind : {"passing", "warning", "critical", "slow", "invalid"})
    setup.checks[kind] = {.type = "told", .options = hcl::Value(hcl::Object{{"result", kind}})};
  const std::string config = R"({"Users":{"ada":"countess-1815"}})";
  setup.logins["good"] = {.config = config, .token = "ada:countess-1815", .subject = "ada"};
  setup.logins["refused"] = {.config = config, .token = "ada:baroness"};
  setup.logins["invalid"] = {.config = R"({"Users":{"ada":1815}})", .path = "Users.ada"};
  setup.logins["browser"] = {
      .config = config, .subject = "ada", .visit = "printf '%s' \"$DROVER_LOGIN_URL\" | sed 's/.*code=//'"};
  setup.published = [folder](const std::string& node_id) -> Result<std::string> {
    std::ifstream file(folder + "/" + node_id);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  return setup;
}

}  // namespace drover::faulty
