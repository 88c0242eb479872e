// The check provider "http": asks a service by HTTP. Any number of checks at a time, on one thread.
#pragma once

#include "drover/check_provider.h"
#include "exchange.h"

namespace drover::check_http {

class HttpChecks final : public CheckProvider {
 public:
  std::vector<v1::CheckType> types() const override;
  Result<v1::CheckResult> run(const v1::RunCheckRequest& request, std::stop_token stop) override;
  bool begin(const v1::RunCheckRequest& request, std::stop_token stop, Told told) override;
  void stop() override { exchanges_.stop(); }

 private:
  Exchanges exchanges_;
};

}  // namespace drover::check_http
