// One question to Consul that is kept answered, however many templates of the node ask it.
//
//   (made) ──ask──▶ answered ──Consul holds the question until something changes──▶ answered anew ──▶ …
//             └ failed: again, first after kFirstRetry, then ever later, without end
//
// A thread of its own, that ends with the last template that looks. [any]
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "client/consul_client.h"
#include "drover/mutex.h"
#include "drover/template_source.h"
#include "templates/question.h"

namespace drover::consul {

class Watch final : public TemplateWatch {
 public:
  static constexpr std::chrono::milliseconds kFirstRetry{250};
  static constexpr std::chrono::seconds kLastRetry{60};
  static constexpr std::chrono::seconds kPoll{15};  // of what Consul does not hold

  // `token`: whose; empty: the agent's.
  Watch(std::shared_ptr<const ConsulClient> client, Question question, std::string token);
  ~Watch() override;
  // No question is asked any more; the answer stays. Does not wait.
  void end() { thread_.request_stop(); }

  TemplateAnswer now() const override;
  TemplateAnswer wait(std::chrono::nanoseconds patience) const override;

 private:
  void work(const std::stop_token& stop);
  Result<std::string> path(const std::stop_token& stop) const;
  Status ask(uint64_t& index, const std::stop_token& stop);
  void take(const Result<nlohmann::json>& value);

  const std::shared_ptr<const ConsulClient> client_;
  const Question question_;
  const std::string token_;  // secret
  mutable Mutex mutex_;
  mutable CondVar answered_;
  TemplateAnswer answer_ DROVER_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses the others
};

}  // namespace drover::consul
