// One input as claims of a token, and as the Config of an auth method.
#include <string_view>

#include "drover/auth_config.h"
#include "drover/claims.h"

#include "drover/v1/auth_method.pb.h"

void fuzz_claims(std::string_view text);

void fuzz_claims(std::string_view text) {
  using namespace drover;
  auth::ConfigReader config(text);
  (void)config.url("sub");
  (void)auth::signing_algorithms(config);
  (void)config.finish();
  const auto claims = jose::Claims::parse(text);
  if (!claims) {
    DROVER_CHECK(claims.status().code() == Code::invalid_argument);
    return;
  }
  v1::AuthIdentity who;
  (void)jose::map_claims(*claims, {.values = {{"sub", "a"}, {"/groups/1/b", "b"}}, .lists = {{"groups", "c"}}}, who);
  if (const auto times = jose::times_of(*claims, {})) (void)jose::check_times(*times, {}, 1'000'000);
  (void)claims->audiences();
}
