// The check provider "http": asks a service by HTTP. Any number of checks at a time, on one thread.
#pragma once

#include <memory>

#include "drover/check_provider.h"
#include "exchange.h"

namespace drover::check_http {

class HttpChecks final : public CheckProvider {
 public:
  HttpChecks();
  ~HttpChecks() override;
  std::vector<v1::CheckType> types() const override;
  Result<v1::CheckResult> run(const v1::RunCheckRequest& request, std::stop_token stop) override;
  bool begin(const v1::RunCheckRequest& request, std::stop_token stop, Told told) override;
  void stop() override;

 private:
  Exchanges& exchanges();

  Mutex mutex_;
  std::unique_ptr<Exchanges> exchanges_ DROVER_GUARDED_BY(mutex_);  // made for the first check; constant from then on
};

}  // namespace drover::check_http
