#include "services/service_query.h"

#include <re2/re2.h>

namespace drover::templates {

Result<ServiceWish> parse_service(std::string_view text) {
  static const RE2 kForm(R"((?:([\w\-.]+)\.)?([\w\-/]+)(?:@([\w\-]+))?)");
  ServiceWish wish;
  if (!RE2::FullMatch(re2::StringPiece(text.data(), text.size()), kForm, &wish.tag, &wish.query.name,
                      &wish.query.region)) {
    return invalid_argument("nomad.service: invalid format: \"" + std::string(text) + "\"");
  }
  return wish;
}

Result<ServiceWish> parse_services(std::string_view text) {
  static const RE2 kForm(R"((?:@([\w\-]+))?)");
  ServiceWish wish;
  if (!RE2::FullMatch(re2::StringPiece(text.data(), text.size()), kForm, &wish.query.region))
    return invalid_argument("nomad.services: invalid format: \"" + std::string(text) + "\"");
  return wish;
}

std::string name_of(const ServiceWish& wish) {
  const ServiceQuery& query = wish.query;
  const std::string region = query.region.empty() ? "" : "@" + query.region;
  if (query.name.empty()) return "nomad.services" + (region.empty() ? "" : "(" + region + ")");
  return "nomad.service(" + (wish.tag.empty() ? "" : wish.tag + ".") + query.name + region +
         (query.choose.empty() ? "" : ":" + query.choose) + ")";
}

}  // namespace drover::templates
