// volume snapshot create, delete, list.
#include "cli_command.h"
#include "drover/api/volumes.pb.h"
#include "object_output.h"
#include "output.h"
#include "paging.h"
#include "volumes/find_volume.h"
#include "volumes/secret_flag.h"
#include "volumes/volume_file.h"
#include "volumes/volume_text.h"

namespace drover::cli {
namespace {

template <typename Snapshots>
std::string text_of(const Snapshots& snapshots, bool verbose) {
  std::vector<const v1::VolumeSnapshot*> all;
  for (const v1::VolumeSnapshot& snapshot : snapshots) all.push_back(&snapshot);
  return snapshots_text(all, verbose);
}

int snapshot_create(Run& run) {
  const auto secrets = read_pairs("secret", run.arguments.values("secret"));
  if (!secrets) return run.usage(secrets.status().message());
  const auto parameters = read_pairs("parameter", run.arguments.values("parameter"));
  if (!parameters) return run.usage(parameters.status().message());
  const auto& words = run.arguments.positional();
  const auto volume = find_volume(run, words[0]);
  if (!volume) return run.fail("Error querying volumes", volume.status());
  v1::CreateSnapshotsRequest request;
  v1::VolumeSnapshot& snapshot = *request.add_snapshots();
  snapshot.set_source_volume_id(*volume);
  if (words.size() > 1) snapshot.set_name(words[1]);
  snapshot.mutable_secrets()->insert(secrets->begin(), secrets->end());
  snapshot.mutable_parameters()->insert(parameters->begin(), parameters->end());
  const auto created = run.client.call<v1::Volumes::CreateSnapshots>(request);
  if (!created) return run.fail("Error creating snapshot", created.status());
  run.out << text_of(created->message.snapshots(), run.verbose());
  return 0;
}

int snapshot_delete(Run& run) {
  const auto secrets = read_pairs("secret", run.arguments.values("secret"));
  if (!secrets) return run.usage(secrets.status().message());
  const auto& words = run.arguments.positional();
  v1::DeleteSnapshotRequest request;
  request.set_plugin_id(words[0]);
  request.set_snapshot_id(words[1]);
  request.mutable_secrets()->insert(secrets->begin(), secrets->end());
  const auto done = run.client.call<v1::Volumes::DeleteSnapshot>(request);
  return done ? 0 : run.fail("Error deleting snapshot", done.status());
}

// The one that was named, or the only one there is.
Result<std::string> plugin_of(Run& run) {
  if (run.arguments.is_set("plugin")) return run.arguments.value("plugin");
  v1::ListCsiPluginsRequest request;
  request.set_type("csi");
  DROVER_TRY(const auto plugins, run.client.call<v1::CsiPlugins::List>(request));
  const auto& all = plugins.message.plugins();
  if (all.empty()) return not_found("No CSI plugins");
  if (all.size() == 1) return all[0].id();
  std::string names;
  for (const v1::CsiPluginStub& plugin : all) names += "\n  " + plugin.id();
  return invalid_argument("there are several plugins; name one by -plugin:" + names);
}

int snapshot_list(Run& run) {
  const auto secrets = read_pairs("secret", run.arguments.values("secret"));
  if (!secrets) return run.usage(secrets.status().message());
  auto plugin = plugin_of(run);
  if (!plugin) return run.fail("Error querying CSI plugins", plugin.status());
  v1::ListSnapshotsRequest request;
  request.set_plugin_id(*std::move(plugin));
  request.mutable_secrets()->insert(secrets->begin(), secrets->end());
  Parameters page = {{"per_page", run.arguments.value("per-page")}};
  if (run.arguments.is_set("page-token")) page.emplace("next_token", run.arguments.value("page-token"));
  const auto listed = run.client.call<v1::Volumes::ListSnapshots>(request, page);
  if (!listed) return run.fail("Error querying snapshots", listed.status());
  run.out << text_of(listed->message.snapshots(), run.verbose());
  print_next_page(run, "volume snapshot list", listed->message.next_token());
  return 0;
}

}  // namespace

std::vector<Definition> volume_snapshot_commands() {
  const Flag verbose = on_off("verbose", "Full identifiers");
  return {
      {"volume snapshot create",
       "Has the storage make a snapshot of a volume.",
       "<volume> [name]",
       "Without a name the storage chooses one.\n",
       {secret_flag(), with_value("parameter", "", "key=value for the storage, may be given several times"), verbose},
       1,
       2,
       snapshot_create},
      {"volume snapshot delete",
       "Has the storage delete a snapshot.",
       "<plugin> <snapshot>",
       "",
       {secret_flag()},
       2,
       2,
       snapshot_delete},
      {"volume snapshot list",
       "Lists the snapshots that a plugin's storage has.",
       "",
       "",
       {with_value("plugin", "", "The plugin; where there is one only, it is that"), secret_flag(), verbose,
        with_value("per-page", "30", "So many at a time"), with_value("page-token", "", "Where the page begins")},
       0,
       0,
       snapshot_list}};
}

}  // namespace drover::cli
