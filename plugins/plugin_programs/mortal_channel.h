// A channel that ends with the process behind it. Its connection alone does not: what the process left behind may hold
// that open, and a call would wait for ever.
#pragma once

#include "drover/plugin_programs/channel.h"

namespace drover::plugin_programs {

class MortalChannel final : public Channel {
 public:
  explicit MortalChannel(std::unique_ptr<Channel> inner) : inner_(std::move(inner)) {}

  // Calls in flight and later ones are unavailable. Idempotent. [any]
  void end() { ended_.request_stop(); }

  Result<std::string> call(const std::string& method, std::string request, std::optional<SteadyTime> deadline,
                           std::stop_token stop) override;
  std::shared_ptr<Messages> open(const std::string& method, std::string request, Messages::Keep keep) override;
  std::shared_ptr<Dialogue> talk(const std::string& method) override;

 private:
  const std::unique_ptr<Channel> inner_;
  std::stop_source ended_;
};

}  // namespace drover::plugin_programs
