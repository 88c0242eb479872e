// Services as tables and blocks of text. Pure.
#pragma once

#include <string>
#include <vector>

namespace drover::v1 {
class ListServicesResponse;
class ServiceRegistrationsResponse;
}  // namespace drover::v1

namespace drover::cli {

// Keeps the service of that name; what is empty then goes.
void keep_service(v1::ListServicesResponse& services, const std::string& name);

// With the heading.
std::vector<std::vector<std::string>> service_rows(const v1::ListServicesResponse& services, bool with_namespace);
std::vector<std::vector<std::string>> instance_rows(const v1::ServiceRegistrationsResponse& instances);

// All that is known of each instance, an empty line between two.
std::string instance_blocks(const v1::ServiceRegistrationsResponse& instances);

}  // namespace drover::cli
