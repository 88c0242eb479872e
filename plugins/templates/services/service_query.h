// What a template asks of services: "[tag.]name[@region]", or a choice of so many instances for a key. Pure.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::templates {

// One read of the servers; templates that ask the same share it.
struct ServiceQuery {
  std::string name_space;
  std::string region;  // empty: the agent's
  std::string name;    // empty: the names of all services
  std::string choose;  // "number|key"; empty: all instances
  auto operator<=>(const ServiceQuery&) const = default;
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

}  // namespace drover::templates
