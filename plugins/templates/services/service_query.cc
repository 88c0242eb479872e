#include "services/service_query.h"

#include <algorithm>

namespace drover::templates {
namespace {

bool is_word(std::string_view text, std::string_view further) {
  const auto is_good = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           further.find(c) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, is_good);
}

}  // namespace

Result<ServiceWish> parse_service(std::string_view text) {
  const Status refused = invalid_argument("nomad.service: invalid format: \"" + std::string(text) + "\"");
  ServiceWish wish;
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    wish.query.region = text.substr(at + 1);
    if (!is_word(wish.query.region, "")) return refused;
    text = text.substr(0, at);
  }
  if (const size_t dot = text.rfind('.'); dot != std::string_view::npos) {  // tags may have dots, names have none
    wish.tag = text.substr(0, dot);
    if (!is_word(wish.tag, ".")) return refused;
    text = text.substr(dot + 1);
  }
  wish.query.name = text;
  if (!is_word(wish.query.name, "/")) return refused;
  return wish;
}

Result<ServiceWish> parse_services(std::string_view text) {
  ServiceWish wish;
  if (text.empty()) return wish;
  wish.query.region = text.substr(1);
  if (text.front() != '@' || !is_word(wish.query.region, ""))
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
