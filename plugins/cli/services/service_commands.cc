// service list, info, delete.
#include <algorithm>

#include "cli_command.h"
#include "drover/api/services.pb.h"
#include "object_output.h"
#include "output.h"
#include "paging.h"
#include "services/service_text.h"

namespace drover::cli {
namespace {

int service_list(Run& run) {
  auto found = run.client.call<v1::Services::List>({});
  if (!found) return run.fail("Error listing service registrations", found.status());
  if (const std::string name = run.arguments.value("name"); !name.empty()) keep_service(found->message, name);
  if (found->message.namespaces().empty()) {
    run.out << "No service registrations found\n";
    return 0;
  }
  if (auto code = print_object(run, *found)) return *code;
  run.out << format_list(service_rows(found->message, run.client.options().name_space == "*"));
  return 0;
}

int service_info(Run& run) {
  v1::GetServiceRequest request;
  request.set_service_name(run.arguments.positional()[0]);
  auto found = run.client.call<v1::Services::Get>(request, page_of(run.arguments));
  if (!found) return run.fail("Error listing service registrations", found.status());
  if (found->message.services().empty()) {
    run.out << "No service registrations found\n";
    return 0;
  }
  if (auto code = print_object(run, *found)) return *code;
  run.out << (run.verbose() ? instance_blocks(found->message) : format_list(instance_rows(found->message)));
  print_next_page(run, "service info " + request.service_name(), found->next_token);
  return 0;
}

int service_delete(Run& run) {
  v1::DeleteServiceRequest request;
  request.set_service_name(run.arguments.positional()[0]);
  request.set_id(run.arguments.positional()[1]);
  const auto deleted = run.client.call<v1::Services::Delete>(request);
  if (!deleted) return run.fail("Error deleting service registration", deleted.status());
  run.out << "Successfully deleted service registration\n";
  return 0;
}

}  // namespace

std::vector<Definition> service_commands() {
  return {{"service list", "Lists the services that are found by name.", "", "",
           with_object_flags({with_value("name", "", "Only this service")}), 0, 0, service_list},
          {"service info", "Lists the instances of a service.", "<service>", "",
           with_page_flags({on_off("verbose", "Full identifiers, and all that is known of each instance")},
                           "Address == \"10.0.0.1\""),
           1, 1, service_info},
          {"service delete",
           "Removes an instance of a service that is no longer there.",
           "<service> <service-id>",
           "Its node says the instance again while it runs; this is for what was left behind.",
           {},
           2,
           2,
           service_delete}};
}

}  // namespace drover::cli
