#include "headers.h"

namespace drover::api {

Headers common_headers(unsigned max_age_s, const std::map<std::string, std::string>& configured) {
  Headers headers = {
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cache-Control", max_age_s > 0 ? "max-age=" + std::to_string(max_age_s) : "no-store"},
      {"Vary", "Accept-Encoding"},
  };
  headers.insert(headers.end(), configured.begin(), configured.end());
  return headers;
}

}  // namespace drover::api
