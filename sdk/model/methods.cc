#include "drover/methods.h"

#include <charconv>

namespace drover {
namespace {

constexpr std::string_view kPrefix = "http-status:";

}  // namespace

Status with_http_status(Status status, int http_status) {
  return std::move(status).with_details(std::string(kPrefix) + std::to_string(http_status));
}

std::optional<int> http_status_of(const Status& status) {
  std::string_view details = status.details();
  if (!details.starts_with(kPrefix)) return std::nullopt;
  details.remove_prefix(kPrefix.size());
  int value = 0;
  auto [end, error] = std::from_chars(details.data(), details.data() + details.size(), value);
  if (error != std::errc() || end != details.data() + details.size() || value < 400 || value > 599) return std::nullopt;
  return value;
}

}  // namespace drover
