// The request that a check of type "http" makes, and what its answer means. Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "drover/hclspec.h"
#include "drover/result.h"

namespace drover::v1 {
class CheckResult;
class RunCheckRequest;
}  // namespace drover::v1

namespace drover::check_http {

inline constexpr size_t kMaxBody = 3072;  // bytes that are read of an answer
inline constexpr long kMostRedirects = 10;

struct HttpRequest {
  std::string url;
  std::string method;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
  std::string connect_to;  // "NAME:PORT:ADDRESS:PORT", where TLS is to ask for another name than the address
  bool skip_verify = false;
  std::chrono::nanoseconds timeout{};
};

hclspec::Spec options_schema();

// Errors: invalid_argument naming the option.
Result<HttpRequest> request_of(const v1::RunCheckRequest& check);

// 200 is passing, what is below 400 likewise with its body, the rest critical with its body.
v1::CheckResult judge(long code, std::string_view body);

}  // namespace drover::check_http
