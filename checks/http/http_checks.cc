#include "http_checks.h"

#include "drover/v1/check_provider.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::check_http {

HttpChecks::HttpChecks() = default;
HttpChecks::~HttpChecks() = default;

std::vector<v1::CheckType> HttpChecks::types() const {
  return {check::type("http", "A service answers an HTTP request with a status below 400.", options_schema())};
}

Exchanges& HttpChecks::exchanges() {
  const MutexLock lock(mutex_);
  if (!exchanges_) exchanges_ = std::make_unique<Exchanges>();
  return *exchanges_;
}

Result<v1::CheckResult> HttpChecks::run(const v1::RunCheckRequest& request, std::stop_token stop) {
  return check::run_begun(*this, request, std::move(stop));
}

bool HttpChecks::begin(const v1::RunCheckRequest& request, std::stop_token stop, Told told) {
  auto made = request_of(request);
  if (!made) return told(made.status()), true;
  exchanges().begin(*std::move(made), std::move(stop), std::move(told));
  return true;
}

void HttpChecks::stop() {
  Exchanges* const exchanges = [this] {
    const MutexLock lock(mutex_);
    return exchanges_.get();
  }();
  if (exchanges) exchanges->stop();
}

}  // namespace drover::check_http
