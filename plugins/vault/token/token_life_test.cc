#include "token/token_life.h"

#include <gtest/gtest.h>

#include <functional>

#include "drover/duration.h"

namespace drover::vault {
namespace {

using namespace std::chrono_literals;
using Step = TokenLife::Step;

constexpr int64_t kNow = 1'000'000'000'000'000'000;
constexpr double kMiddle = 0.5;

int64_t later(std::chrono::nanoseconds by) { return kNow + by.count(); }
Lease lease(std::chrono::nanoseconds duration, bool is_renewable = true) { return {duration, is_renewable}; }

std::string text(const TokenLife::Next& next) {
  static constexpr const char* kNames[] = {"nothing", "obtain", "renew", "give up"};
  const std::string name = kNames[static_cast<size_t>(next.step)];
  return next.step == Step::nothing || next.step == Step::give_up ? name : name + " in " + format_duration(next.after);
}

TEST(TokenLife, DecidesByWhatBecameOfTheStepBefore) {
  const struct {
    const char* name;
    std::function<TokenLife::Next(TokenLife&)> events;
    const char* next;
    bool may_expire = false;
  } cases[] = {
      {"renewed at half of the lease", [](auto& life) { return life.obtained(lease(1h), kNow, kMiddle); },
       "renew in 30m0s"},
      {"chance makes it earlier", [](auto& life) { return life.obtained(lease(1h), kNow, 0); }, "renew in 29m50s"},
      {"or later", [](auto& life) { return life.obtained(lease(1h), kNow, 1); }, "renew in 30m10s"},
      {"short leases are not spread", [](auto& life) { return life.obtained(lease(8s), kNow, 1); }, "renew in 4s"},
      {"never more often than once a second", [](auto& life) { return life.obtained(lease(1ms), kNow, 1); },
       "renew in 1s"},
      {"a token without an end", [](auto& life) { return life.obtained(lease(0s), kNow, 1); }, "nothing"},
      {"one that cannot be renewed gets a successor",
       [](auto& life) { return life.obtained(lease(10s, false), kNow, kMiddle); }, "obtain in 5s"},
      {"one that may expire", [](auto& life) { return life.obtained(lease(10s), kNow, kMiddle); }, "nothing", true},
      {"a renewal begins the next half",
       [](auto& life) {
         life.obtained(lease(40s), kNow, kMiddle);
         return life.renewed(lease(20s), later(20s), kMiddle);
       },
       "renew in 10s"},
      {"Vault is away at the first login", [](auto& life) { return life.not_obtained(unavailable("x")); },
       "obtain in 5s"},
      {"and at the third",
       [](auto& life) {
         life.not_obtained(unavailable("x"));
         life.not_obtained(unavailable("x"));
         return life.not_obtained(unavailable("x"));
       },
       "obtain in 1m20s"},
      {"for a day",
       [](auto& life) {
         for (int i = 0; i < 500; ++i) life.not_obtained(unavailable("x"));
         return life.not_obtained(unavailable("x"));
       },
       "obtain in 3m0s"},
      {"a login is refused", [](auto& life) { return life.not_obtained(permission_denied("x")); }, "give up"},
      {"the role is not there", [](auto& life) { return life.not_obtained(invalid_argument("x")); }, "give up"},
      {"the identity is not there", [](auto& life) { return life.not_obtained(not_found("x")); }, "give up"},
      {"Vault is away at a renewal",
       [](auto& life) {
         life.obtained(lease(1h), kNow, kMiddle);
         return life.not_renewed(unavailable("x"), later(30min));
       },
       "renew in 5s"},
      {"for a while",
       [](auto& life) {
         life.obtained(lease(1h), kNow, kMiddle);
         for (int i = 0; i < 9; ++i) life.not_renewed(unavailable("x"), later(31min));
         return life.not_renewed(unavailable("x"), later(31min));
       },
       "renew in 1m0s"},
      {"near the end of the lease",
       [](auto& life) {
         life.obtained(lease(10s), kNow, kMiddle);
         return life.not_renewed(unavailable("x"), later(7s));
       },
       "renew in 3s"},
      {"behind the end of the lease",
       [](auto& life) {
         life.obtained(lease(10s), kNow, kMiddle);
         return life.not_renewed(unavailable("x"), later(10s));
       },
       "obtain in 0s"},
      {"a success forgets the failures before",
       [](auto& life) {
         life.obtained(lease(1h), kNow, kMiddle);
         life.not_renewed(unavailable("x"), later(30min));
         life.not_renewed(unavailable("x"), later(30min));
         life.renewed(lease(1h), later(31min), kMiddle);
         return life.not_renewed(unavailable("x"), later(1h));
       },
       "renew in 5s"},
      {"Vault knows the token no more",
       [](auto& life) {
         life.obtained(lease(1h), kNow, kMiddle);
         return life.not_renewed(permission_denied("x"), later(30min));
       },
       "obtain in 0s"},
      {"an older Vault says so with a fault",
       [](auto& life) {
         life.obtained(lease(1h), kNow, kMiddle);
         return life.not_renewed(internal_error("Vault answers 500: lease not found"), later(30min));
       },
       "obtain in 0s"},
      {"found again", [](auto& life) { return life.found_again(lease(1h), kNow, later(1min)); }, "renew in 0s"},
      {"found again, without an end", [](auto& life) { return life.found_again(lease(0s), kNow, kNow); }, "nothing"},
      {"found again, not renewable",
       [](auto& life) { return life.found_again(lease(1h, false), kNow, later(30min)); }, "obtain in 15m0s"},
      {"found again, not renewable, over",
       [](auto& life) { return life.found_again(lease(1h, false), kNow, later(2h)); }, "obtain in 0s"},
      {"found again, may expire", [](auto& life) { return life.found_again(lease(1h), kNow, later(1min)); },
       "nothing", true},
      {"found again behind its end, while Vault is away",
       [](auto& life) {
         life.found_again(lease(10s), kNow, kNow);
         return life.not_renewed(unavailable("x"), later(1h));
       },
       "obtain in 0s"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    TokenLife life(c.may_expire);
    EXPECT_EQ(c.next, text(c.events(life)));
  }
}

TEST(TokenLife, KnowsWhenTheTokenEndsAndWhatToAskFor) {
  TokenLife life(false);
  life.obtained(lease(1h), kNow, kMiddle);
  EXPECT_EQ(later(1h), life.ends_at());
  life.renewed(lease(20min), later(30min), kMiddle);
  EXPECT_EQ(later(50min), life.ends_at());
  EXPECT_EQ(1h, life.first_lease()) << "a short lease is not asked for again";
  life.obtained(lease(0s), kNow, kMiddle);
  EXPECT_EQ(0, life.ends_at());
  EXPECT_EQ(0s, life.first_lease());
}

TEST(TokenLife, TellsFailuresThatLastFromOthers) {
  for (const Status& each : {invalid_argument("x"), permission_denied("x"), not_found("x"), failed_precondition("x")})
    EXPECT_TRUE(is_lasting(each)) << each.message();
  for (const Status& each : {unavailable("x"), internal_error("x"), data_loss("x"), cancelled("x")}) {
    EXPECT_FALSE(is_lasting(each));
    EXPECT_FALSE(has_ended(each));
  }
  for (const char* text : {"lease not found", "lease is not renewable", "token not found", "permission denied"})
    EXPECT_TRUE(has_ended(internal_error(std::string("Vault answers 500: ") + text)));
}

}  // namespace
}  // namespace drover::vault
