#include "http_checks.h"

#include "drover/v1/check_provider.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::check_http {

std::vector<v1::CheckType> HttpChecks::types() const {
  return {check::type("http", "A service answers an HTTP request with a status below 400.", options_schema())};
}

Result<v1::CheckResult> HttpChecks::run(const v1::RunCheckRequest& request, std::stop_token stop) {
  return check::run_begun(*this, request, std::move(stop));
}

bool HttpChecks::begin(const v1::RunCheckRequest& request, std::stop_token stop, Told told) {
  auto made = request_of(request);
  if (!made) return told(made.status()), true;
  exchanges_.begin(*std::move(made), std::move(stop), std::move(told));
  return true;
}

}  // namespace drover::check_http
