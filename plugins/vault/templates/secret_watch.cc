#include "templates/secret_watch.h"

#include <nlohmann/json.hpp>

#include "drover/log.h"

namespace drover::vault {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using Kind = SecretQuestion::Kind;

constexpr std::chrono::nanoseconds kLongestPause = 1min;  // between two questions that failed

// A part of a secret that is another one with each answer, and no news.
json without_request(json value) {
  if (value.is_object()) {
    for (const char* each : {"RequestID", "LeaseDuration"}) value.erase(each);
  }
  return value;
}

// A secret in place of an error is news.
bool is_same_secret(const TemplateAnswer& known, const TemplateAnswer& answer) {
  if (!known.error.ok()) return false;
  if (!known.value || !answer.value) return known.value == answer.value;
  return without_request(*known.value) == without_request(*answer.value);
}

// The known secret stays; another error in place of one is news.
bool is_no_news(const TemplateAnswer& known, const TemplateAnswer& failure) {
  return known.error.ok() || known.error == failure.error;
}

}  // namespace

SecretWatch::SecretWatch(const Means& means, std::shared_ptr<TaskVault> vault, SecretQuestion question)
    : host_(means.host),
      client_(means.client),
      vault_(std::move(vault)),
      question_(std::move(question)),
      on_stop_(means.stop, [this] { stop_.request_stop(); }),
      next_(kLongestPause) {}

void SecretWatch::begin() { ask_after({}, ++turn_); }

void SecretWatch::ask_after(std::chrono::nanoseconds pause, uint64_t turn) {
  host_.post_after(pause, [weak = weak_from_this(), turn] {
    if (const auto self = weak.lock()) self->ask(turn);
  });
}

// [a thread that may wait]
void SecretWatch::ask(uint64_t turn) {
  if (stop_.stop_requested() || turn != turn_) return;
  const Session session = vault_->session();
  if (session.token.empty()) return;  // the one that comes begins it anew
  auto learned = learn(session);
  if (stop_.stop_requested() || turn != turn_) return;
  const std::chrono::nanoseconds again = take(std::move(learned), session.token);
  if (again > 0ns && turn_.compare_exchange_strong(turn, turn + 1)) ask_after(again, turn + 1);
}

Result<SecretWatch::Learned> SecretWatch::learn(const Session& session) const {
  std::string lease;
  std::chrono::nanoseconds duration{};
  {
    const MutexLock lock(mutex_);
    if (token_ == session.token) lease = lease_;
    duration = lease_duration_;
  }
  if (!lease.empty()) {
    const auto renewed = client_.renew_lease(session, lease, duration, stop_.get_token());
    // One that is granted for much less is near its end: a new secret takes its place in time.
    if (renewed && renewed->duration >= duration / 2) {
      SecretValue same{.value = nullptr,
                       .lease = lease,
                       .lease_duration = duration,
                       .again = again_after(renewed->duration)};
      return Learned{.answer = std::move(same), .is_kept = true};
    }
  }
  DROVER_TRY(const Answer answer, question_vault(session));
  DROVER_TRY(SecretValue value, read_answer(question_, *answer, host_.clock().wall_ns()));
  return Learned{.answer = std::move(value)};
}

Result<Answer> SecretWatch::question_vault(const Session& session) const {
  // A caller that may not ask what is mounted where gets the path as it is written.
  Mount mount;
  if (question_.kind != Kind::certificate) {
    auto found = client_.mount_of(session, question_.path, stop_.get_token());
    if (found) mount = *std::move(found);
    if (!found && found.status().code() == Code::unavailable) return found.status();
  }
  const std::string path = path_at(mount, question_);
  switch (question_.kind) {
    case Kind::read:
      return client_.read(session, path, stop_.get_token());
    case Kind::list: {
      auto list = client_.list(session, path, stop_.get_token());
      // An empty folder is none to Vault.
      if (!list && list.status().code() == Code::not_found) return std::make_shared<const json>(json::object());
      return list;
    }
    case Kind::write:
    case Kind::certificate:
      break;
  }
  return client_.write(session, path, body_at(mount, question_), stop_.get_token());
}

std::chrono::nanoseconds SecretWatch::take(Result<Learned> learned, const std::string& token) {
  std::chrono::nanoseconds again{};
  {
    const MutexLock lock(mutex_);
    token_ = token;
    if (learned) {
      next_.answered();
      lease_ = learned->answer.lease;
      lease_duration_ = learned->answer.lease_duration;
      again = learned->answer.again;
    } else {
      lease_.clear();
      again = next_.failed();
    }
  }
  if (!learned) {
    seen_.take({.error = learned.status()}, is_no_news);
    log::warn("vault", "a secret is not read yet",
              {{"path", question_.path}, {"error", learned.status().message()}});
  } else if (!learned->is_kept) {
    seen_.take({.value = std::move(learned->answer.value)}, is_same_secret);
  }
  return again;
}

}  // namespace drover::vault
