#include "health_checks.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include "drover/task_options.h"
#include "drover/tls.h"

#include "drover/v1/check_provider.pb.h"
#include "health.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::check_grpc {
namespace {

v1::RunCheckRequest check_of(uint32_t port, const std::string& json = "{}", const std::string& address = "127.0.0.1") {
  v1::RunCheckRequest check;
  check.set_type("grpc");
  check.set_address(address);
  check.set_port(port);
  check.mutable_timeout()->set_seconds(10);
  check.set_options(*TaskOptions::to_msgpack(json));
  return check;
}

TEST(HealthQuestion, IsWhatTheCheckSays) {
  const auto question = question_of(check_of(80, R"({"grpc_service":"a.B","grpc_use_tls":true,"tls_skip_verify":true,
                                                     "tls_server_name":"x"})",
                                             "::1"));
  ASSERT_TRUE(question.ok()) << question.status().message();
  EXPECT_EQ(question->target, "[::1]:80");
  EXPECT_EQ(question->service, "a.B");
  EXPECT_TRUE(question->uses_tls && question->skip_verify);
  EXPECT_EQ(question->server_name, "x");
  EXPECT_FALSE(question_of(check_of(0)).ok()) << "no port";
}

TEST(HealthAnswer, IsJudged) {
  const auto judged = [](HealthAnswer::Status status) {
    HealthAnswer answer;
    answer.set_status(status);
    return *judge(answer.SerializeAsString());
  };
  EXPECT_EQ(judged(HealthAnswer::SERVING).status(), v1::CheckResult::PASSING);
  EXPECT_EQ(judged(HealthAnswer::NOT_SERVING).output(), "nomad: grpc: NOT_SERVING");
  EXPECT_EQ(judged(HealthAnswer::UNKNOWN).status(), v1::CheckResult::CRITICAL);
  EXPECT_EQ(judge(unavailable("refused"))->status(), v1::CheckResult::CRITICAL);
  EXPECT_EQ(judge(std::string("\xff"))->status(), v1::CheckResult::CRITICAL);
  EXPECT_EQ(judge(cancelled("stopped")).status().code(), Code::cancelled) << "nobody has looked";
}

TEST(GrpcChecks, NobodyThereIsCritical) {
  GrpcChecks checks;
  const auto result = checks.run(check_of(1), {});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->status(), v1::CheckResult::CRITICAL);
  EXPECT_TRUE(result->output().starts_with("nomad: grpc: ")) << result->output();
  checks.stop();
}

// gRPC's own health service, which says SERVING of the server as a whole.
TEST(GrpcChecks, AskTheServersHealth) {
  grpc::EnableDefaultHealthCheckService(true);
  int port = 0;
  grpc::CallbackGenericService others;  // a server without any service does not start
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&others);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const auto server = builder.BuildAndStart();
  ASSERT_TRUE(server);
  const auto at = static_cast<uint32_t>(port);
  GrpcChecks checks;
  EXPECT_EQ(checks.run(check_of(at), {})->output(), "nomad: grpc ok");
  EXPECT_EQ(checks.run(check_of(at, R"({"grpc_service":"no.Such"})"), {})->output(),
            "nomad: grpc: the server knows no such service");
  server->GetHealthCheckService()->SetServingStatus(false);
  EXPECT_EQ(checks.run(check_of(at), {})->output(), "nomad: grpc: NOT_SERVING");
  const auto by_tls = checks.run(check_of(at, R"({"grpc_use_tls":true,"tls_skip_verify":true})"), {});
  EXPECT_EQ(by_tls->status(), v1::CheckResult::CRITICAL) << "it speaks no TLS";
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(checks.run(check_of(at), stop.get_token()).status().code(), Code::cancelled);
  checks.stop();
  server->Shutdown();
}

TEST(GrpcChecks, AskByTlsAndTrustNotEverybody) {
  const auto identity = make_tls_identity();  // for "localhost", signed by itself
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  grpc::EnableDefaultHealthCheckService(true);
  int port = 0;
  grpc::CallbackGenericService others;
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&others);
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({identity->key, identity->cert});
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
  const auto server = builder.BuildAndStart();
  ASSERT_TRUE(server);
  const auto at = static_cast<uint32_t>(port);
  GrpcChecks checks;
  const auto trusting = checks.run(check_of(at, R"({"grpc_use_tls":true,"tls_skip_verify":true})"), {});
  EXPECT_EQ(trusting->output(), "nomad: grpc ok");
  const auto refused = checks.run(check_of(at, R"({"grpc_use_tls":true,"tls_server_name":"localhost"})"), {});
  EXPECT_EQ(refused->status(), v1::CheckResult::CRITICAL) << "nobody vouches for it";
  EXPECT_EQ(checks.run(check_of(at), {})->status(), v1::CheckResult::CRITICAL) << "it speaks nothing but TLS";
  checks.stop();
  server->Shutdown();
}

}  // namespace
}  // namespace drover::check_grpc
