#include "node/mkdir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>

#include "drover/uuid.h"
#include "node/node_state.pb.h"

namespace drover::host_volumes {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kAllBits = 07777;

std::string name_of(const StoredVolume& volume) { return Uuid::from_bytes(volume.id()).to_string(); }

template <typename Number>
Result<Number> number_of(const std::string& name, const std::string& text, int base, Number most) {
  uint64_t read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read, base);
  if (error != std::errc() || end != text.data() + text.size() || read > most)
    return invalid_argument("invalid value for \"" + name + "\"");
  return static_cast<Number>(read);
}

Status failed(const char* what, int error) {
  return failed_precondition(std::string("error ") + what + ": " + errno_status(error, "mkdir").message());
}

}  // namespace

Result<FolderRights> rights_of(const StoredVolume& volume) {
  FolderRights rights;
  // The largest number of each stands for "none".
  constexpr uid_t kMostId = static_cast<uid_t>(-2);
  for (const auto& [name, text] : volume.parameters()) {
    if (name == "mode") {
      DROVER_TRY(rights.mode, number_of<mode_t>(name, text, 8, kAllBits));
    } else if (name == "uid") {
      DROVER_TRY(rights.uid, number_of<uid_t>(name, text, 10, kMostId));
    } else if (name == "gid") {
      DROVER_TRY(rights.gid, number_of<gid_t>(name, text, 10, kMostId));
    } else {
      return invalid_argument("unknown mkdir parameter: \"" + name + "\"");
    }
  }
  return rights;
}

// Under another name until it is as it shall be: a folder of the right name is whole.
Result<MadeVolume> make_folder(const std::string& folder, const StoredVolume& volume) {
  DROVER_TRY(const FolderRights rights, rights_of(volume));
  const std::string path = folder + "/" + name_of(volume), coming = path + ".new";
  std::error_code error;
  if (fs::is_directory(fs::symlink_status(path, error))) return MadeVolume{.path = path};
  fs::create_directories(folder, error);
  if (error) return failed("creating the folder of volumes", error.value());
  if (::mkdir(coming.c_str(), 0700) != 0 && errno != EEXIST) return failed("creating directory", errno);
  if (::chown(coming.c_str(), rights.uid, rights.gid) != 0) {
    const int cause = errno;
    ::rmdir(coming.c_str());
    return failed("changing owner/group", cause);
  }
  // After the owner: a change of that takes bits of the mode away.
  if (::chmod(coming.c_str(), rights.mode) != 0) return failed("setting directory permission mode", errno);
  if (::rename(coming.c_str(), path.c_str()) != 0) return failed("creating directory", errno);
  return MadeVolume{.path = path};
}

// The folder of volumes may have been another one when it was made.
Status erase_folder(const std::string& folder, const StoredVolume& volume) {
  const std::string name = name_of(volume);
  std::string path = folder + "/" + name;
  if (volume.host_path().starts_with('/') && volume.host_path().ends_with("/" + name)) path = volume.host_path();
  for (const std::string& each : {path + ".new", path}) {
    std::error_code error;
    fs::remove_all(each, error);
    if (error) return failed("removing directory", error.value());
  }
  return ok_status();
}

}  // namespace drover::host_volumes
