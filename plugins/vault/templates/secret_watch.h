// Keeps one answer of Vault up to date for the templates of one task: leases are renewed, or read again, at two thirds
// of their length, what has none every five minutes. No thread of its own.
//
//   begin ──▶ asked ──answer──▶ known, and asked again when it is due
//               └ failed: again, first after a short pause, then ever later; what was known stays
//
// A new token of the task begins it anew: the leases of the one before are gone.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>

#include "drover/kept_answer.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "drover/template_source.h"
#include "node/task_vault.h"
#include "templates/secret_question.h"

namespace drover::vault {

// [any]
class SecretWatch final : public TemplateWatch,
                          public TaskVault::Reader,
                          public std::enable_shared_from_this<SecretWatch> {
 public:
  struct Means {
    Host& host;
    const VaultClient& client;
    std::stop_token stop;  // of all watches
  };
  SecretWatch(const Means& means, std::shared_ptr<TaskVault> vault, SecretQuestion question);
  ~SecretWatch() override { stop_.request_stop(); }

  void begin();
  void token_changed() override { begin(); }

  // An error stands for a secret that cannot be read yet: nothing is known, and it is asked for again.
  TemplateAnswer now() const override { return seen_.now(); }
  TemplateAnswer wait(std::chrono::nanoseconds patience) const override {
    return seen_.wait(patience, stop_.get_token());
  }

 private:
  struct Learned {
    SecretValue answer;
    bool is_kept = false;  // the value is the one that is known: its lease was renewed
  };
  void ask_after(std::chrono::nanoseconds pause, uint64_t turn);
  void ask(uint64_t turn);
  Result<Learned> learn(const Session& session) const;
  Result<Answer> question_vault(const Session& session) const;
  // Gives how long it is good for; zero: until the token is another.
  std::chrono::nanoseconds take(Result<Learned> learned, const std::string& token);

  Host& host_;
  const VaultClient& client_;
  const std::shared_ptr<TaskVault> vault_;
  const SecretQuestion question_;
  std::stop_source stop_;
  const std::stop_callback<std::function<void()>> on_stop_;
  std::atomic<uint64_t> turn_{0};  // of the question that counts
  KeptAnswer<TemplateAnswer> seen_;
  mutable Mutex mutex_;
  std::string token_ DROVER_GUARDED_BY(mutex_);  // that `lease_` is of
  std::string lease_ DROVER_GUARDED_BY(mutex_);  // that can be renewed
  std::chrono::nanoseconds lease_duration_ DROVER_GUARDED_BY(mutex_){};
  NextQuestion next_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::vault
