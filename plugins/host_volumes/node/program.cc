#include "node/program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "drover/program.h"
#include "drover/uuid.h"
#include "node/node_state.pb.h"
#include "words.h"

namespace drover::host_volumes {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kLongestOutput = 64 << 10;
constexpr size_t kLongestText = 512;
constexpr size_t kLongestPath = 4096;

// Nothing but an object is an answer.
json object_in(std::string_view output) {
  json read = json::parse(output, nullptr, /*allow_exceptions=*/false);
  return read.is_object() ? read : json();
}

// One that anybody may write is nobody's to run.
bool is_program(const fs::path& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && (found.st_mode & S_IWOTH) == 0 &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<MadeVolume> read_made(std::string_view output) {
  const json answer = object_in(output);
  if (answer.is_null()) return invalid_argument("its answer is no JSON object");
  const auto path = answer.find("path");
  if (path == answer.end() || !path->is_string()) return invalid_argument("its answer has no path");
  MadeVolume made{.path = path->get<std::string>()};
  if (!made.path.starts_with('/') || made.path.size() > kLongestPath || !is_plain_text(made.path))
    return invalid_argument("its answer's path is no absolute path");
  const auto bytes = answer.find("bytes");
  if (bytes == answer.end() || bytes->is_null()) return made;
  const bool is_size = bytes->is_number_unsigned() && bytes->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
  if (!is_size) return invalid_argument("its answer's bytes are no size");
  made.bytes = bytes->get<int64_t>();
  return made;
}

Result<std::string> read_version(std::string_view output) {
  const json answer = object_in(output);
  if (answer.is_null()) return invalid_argument("its answer is no JSON object");
  const auto version = answer.find("version");
  if (version == answer.end() || !version->is_string()) return invalid_argument("its answer has no version");
  const std::string text = version->get<std::string>();
  constexpr std::string_view kUsual = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+-~";
  const bool is_version = !text.empty() && text.size() <= 64 && text.find_first_not_of(kUsual) == std::string::npos &&
                          text.find_first_of("0123456789") <= 1;
  if (!is_version) return invalid_argument("its answer's version is none");
  return text;
}

std::string read_reason(std::string_view output) {
  const json answer = object_in(output);
  const auto reason = answer.find("error");
  if (reason == answer.end() || !reason->is_string()) return "";
  std::string text = reason->get<std::string>().substr(0, kLongestText);
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

std::map<std::string, std::string> Programs::present() const {
  std::map<std::string, std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folders_.plugins, error)) {
    const std::string name = entry.path().filename().string();
    struct stat file {};
    if (!path_of(name) || ::stat(entry.path().c_str(), &file) != 0) continue;
    found[name] = std::to_string(file.st_ino) + "." + std::to_string(file.st_mtim.tv_sec) + "." +
                  std::to_string(file.st_mtim.tv_nsec);
  }
  return found;
}

// A name that leads out of the folder, by itself or by a link, is no program of it.
Result<std::string> Programs::path_of(const std::string& name) const {
  const Status none = failed_precondition("no host volume plugin \"" + name + "\" on this node");
  if (!is_file_name(name)) return none;
  std::error_code error;
  const fs::path folder = fs::canonical(folders_.plugins, error);
  if (error) return none;
  const fs::path path = fs::canonical(folder / name, error);
  if (error || path.parent_path() != folder || !is_program(path)) return none;
  return path.string();
}

Result<std::string> Programs::version(const std::string& name, const std::stop_token& stop) const {
  DROVER_TRY(const std::string path, path_of(name));
  DROVER_TRY(const std::string output,
             ask_program({.program = path,
                          .arguments = {"fingerprint"},
                          .environment = std::vector<std::string>{"DHV_OPERATION=fingerprint"},
                          .time = times_.fingerprint,
                          .longest = kLongestOutput},
                         stop));
  return read_version(output);
}

std::vector<std::string> Programs::environment(const char* operation, const StoredVolume& volume) const {
  json parameters = json::object();
  for (const auto& [key, value] : volume.parameters()) parameters[key] = value;
  std::vector<std::string> all = {std::string("DHV_OPERATION=") + operation,
                                  "DHV_VOLUMES_DIR=" + folders_.volumes,
                                  "DHV_PLUGIN_DIR=" + folders_.plugins,
                                  "DHV_NAMESPACE=" + volume.namespace_(),
                                  "DHV_VOLUME_NAME=" + volume.name(),
                                  "DHV_VOLUME_ID=" + Uuid::from_bytes(volume.id()).to_string(),
                                  "DHV_NODE_ID=" + Uuid::from_bytes(volume.node_id()).to_string(),
                                  "DHV_NODE_POOL=" + volume.node_pool(),
                                  "DHV_PARAMETERS=" + parameters.dump(-1, ' ', false, json::error_handler_t::replace)};
  if (const char* path = std::getenv("PATH")) all.push_back(std::string("PATH=") + path);
  return all;
}

Result<std::string> Programs::run(const char* operation, const StoredVolume& volume,
                                  const std::stop_token& stop) const {
  DROVER_TRY(const std::string path, path_of(volume.plugin_id()));
  std::vector<std::string> told = environment(operation, volume);
  if (std::string_view(operation) == "create") {
    told.push_back("DHV_CAPACITY_MIN_BYTES=" + std::to_string(volume.capacity_min()));
    told.push_back("DHV_CAPACITY_MAX_BYTES=" + std::to_string(volume.capacity_max()));
  } else {
    told.push_back("DHV_CREATED_PATH=" + volume.host_path());
  }
  const auto end = run_program({.program = path,
                                .arguments = {operation},
                                .environment = std::move(told),
                                .time = times_.step,
                                .longest = kLongestOutput},
                               stop);
  const std::string what = std::string(operation) + " of volume " + Uuid::from_bytes(volume.id()).to_string() +
                           " by plugin \"" + volume.plugin_id() + "\"";
  // The program is gone, whatever became of it: the call is over.
  if (!end)
    return end.status().code() == Code::cancelled ? end.status()
                                                  : failed_precondition(what + ": " + end.status().message());
  if (end->code == 0) return end->output;
  const std::string reason = read_reason(end->output);
  return failed_precondition(what + ": exit status " + std::to_string(end->code) +
                             (reason.empty() ? "" : ": " + reason));
}

Result<MadeVolume> Programs::create(const StoredVolume& volume, const std::stop_token& stop) const {
  DROVER_TRY(const std::string output, run("create", volume, stop));
  auto made = read_made(output);
  if (!made) return failed_precondition("plugin \"" + volume.plugin_id() + "\": " + made.status().message());
  std::error_code error;
  if (!fs::exists(made->path, error))
    return failed_precondition("plugin \"" + volume.plugin_id() + "\": its answer's path is not there");
  return made;
}

Status Programs::erase(const StoredVolume& volume, const std::stop_token& stop) const {
  return run("delete", volume, stop).status();
}

}  // namespace drover::host_volumes
