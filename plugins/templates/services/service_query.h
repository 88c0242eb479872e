// A template's question about services: "[tag.]name[@region]", or a choice of so many instances for a key. Pure.
#pragma once

#include <string>
#include <string_view>

#include "watch/server_watch.h"

namespace drover::templates {

struct ServiceQuery {
  std::string name_space;
  std::string region;  // empty: the agent's
  std::string name;    // empty: the names of all services
  std::string choose;  // "number|key"; empty: all instances
};

struct ServiceWish {
  ServiceQuery query;
  std::string tag;  // only instances with it; empty: all
};

// Errors: invalid_argument for a text of another form.
Result<ServiceWish> parse_service(std::string_view text);
// "[@region]". Errors: as above.
Result<ServiceWish> parse_services(std::string_view text);
// How events name it: nomad.service(tag.name@region:count|key), nomad.services(@region).
std::string name_of(const ServiceWish& wish);
// Answers are the instances, or the names with their tags, as the API gives them.
ServerQuestion question_of(const ServiceQuery& query);

}  // namespace drover::templates
