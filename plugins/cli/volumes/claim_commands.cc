// volume claim list, delete: which volumes sticky groups shall have again.
#include "cli_command.h"
#include "confirm.h"
#include "drover/api/host_volumes.pb.h"
#include "drover/uuid.h"
#include "object_output.h"
#include "output.h"
#include "paging.h"
#include "volumes/host_volume_text.h"

namespace drover::cli {
namespace {

int claim_list(Run& run) {
  v1::ListHostVolumeClaimsRequest request;
  request.set_job_id(run.arguments.value("job"));
  request.set_task_group(run.arguments.value("group"));
  request.set_volume_name(run.arguments.value("volume-name"));
  const auto claims = run.client.call<v1::HostVolumeClaims::List>(request, page_of(run.arguments));
  if (!claims) return run.fail("Error querying task group host volume claims", claims.status());
  if (auto code = print_object(run, *claims)) return *code;
  run.out << host_volume_claims_text(claims->message, run.verbose());
  print_next_page(run, "volume claim list", claims->next_token);
  return 0;
}

int claim_delete(Run& run) {
  const std::string& typed = run.arguments.positional()[0];
  const auto id = Uuid::parse(typed);
  if (!id) return run.usage("A claim is named by its whole identifier; volume claim list shows it.");
  if (!run.arguments.on("y")) {
    const std::string question = "Are you sure you want to delete task group host volume claim " + typed + "? [y/N]";
    if (const auto code = ask(run, question)) return *code;
  }
  v1::DeleteHostVolumeClaimRequest request;
  request.set_id(id->bytes());
  const auto done = run.client.call<v1::HostVolumeClaims::Delete>(request);
  if (!done) return run.fail("Error deleting task group host volume claim", done.status());
  run.out << "Task group host volume claim " << typed << " successfully deleted\n";
  return 0;
}

}  // namespace

std::vector<Definition> volume_claim_commands() {
  return {{"volume claim list", "Shows which volumes sticky groups shall have again.", "", "",
           with_page_flags(
               {with_value("job", "", "Of this job only"), with_value("group", "", "Of this group only"),
                with_value("volume-name", "", "On volumes of this name only"), on_off("verbose", "Full identifiers")},
               "JobID == web"),
           0, 0, claim_list},
          {"volume claim delete",
           "Forgets a claim: the group may have another volume next.",
           "<claim>",
           "",
           {on_off("y", "Do not ask")},
           1,
           1,
           claim_delete}};
}

}  // namespace drover::cli
