#include <filesystem>
#include <fstream>

#include "commands.h"
#include "drover/task_driver.h"
#include "options.h"
#include "templates.h"

namespace drover::author {
namespace {

const std::vector<Option> kOptions = {
    {"dir", "DIR", "the project's folder, which must not be there or be empty (./NAME)"},
};

Status check_name(std::string_view name) {
  const auto is_good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  bool is_name = !name.empty() && name.size() <= 40 && name[0] >= 'a' && name[0] <= 'z';
  for (const char c : name) is_name = is_name && is_good(c);
  if (is_name) return ok_status();
  return invalid_argument(
      "a plugin's name has small letters, digits, _ and -, begins with a letter and is at most 40 long");
}

// The name that a storage plugin tells is in the style of domains.
Status check_domain(std::string_view kind, std::string_view name) {
  if (kind != "csi" || name.find('_') == std::string_view::npos) return ok_status();
  return invalid_argument("the name of a storage plugin has no _");
}

// "web_cam-2" as "WebCam2". Templates add a word, "WebCam2Driver": no name of a class alone is free, for the SDK's
// macros look into its namespace first.
std::string camel_case(std::string_view name) {
  std::string out;
  bool is_first = true;
  for (const char c : name) {
    if (c == '_' || c == '-') {
      is_first = true;
      continue;
    }
    out += is_first && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    is_first = false;
  }
  return out;
}

// The SDK has a ProcessDriver and a TaskDriver itself.
Status check_class(std::string_view kind, const std::string& class_name) {
  if (kind != TaskDriver::kKind.word || (class_name != "Process" && class_name != "Task")) return ok_status();
  return invalid_argument("the class of the driver would be called " + class_name +
                          "Driver, which is one of the SDK's; choose another name");
}

std::string filled(std::string_view text, const std::string& name, const std::string& class_name) {
  std::string out(text);
  for (const auto& [mark, value] : {std::pair<std::string, std::string>("@NAME@", name), {"@CLASS@", class_name}}) {
    for (size_t at = out.find(mark); at != std::string::npos; at = out.find(mark, at + value.size()))
      out.replace(at, mark.size(), value);
  }
  return out;
}

Status write_project(std::span<const Template> templates, const std::string& name, const std::string& class_name,
                     const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder) && !std::filesystem::is_empty(folder, error))
    return already_exists(folder.string() + ": is there and not empty");
  for (const Template& each : templates) {
    const std::filesystem::path path = folder / filled(each.path, name, class_name);
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) return invalid_argument(path.parent_path().string() + ": cannot be made: " + error.message());
    std::ofstream file(path);
    file << filled(each.text, name, class_name);
    if (!file.flush()) return invalid_argument(path.string() + ": cannot be written");
    if (path.extension() == ".sh") std::filesystem::permissions(path, std::filesystem::perms(0755), error);
  }
  return ok_status();
}

// "driver, device and …": the kinds of the SDK, and storage plugins, which speak CSI.
std::string kinds(std::string_view between = ", ", std::string_view last = " and ") {
  std::string out;
  for (const PluginKind& kind : plugin_kinds()) out.append(out.empty() ? "" : between).append(kind.word);
  return out.append(last).append("csi");
}

}  // namespace

std::string NewCommand::help() const {
  return "Usage: drover plugin new [options] " + kinds("|", "|") +
         " NAME\n\n"
         "  Writes the project of a new plugin: source, CMake, manifest, tests, README and CI. It builds against an\n"
         "  installed drover (cmake --install, or the packages drover and drover-sdk) and passes its tests at once.\n\n"
         "Options:\n\n" +
         help_of(kOptions);
}

int NewCommand::run(std::span<const std::string> arguments, CommandHost& host) {
  if (wants_help(arguments)) {
    host.out() << help();
    return 0;
  }
  const auto write = [&]() -> Result<std::string> {
    DROVER_TRY(const Options options, Options::parse(arguments, kOptions));
    if (options.arguments().size() != 2)
      return invalid_argument("name the kind (one of " + kinds() + ") and the plugin: drover plugin new driver acme");
    const std::string &kind = options.arguments()[0], &name = options.arguments()[1];
    const auto templates = templates_of(kind);
    if (templates.empty())
      return invalid_argument("\"" + kind + "\" is no kind of plugin that can be written; there are " + kinds());
    DROVER_RETURN_IF_ERROR(check_name(name));
    DROVER_RETURN_IF_ERROR(check_domain(kind, name));
    const std::string class_name = camel_case(name);
    DROVER_RETURN_IF_ERROR(check_class(kind, class_name));
    const std::string folder = options.value("dir", name);
    DROVER_RETURN_IF_ERROR(write_project(templates, name, class_name, folder));
    return folder;
  };
  const auto folder = write();
  if (!folder) {
    host.err() << "Error: " << folder.status().message() << "\n";
    return 1;
  }
  host.out() << "The project is in " << *folder << ". Build and test it:\n\n    cd " << *folder << "\n    ./ci.sh\n";
  return 0;
}

}  // namespace drover::author
