#include <gtest/gtest.h>

#include "drover/clock.h"
#include "drover/tls.h"

namespace drover {
namespace {

constexpr int64_t kYear = 365 * 24 * 3600;

int64_t now() { return SystemClock().wall_ns() / 1'000'000'000; }

TEST(TlsIdentity, IsAKeyAndACertificateOfItsOwnEachTime) {
  const auto one = make_tls_identity(), other = make_tls_identity();
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  ASSERT_TRUE(other.ok());

  EXPECT_TRUE(one->cert.starts_with("-----BEGIN CERTIFICATE-----"));
  EXPECT_TRUE(one->key.starts_with("-----BEGIN PRIVATE KEY-----"));
  EXPECT_NE(one->cert, other->cert);
  EXPECT_NE(one->key, other->key);
}

TEST(TlsIdentity, GoesThroughAHandshakeLineAndBack) {
  const auto identity = make_tls_identity();
  ASSERT_TRUE(identity.ok());

  const auto line = certificate_to_base64_der(identity->cert);
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(std::string::npos, line->find_first_of("=|\n"));
  EXPECT_GT(line->size(), 50u);
  EXPECT_EQ(identity->cert, certificate_from_base64_der(*line).value_or(""));
}

TEST(TlsIdentity, HoldsFromAMomentAgoForThirtyYears) {
  const auto identity = make_tls_identity();
  ASSERT_TRUE(identity.ok());

  EXPECT_TRUE(check_certificate_time(identity->cert, now()).ok());
  EXPECT_TRUE(check_certificate_time(identity->cert, now() + 29 * kYear).ok());
  const Status late = check_certificate_time(identity->cert, now() + 31 * kYear);
  EXPECT_EQ(Code::failed_precondition, late.code());
  EXPECT_TRUE(late.message().starts_with("the certificate held only until ")) << late.message();
  const Status early = check_certificate_time(identity->cert, now() - 3600);
  EXPECT_TRUE(early.message().starts_with("the certificate holds only from ")) << early.message();
}

TEST(TlsIdentity, SaysWhatIsNoCertificate) {
  EXPECT_EQ(Code::invalid_argument, certificate_to_base64_der("no certificate").status().code());
  EXPECT_EQ(Code::invalid_argument, certificate_from_base64_der("QUJD").status().code());
  EXPECT_EQ(Code::invalid_argument, certificate_from_base64_der("***").status().code());
  EXPECT_EQ(Code::invalid_argument, check_certificate_time("", 0).code());
}

}  // namespace
}  // namespace drover
