#include "server/claims.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drover/v1/task.pb.h"

namespace drover::identity {
namespace {

using Json = nlohmann::json;

constexpr int64_t kNow = 1'700'000'000'500'000'000;

Json claims(const v1::Identity& identity, const std::string& issuer = "") {
  const Workload web{"prod", "web", "front", "server"};
  return Json::parse(claims_of({.workload = web,
                                .identity = identity,
                                .allocation = "a0000000-0000-0000-0000-000000000000",
                                .region = "global",
                                .issuer = issuer,
                                .token_id = "j",
                                .now_ns = kNow}));
}

TEST(Claims, NameTheTask) {
  v1::Task task;
  const Json said = claims(*identity_of(task, "default"));
  EXPECT_EQ(said, Json::parse(R"({"nomad_namespace":"prod","nomad_job_id":"web",
    "nomad_allocation_id":"a0000000-0000-0000-0000-000000000000","nomad_task":"server",
    "sub":"global:prod:web:front:server:default","jti":"j","iat":1700000000,"nbf":1700000000,
    "aud":"nomadproject.io"})"));
}

TEST(Claims, OfOtherIdentitiesAreForOthersAndEnd) {
  v1::Task task;
  v1::Identity& vault = *task.add_identities();
  vault.set_name("vault");
  vault.add_audience("vault.io");
  vault.set_ttl(3'600'000'000'000);
  Json said = claims(*identity_of(task, "vault"), "https://drover.example");
  EXPECT_EQ(said["aud"], "vault.io");
  EXPECT_EQ(said["exp"], 1'700'003'600);
  EXPECT_EQ(said["iss"], "https://drover.example");
  EXPECT_EQ(said["sub"], "global:prod:web:front:server:vault");
  EXPECT_EQ(end_of(vault, kNow), 1'700'003'600'000'000'000) << "what the node is told is what the token says";
  vault.add_audience("aws");
  EXPECT_EQ(claims(vault)["aud"], Json::parse(R"(["vault.io","aws"])"));
  vault.clear_audience();
  EXPECT_FALSE(claims(vault).contains("aud"));
  EXPECT_EQ(identity_of(task, "other").status().message(), "identity not found");
}

TEST(Claims, OfTheClusterItselfAreSignedShortly) {
  v1::Identity identity;
  identity.set_name("default");
  EXPECT_EQ(algorithm_of(identity), Keyring::Algorithm::eddsa);
  identity.set_name("vault");
  EXPECT_EQ(algorithm_of(identity), Keyring::Algorithm::rs256);
}

TEST(Claims, AreFoundByRelyingParties) {
  EXPECT_EQ(Json::parse(discovery_of("https://i")), Json::parse(R"({"issuer":"https://i",
    "jwks_uri":"https://i/.well-known/jwks.json","id_token_signing_alg_values_supported":["RS256","EdDSA"],
    "response_types_supported":["code"],"subject_types_supported":["public"]})"));
}

}  // namespace
}  // namespace drover::identity
