// A caller of ClientAllocations.Exec as a driver sees it, and what it asked for.
#pragma once

#include <string>
#include <vector>

#include "drover/methods.h"
#include "drover/task_driver.h"

namespace drover::agent {

// The words of a JSON list of texts. Errors: invalid_argument.
Result<std::vector<std::string>> parse_command(const std::string& json);

class ExecCall final : public ExecStream {
 public:
  // Both outlive it.
  ExecCall(MessageStream& stream, Clock& clock, std::stop_token stop)
      : stream_(stream), clock_(clock), stop_(std::move(stop)) {}

  std::optional<driver::ExecTaskStreamingRequest> receive(std::stop_token stop) override;
  bool send(const driver::ExecTaskStreamingResponse& response) override;
  std::stop_token stop() const override { return stop_; }

 private:
  MessageStream& stream_;
  Clock& clock_;
  const std::stop_token stop_;
};

}  // namespace drover::agent
