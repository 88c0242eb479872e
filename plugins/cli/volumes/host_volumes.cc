#include "volumes/host_volumes.h"

#include <algorithm>

#include "drover/api/host_volumes.pb.h"
#include "drover/api/nodes.pb.h"
#include "drover/uuid.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"
#include "paging.h"
#include "volumes/host_volume_file.h"
#include "volumes/host_volume_text.h"

namespace drover::cli {
namespace {

constexpr const char* kHostTitle = "Dynamic Host Volumes\n";

std::vector<v1::HostVolumeStub> all_of(const v1::ListHostVolumesResponse& response) {
  return {response.volumes().begin(), response.volumes().end()};
}

// The one whose name or identifier begins so, or is it. Errors: not_found; invalid_argument listing several.
Result<v1::HostVolumeStub> find_host_volume(Run& run, const std::string& typed) {
  DROVER_TRY(const auto answer, run.client.call<v1::HostVolumes::List>({}, {{"prefix", typed}}));
  const auto matches = all_of(answer.message);
  if (matches.empty()) return not_found("no volumes with prefix or ID \"" + typed + "\" found");
  if (matches.size() == 1) return matches[0];
  const v1::HostVolumeStub* exact = nullptr;
  size_t count = 0;
  for (const v1::HostVolumeStub& match : matches) {
    if (match.name() != typed && id_text(match.id()) != typed) continue;
    exact = &match;
    ++count;
  }
  if (count == 1) return *exact;
  return invalid_argument("Prefix matched multiple volumes\n\n" + format_list(host_volume_rows(matches, true)));
}

// The volume of the file, and with -id which one it changes.
Result<v1::HostVolumeRequest> request_of(Run& run, const std::string& name, const std::string& text) {
  v1::HostVolumeRequest request;
  DROVER_TRY(*request.mutable_volume(), read_host_volume_file(name, text));
  v1::DescribedHostVolume& volume = *request.mutable_volume();
  if (!volume.namespace_().empty()) run.client.set_namespace(volume.namespace_());
  request.set_policy_override(run.arguments.on("policy-override"));
  const std::string id = run.arguments.value("id");
  if (id.empty()) return request;
  DROVER_TRY(const v1::HostVolumeStub found, find_host_volume(run, id));
  volume.set_id(found.id());
  return request;
}

std::string named(const v1::DescribedHostVolume& volume) {
  return "host volume " + volume.name() + " with ID " + id_text(volume.id());
}

// Waits until its node offers it.
int follow(Run& run, const v1::DescribedHostVolume& created, uint64_t seen) {
  run.out << "==> " << full_time(now_ns()) << ": Monitoring volume \"" << id_text(created.id(), run.verbose())
          << "\"...\n"
          << std::flush;
  if (!created.namespace_().empty()) run.client.set_namespace(created.namespace_());
  v1::ReadHostVolumeRequest request;
  request.set_id(created.id());
  for (;;) {
    const auto answer =
        run.client.call<v1::HostVolumes::Get>(request, {{"index", std::to_string(seen)}, {"wait", "5s"}});
    if (!answer) return run.fail("Error monitoring volume", answer.status());
    const v1::DescribedHostVolume& volume = answer->message.volume();
    if (volume.state() == "ready") {
      run.out << "==> " << full_time(now_ns()) << ": Volume \"" << volume.name() << "\" ready\n";
      return 0;
    }
    seen = std::max(seen, volume.modify_index());
  }
}

}  // namespace

int create_host_volume(Run& run, const std::string& name, const std::string& text) {
  const auto request = request_of(run, name, text);
  if (!request) return run.fail("Error reading the volume", request.status());
  const auto done = run.client.call<v1::HostVolumes::Create>(*request);
  if (!done) return run.fail("Error creating volume", done.status());
  const v1::DescribedHostVolume& volume = done->message.volume();
  const bool is_over = run.arguments.on("detach") || volume.state() == "ready";
  run.out << (is_over ? "" : "==> ") << "Created " << named(volume) << "\n" << std::flush;
  return is_over ? 0 : follow(run, volume, done->message.index());
}

int register_host_volume(Run& run, const std::string& name, const std::string& text) {
  const auto request = request_of(run, name, text);
  if (!request) return run.fail("Error reading the volume", request.status());
  if (request->volume().node_id().empty()) return run.usage("Node ID is required for registering");
  const auto done = run.client.call<v1::HostVolumes::Register>(*request);
  if (!done) return run.fail("Error registering volume", done.status());
  run.out << "Registered " << named(done->message.volume()) << "\n";
  return 0;
}

int delete_host_volume(Run& run, const std::string& typed) {
  v1::DeleteHostVolumeRequest request;
  request.set_force(run.arguments.on("force"));
  std::string shown = typed;
  if (const auto id = Uuid::parse(typed)) {
    request.set_id(id->bytes());
  } else {
    const auto found = find_host_volume(run, typed);
    if (!found) return run.fail("Could not find existing host volume to delete", found.status());
    run.client.set_namespace(found->namespace_());
    request.set_id(found->id());
    shown = id_text(found->id());
  }
  const auto done = run.client.call<v1::HostVolumes::Delete>(request);
  if (!done) return run.fail("Error deleting volume", done.status());
  run.out << "Successfully deleted volume \"" << shown << "\"!\n";
  return 0;
}

int list_host_volumes(Run& run) {
  v1::ListHostVolumesRequest request;
  request.set_node_pool(run.arguments.value("node-pool"));
  if (run.arguments.is_set("node")) {
    const auto node = find_node(run, run.arguments.value("node"));
    if (!node) return run.fail("Error querying node", node.status());
    request.set_node_id(node->message.node().node().id());
  }
  const auto volumes = run.client.call<v1::HostVolumes::List>(request, page_of(run.arguments));
  if (!volumes) return run.fail("Error querying host volumes", volumes.status());
  if (auto code = print_object(run, *volumes)) return *code;
  run.out << kHostTitle;
  if (volumes->message.volumes().empty()) {
    run.out << "No dynamic host volumes\n";
    return 0;
  }
  run.out << format_list(host_volume_rows(all_of(volumes->message), run.verbose()));
  print_next_page(run, "volume status", volumes->next_token);
  return 0;
}

std::optional<int> show_host_volume(Run& run, const std::string& typed, bool is_asked) {
  const auto stub = find_host_volume(run, typed);
  if (!stub) {
    const bool may_be_other = !is_asked && stub.status().code() != Code::invalid_argument;
    return may_be_other ? std::nullopt : std::optional(run.fail("Error querying host volumes", stub.status()));
  }
  if (!stub->namespace_().empty()) run.client.set_namespace(stub->namespace_());
  v1::ReadHostVolumeRequest request;
  request.set_id(stub->id());
  const auto found = run.client.call<v1::HostVolumes::Get>(request);
  if (!found) return run.fail("Error querying host volume", found.status());
  if (auto code = print_object(run, *found)) return *code;
  run.out << host_volume_text(found->message.volume(), run.arguments.on("short"), run.verbose());
  return 0;
}

}  // namespace drover::cli
