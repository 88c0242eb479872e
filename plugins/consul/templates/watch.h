// One question to Consul that is kept answered, however many templates of the node ask it.
//
//   (made) ──ask──▶ answered ──Consul holds the question until something changes──▶ answered anew ──▶ …
//             └ failed: again, first after a short pause, then ever later, without end
//
// A thread of its own, that ends with the last template that looks. [any]
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "client/consul_client.h"
#include "drover/kept_answer.h"
#include "drover/template_source.h"
#include "templates/question.h"

namespace drover::consul {

class Watch final : public TemplateWatch {
 public:
  static constexpr std::chrono::seconds kLongestPause{60};  // between two questions that failed
  static constexpr std::chrono::seconds kPoll{15};  // of what Consul does not hold

  // `token`: whose; empty: the agent's.
  Watch(std::shared_ptr<const ConsulClient> client, Question question, std::string token);
  ~Watch() override;
  // No question is asked any more; the answer stays. Does not wait.
  void end() { thread_.request_stop(); }

  TemplateAnswer now() const override { return answer_.now(); }
  TemplateAnswer wait(std::chrono::nanoseconds patience) const override { return answer_.wait(patience); }

 private:
  void work(const std::stop_token& stop);
  Result<std::string> path(const std::stop_token& stop) const;
  Status ask(NextQuestion& next, const std::stop_token& stop);

  const std::shared_ptr<const ConsulClient> client_;
  const Question question_;
  const std::string token_;  // secret
  KeptAnswer<TemplateAnswer> answer_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace drover::consul
