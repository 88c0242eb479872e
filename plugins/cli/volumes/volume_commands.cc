// volume create, register, deregister, delete, detach, status, init, claims explain.
#include <fstream>

#include "cli_command.h"
#include "confirm.h"
#include "drover/api/nodes.pb.h"
#include "drover/api/volumes.pb.h"
#include "drover/uuid.h"
#include "input.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"
#include "paging.h"
#include "volumes/find_volume.h"
#include "volumes/host_volume_file.h"
#include "volumes/host_volumes.h"
#include "volumes/secret_flag.h"
#include "volumes/volume_file.h"
#include "volumes/volume_text.h"

namespace drover::cli {
namespace {

constexpr const char* kTitle = "Container Storage Interface\n";

Flag type_flag(const char* usual) {
  return with_value("type", "", std::string("The kind of volume, csi or host; without it: ") + usual);
}

Status check_type(const Run& run) {
  const std::string type = run.arguments.value("type");
  if (type.empty() || type == "csi" || type == "host") return ok_status();
  return invalid_argument("-type: \"" + type + "\" is no kind of volume that the servers keep; there are csi and host");
}

// A file that describes a volume of either kind.
struct Input {
  std::string name, text = {}, type = {};
};

Result<Input> read_input(Run& run) {
  const std::string& path = run.arguments.positional()[0];
  Input input{.name = path == "-" ? "<stdin>" : path};
  DROVER_TRY(input.text, read_text(run, path));
  DROVER_TRY(input.type, volume_type_in(input.name, input.text));
  if (!input.type.empty() && input.type != "csi" && input.type != "host")
    return invalid_argument(input.name + ": type: \"" + input.type + "\" is no kind of volume; there are csi and host");
  return input;
}

Result<v1::Volume> volume_of(Run& run, const Input& input) {
  DROVER_TRY(v1::Volume volume, read_volume_file(input.name, input.text));
  if (!volume.namespace_().empty()) run.client.set_namespace(volume.namespace_());
  return volume;
}

v1::VolumesRequest request_for(const v1::Volume& volume) {
  v1::VolumesRequest request;
  *request.add_volumes() = volume;
  request.set_volume_id(volume.id());
  return request;
}

int volume_register(Run& run) {
  const auto input = read_input(run);
  if (!input) return run.fail("Error reading the volume", input.status());
  if (input->type == "host") return register_host_volume(run, input->name, input->text);
  const auto volume = volume_of(run, *input);
  if (!volume) return run.fail("Error reading the volume", volume.status());
  const auto done = run.client.call<v1::Volumes::Register>(request_for(*volume));
  if (!done) return run.fail("Error registering volume", done.status());
  run.out << "Volume \"" << volume->id() << "\" registered\n";
  return 0;
}

int volume_create(Run& run) {
  const auto input = read_input(run);
  if (!input) return run.fail("Error reading the volume", input.status());
  if (input->type == "host") return create_host_volume(run, input->name, input->text);
  const auto volume = volume_of(run, *input);
  if (!volume) return run.fail("Error reading the volume", volume.status());
  const auto created = run.client.call<v1::Volumes::Create>(request_for(*volume));
  if (!created) return run.fail("Error creating volume", created.status());
  for (const v1::Volume& each : created->message.volumes())
    run.out << "Created external volume " << each.external_id() << " with ID " << each.id() << "\n";
  return 0;
}

int volume_deregister(Run& run) {
  const auto id = find_volume(run, run.arguments.positional()[0]);
  if (!id) return run.fail("Error querying volumes", id.status());
  v1::DeregisterVolumeRequest request;
  request.set_volume_id(*id);
  request.set_force(run.arguments.on("force"));
  if (request.force()) {
    const std::string question = "Are you sure you want to force deregister volume \"" + *id + "\"? [y/N]";
    if (const auto code = ask(run, question)) return *code;
  }
  const auto done = run.client.call<v1::Volumes::Deregister>(request);
  if (!done) return run.fail("Error deregistering volume", done.status());
  run.out << "Successfully deregistered volume \"" << *id << "\"!\n";
  return 0;
}

int volume_delete(Run& run) {
  if (const Status type = check_type(run); !type.ok()) return run.usage(type.message());
  if (run.arguments.value("type") == "host") return delete_host_volume(run, run.arguments.positional()[0]);
  if (run.arguments.on("force")) return run.usage("-force is for host volumes: -type host");
  const auto secrets = read_pairs("secret", run.arguments.values("secret"));
  if (!secrets) return run.usage(secrets.status().message());
  // Never by a part of its name: what is on it is gone then.
  v1::DeleteVolumeRequest request;
  request.set_volume_id(run.arguments.positional()[0]);
  request.mutable_secrets()->insert(secrets->begin(), secrets->end());
  const auto done = run.client.call<v1::Volumes::Delete>(request);
  if (!done) return run.fail("Error deleting volume", done.status());
  run.out << "Successfully deleted volume \"" << request.volume_id() << "\"!\n";
  return 0;
}

// A node that is gone is named whole.
Result<std::string> node_named(Run& run, const std::string& typed) {
  auto node = find_node(run, typed);
  if (node) return node->message.node().node().id();
  const auto whole = Uuid::parse(typed);
  if (node.status().code() == Code::not_found && whole) return whole->bytes();
  return node.status();
}

int volume_detach(Run& run) {
  const auto& words = run.arguments.positional();
  v1::DetachVolumeRequest request;
  auto node = node_named(run, words[1]);
  if (!node) return run.fail("Error detaching volume", node.status());
  auto volume = find_volume(run, words[0]);
  if (!volume) return run.fail("Error detaching volume", volume.status());
  request.set_volume_id(*std::move(volume));
  request.set_node(*std::move(node));
  const auto done = run.client.call<v1::Volumes::Detach>(request);
  return done ? 0 : run.fail("Error detaching volume", done.status());
}

// Shows the volumes that the storage of each plugin says it has.
int list_external(Run& run) {
  v1::ListCsiPluginsRequest plugins_request;
  plugins_request.set_type("csi");
  const auto plugins = run.client.call<v1::CsiPlugins::List>(plugins_request);
  if (!plugins) return run.fail("Error querying CSI plugins", plugins.status());
  int code = 0;
  for (const v1::CsiPluginStub& plugin : plugins->message.plugins()) {
    if (!plugin.controller_required() || plugin.controllers_healthy() == 0) continue;  // only controllers can tell
    v1::ListExternalVolumesRequest request;
    request.set_plugin_id(plugin.id());
    std::vector<std::vector<std::string>> rows = {kExternalColumns};
    std::string token;
    do {
      const Parameters page = token.empty() ? Parameters() : Parameters{{"next_token", token}};
      const auto volumes = run.client.call<v1::Volumes::ListExternal>(request, page);
      if (!volumes) {
        code = run.fail("Error querying the volumes of plugin \"" + plugin.id() + "\"", volumes.status());
        break;
      }
      for (const v1::CsiExternalVolume& volume : volumes->message.volumes()) rows.push_back(external_row(volume));
      if (!token.empty() && volumes->message.next_token() == token) {
        code = run.usage("Error querying the volumes of plugin \"" + plugin.id() + "\": it repeats the page \"" +
                         token + "\" for ever");
        break;
      }
      token = volumes->message.next_token();
    } while (!token.empty());
    if (rows.size() > 1) run.out << "\nVolumes in the storage of " << plugin.id() << "\n" << format_list(rows);
  }
  return code;
}

int list_volumes(Run& run) {
  v1::ListVolumesRequest request;
  request.set_type("csi");
  const auto volumes = run.client.call<v1::Volumes::List>(request, page_of(run.arguments));
  if (!volumes) return run.fail("Error querying CSI volumes", volumes.status());
  if (auto code = print_object(run, *volumes)) return *code;
  run.out << kTitle;
  if (volumes->message.volumes().empty()) {
    run.out << "No CSI volumes\n";
  } else {
    run.out << format_list(volume_rows(volumes->message, run.client.name_space() == "*"));
    print_next_page(run, "volume status", volumes->next_token);
  }
  return run.verbose() && !run.arguments.on("short") ? list_external(run) : 0;
}

int show_volume(Run& run, const std::string& typed) {
  const auto id = find_volume(run, typed);
  if (!id) return run.fail("Error querying volumes", id.status());
  v1::ReadVolumeRequest request;
  request.set_volume_id(*id);
  const auto found = run.client.call<v1::Volumes::Get>(request);
  if (!found) return run.fail("Error querying volume", found.status());
  if (auto code = print_object(run, *found)) return *code;
  const v1::Volume& volume = found->message.volume();
  run.out << format_pairs(volume_pairs(volume));
  if (!run.arguments.on("short")) run.out << volume_sections(volume, run.verbose());
  return 0;
}

int volume_status(Run& run) {
  if (const Status type = check_type(run); !type.ok()) return run.usage(type.message());
  const std::string type = run.arguments.value("type");
  const bool is_of_nodes = run.arguments.is_set("node") || run.arguments.is_set("node-pool");
  if (is_of_nodes && type == "csi") return run.usage("-node and -node-pool can only be used with -type host");
  const auto& typed = run.arguments.positional();
  if (!typed.empty()) {
    if (is_of_nodes) return run.usage("-node and -node-pool can only be used when no volume is named");
    if (type == "csi") return show_volume(run, typed[0]);
    const auto code = show_host_volume(run, typed[0], type == "host");
    return code ? *code : show_volume(run, typed[0]);
  }
  if (type == "host" || is_of_nodes) return list_host_volumes(run);
  // A page is one of one kind.
  if (type == "csi" || wants_object(run) || !page_of(run.arguments).empty()) return list_volumes(run);
  const int host = list_host_volumes(run);
  run.out << "\n";
  const int csi = list_volumes(run);
  return host != 0 ? host : csi;
}

int volume_init(Run& run) {
  if (const Status type = check_type(run); !type.ok()) return run.usage(type.message());
  const bool is_json = run.arguments.on("json");
  const auto& typed = run.arguments.positional();
  const std::string path = typed.empty() ? (is_json ? "volume.json" : "volume.hcl") : typed[0];
  if (std::ifstream(path).good()) return run.usage("The file " + path + " is there already.");
  std::ofstream file(path);
  if (run.arguments.value("type") == "host") {
    file << (is_json ? kHostVolumeExampleJson : kHostVolumeExample);
  } else {
    file << (is_json ? kVolumeExampleJson : kVolumeExample);
  }
  file.close();
  if (!file) return run.usage("The file " + path + " cannot be written.");
  run.out << "Example volume specification written to " << path << "\n";
  return 0;
}

int claims_explain(Run& run) {
  const auto id = find_volume(run, run.arguments.positional()[0]);
  if (!id) return run.fail("Error querying volumes", id.status());
  v1::ReadVolumeRequest request;
  request.set_volume_id(*id);
  const auto claims = run.client.call<v1::Volumes::Explain>(request);
  if (!claims) return run.fail("Error querying claims", claims.status());
  if (auto code = print_object(run, *claims)) return *code;
  run.out << claims_text(claims->message, run.verbose());
  return 0;
}

}  // namespace

std::vector<Definition> volume_commands() {
  const Flag verbose = on_off("verbose", "Full identifiers; of all volumes also those that only their storage knows");
  const Flag id = with_value("id", "", "Of a host volume: changes the one whose identifier or name begins so");
  const Flag override_policy = on_off("policy-override", "Of a host volume: where a policy would refuse it");
  return {{"volume create",
           "Has a storage plugin or a node create a volume, and makes it known.",
           "<file>",
           "The file is HCL or JSON, as volume init writes one; - reads standard input.\n",
           {on_off("detach", "Of a host volume: do not wait until it is ready"), id, override_policy,
            on_off("verbose", "Full identifiers")},
           1,
           1,
           volume_create},
          {"volume register",
           "Makes a volume known that its storage or its node has already, or changes it.",
           "<file>",
           "The file is HCL or JSON, as volume init writes one; - reads standard input.\n",
           {id, override_policy},
           1,
           1,
           volume_register},
          {"volume deregister",
           "Forgets a volume; its storage keeps it.",
           "<volume>",
           "A volume that is in use stays.\n",
           {on_off("force", "Also where only allocations that ended claim it; asks before")},
           1,
           1,
           volume_deregister},
          {"volume delete",
           "Has the storage or the node delete a volume with all that is on it, and forgets it.",
           "<volume>",
           "A volume that is in use stays.\n",
           {secret_flag(), type_flag("csi"),
            on_off("force", "Of a host volume: also where its node is gone for good, without asking it")},
           1,
           1,
           volume_delete},
          {"volume detach",
           "Gives back what ended allocations of a node claim of a volume.",
           "<volume> <node>",
           "A node that is gone is named by its whole identifier.\n",
           {},
           2,
           2,
           volume_detach},
          {"volume status", "Shows the volumes, or one with its claims and allocations.", "[volume]", "",
           with_page_flags({type_flag("both"), on_off("short", "Leave out claims, places and allocations"), verbose,
                            with_value("node", "", "Host volumes of this node only"),
                            with_value("node-pool", "", "Host volumes of this pool only")},
                           "PluginID == ebs"),
           0, 1, volume_status},
          {"volume init",
           "Writes an example of a volume's file.",
           "[file]",
           "Without a name: volume.hcl, or volume.json.\n",
           {on_off("json", "In JSON"), type_flag("csi")},
           0,
           1,
           volume_init},
          {"volume claims explain", "Says who holds a volume, and what frees it.", "<volume>", "",
           with_object_flags({on_off("verbose", "Full identifiers")}), 1, 1, claims_explain}};
}

}  // namespace drover::cli
