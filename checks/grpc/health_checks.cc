#include "health_checks.h"

#include "drover/task_options.h"

#include "drover/v1/check_provider.pb.h"
#include "health.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::check_grpc {

hclspec::Spec options_schema() {
  return hclspec::object_of({{"grpc_service", "string", false, "", "The service that is asked for; none: the server."},
                             {"grpc_use_tls", "bool", false, "false", "Connects by TLS."},
                             {"tls_server_name", "string", false, "", "The name that the certificate must have."},
                             {"tls_skip_verify", "bool", false, "false", "Takes any certificate."}});
}

Result<HealthQuestion> question_of(const v1::RunCheckRequest& request) {
  DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(request.options()));
  HealthQuestion question{.service = options.text("grpc_service"),
                          .uses_tls = options.boolean("grpc_use_tls"),
                          .skip_verify = options.boolean("tls_skip_verify"),
                          .server_name = options.text("tls_server_name")};
  DROVER_RETURN_IF_ERROR(options.finish());
  DROVER_TRY(question.target, check::place_of(request));
  question.timeout = check::timeout_of(request);
  return question;
}

Result<v1::CheckResult> judge(const Result<std::string>& answer) {
  if (answer.status().code() == Code::cancelled) return answer.status();
  if (answer.status().code() == Code::not_found)
    return check::critical("nomad: grpc: the server knows no such service");
  if (answer.status().code() == Code::unimplemented)
    return check::critical("nomad: grpc: the server does not have grpc.health.v1.Health");
  if (!answer) return check::critical(check::cut_output("nomad: grpc: " + answer.status().message()));
  HealthAnswer health;
  if (!health.ParseFromString(*answer))
    return check::critical("nomad: grpc: the answer is no health of grpc.health.v1");
  if (health.status() == HealthAnswer::SERVING) return check::passing("nomad: grpc ok");
  const std::string& name = HealthAnswer::Status_Name(health.status());
  return check::critical("nomad: grpc: " + (name.empty() ? std::to_string(health.status()) : name));
}

std::vector<v1::CheckType> GrpcChecks::types() const {
  return {check::type("grpc", "A service says by grpc.health.v1 that it serves.", options_schema())};
}

Result<v1::CheckResult> GrpcChecks::run(const v1::RunCheckRequest& request, std::stop_token stop) {
  return check::run_begun(*this, request, std::move(stop));
}

bool GrpcChecks::begin(const v1::RunCheckRequest& request, std::stop_token stop, Told told) {
  const auto question = question_of(request);
  if (!question) return told(question.status()), true;
  calls_.begin(*question, std::move(stop),
               [told = std::move(told)](const Result<std::string>& answer) { told(judge(answer)); });
  return true;
}

}  // namespace drover::check_grpc
