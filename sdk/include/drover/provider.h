// Asking an identity provider: its description (OpenID Connect Discovery), its keys, its token. Bounded in time and
// size, over https (plain http to this machine only), and never sent elsewhere: a redirect is followed within the same
// origin alone. Providers' words of themselves are remembered for a while.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/clock.h"
#include "drover/jose.h"
#include "drover/mutex.h"
#include "drover/result.h"

namespace drover::provider {

inline constexpr size_t kMaxAnswer = 1 << 20;  // bytes
inline constexpr std::chrono::seconds kTimeLimit{10};
inline constexpr int kMostRedirects = 3;

struct Question {
  std::string url;
  std::string ca;              // PEM; empty: the machine's authorities
  std::string form;            // a POST of this, already encoded; empty: a GET
  std::string user, password;  // sent where there is a user; secret
  std::string bearer;          // secret
};
struct Answer {
  long status = 0;
  std::string content_type;
  std::string body;
};
// Waits. Errors: unavailable saying what failed, without the question's content; cancelled.
Result<Answer> ask(const Question& question, std::stop_token stop);

struct Description {
  std::string issuer, authorization_endpoint, token_endpoint, userinfo_endpoint, jwks_uri;
  bool takes_basic = true;  // the client's secret as HTTP's own authentication; else in the form
};
// Errors: invalid_argument, also for an issuer that is not, letter by letter, the one that was asked for, and for an
// address by http of an issuer by https.
Result<Description> parse_description(std::string_view json, std::string_view issuer);

// The answers of providers, for every auth method of a plugin. An error is remembered, too, for ten seconds: a provider
// that is away is not asked by every login. [any]; calls wait for the network.
class Providers {
 public:
  explicit Providers(Clock& clock) : clock_(clock) {}

  using Keys = std::shared_ptr<const std::vector<jose::Key>>;

  // Errors: unavailable, invalid_argument: what failed at that address.
  Result<Description> describe(const std::string& issuer, const std::string& ca, std::stop_token stop);
  // The keys with which that token may be signed: those known, or newer ones when the token names a key that is not
  // among them. They are fetched anew at most once a minute.
  Result<Keys> keys_for(const jose::Token& token, const std::string& url, const std::string& ca, std::stop_token stop);

 private:
  struct Kept {
    SteadyTime asked_at{};  // the last try
    SteadyTime told_at{};   // the last answer
    Result<Description> description = Status(Code::unavailable, "");
    Keys keys;       // null: there was no answer yet
    Status failure;  // of the last try, at failed_at; ok: it answered
    SteadyTime failed_at{};
  };
  // "keys " and their URL, or "description " and the issuer; the authorities. One address may be asked for both.
  using Place = std::pair<std::string, std::string>;

  // A copy of the entry, and true for the one caller who is to ask now. Not true: it has an answer, or a failure.
  std::pair<Kept, bool> look(const Place& place, std::chrono::seconds at_most, bool is_unsatisfied);
  void keep(const Place& place, const std::function<void(Kept&)>& change);
  Status failed(const Place& place, Status why);

  Clock& clock_;
  Mutex mutex_;
  std::map<Place, Kept> kept_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::provider
