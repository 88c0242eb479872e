// The check provider "tcp": a service takes a connection. Any number of checks of IP addresses at a time, on one
// thread; one of a host name has a thread while the name is looked up.
#pragma once

#include "connections.h"
#include "drover/check_provider.h"

namespace drover::check_tcp {

class TcpChecks final : public CheckProvider {
 public:
  std::vector<v1::CheckType> types() const override;
  Result<v1::CheckResult> run(const v1::RunCheckRequest& request, std::stop_token stop) override;
  bool begin(const v1::RunCheckRequest& request, std::stop_token stop, Told told) override;
  void stop() override { connections_.stop(); }

 private:
  Connections connections_;
};

}  // namespace drover::check_tcp
