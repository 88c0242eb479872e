#include "tcp_checks.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "drover/fd.h"

#include "drover/v1/check_provider.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::check_tcp {
namespace {

// A socket of this machine that takes connections, and its port.
std::pair<Fd, uint32_t> listen_somewhere() {
  Fd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&at), size), 0);
  EXPECT_EQ(::listen(socket.get(), 64), 0);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &size);
  return {std::move(socket), ntohs(at.sin_port)};
}

v1::RunCheckRequest check_of(const std::string& address, uint32_t port) {
  v1::RunCheckRequest check;
  check.set_type("tcp");
  check.set_address(address);
  check.set_port(port);
  check.mutable_timeout()->set_seconds(10);
  return check;
}

TEST(Target, IsAnAddressOfEitherFamily) {
  EXPECT_EQ(target_of("10.0.0.1", 80)->text, "10.0.0.1:80");
  EXPECT_EQ(target_of("::1", 80)->text, "[::1]:80");
  EXPECT_FALSE(target_of("localhost", 80));
}

TEST(TcpChecks, PassWhereSomebodyListens) {
  TcpChecks checks;
  const auto [socket, port] = listen_somewhere();
  const auto result = checks.run(check_of("127.0.0.1", port), {});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->status(), v1::CheckResult::PASSING);
  EXPECT_EQ(result->output(), "nomad: tcp ok");
}

TEST(TcpChecks, AreCriticalWhereNobodyDoes) {
  TcpChecks checks;
  const auto result = checks.run(check_of("127.0.0.1", 1), {});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->status(), v1::CheckResult::CRITICAL);
  EXPECT_EQ(result->output(), "nomad: dial tcp 127.0.0.1:1: connect: connection refused");
}

TEST(TcpChecks, ANameIsLookedUpOnAThread) {
  TcpChecks checks;
  EXPECT_FALSE(checks.begin(check_of("no.such.host.invalid", 80), {}, [](const auto&) { FAIL(); }));
  const auto result = checks.run(check_of("no.such.host.invalid", 80), {});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->status(), v1::CheckResult::CRITICAL);
}

TEST(TcpChecks, RefuseACheckWithoutAPort) {
  TcpChecks checks;
  EXPECT_EQ(checks.run(check_of("127.0.0.1", 0), {}).status().code(), Code::invalid_argument);
}

// An address of documentation (RFC 5737): a connection there is never answered, or there is no way at all.
TEST(TcpChecks, EndWhenTheyAreToldTo) {
  TcpChecks checks;
  std::stop_source stop;
  stop.request_stop();
  const auto result = checks.run(check_of("192.0.2.1", 80), stop.get_token());
  EXPECT_TRUE(result.status().code() == Code::cancelled || result->status() == v1::CheckResult::CRITICAL);
  checks.stop();
}

TEST(TcpChecks, AreRefusedAfterTheEndAlsoWhereNoneWasAsked) {
  TcpChecks checks;
  checks.stop();
  std::stop_source stop;
  stop.request_stop();
  const auto result = checks.run(check_of("192.0.2.1", 80), stop.get_token());
  EXPECT_TRUE(result.status().code() == Code::unavailable || result->status() == v1::CheckResult::CRITICAL);
}

}  // namespace
}  // namespace drover::check_tcp
