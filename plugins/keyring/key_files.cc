#include "key_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "crypto/cipher.h"
#include "drover/base64.h"
#include "drover/messages.h"
#include "drover/private_file.h"
#include "drover/time.h"
#include "drover/uuid.h"
#include "keyring.pb.h"

namespace drover::keyring {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".nks.json";

std::string text_member(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace

std::string KeyFiles::path_of(const std::string& key_id) const {
  return folder_ + "/" + key_text(key_id) + std::string(kEnding);
}

Result<std::shared_ptr<const Material>> KeyFiles::read(const std::string& path, const std::string& key_id) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return errno_status(errno, "it cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return data_loss("it is no JSON object");
  const Json meta = object.value("Meta", Json::object());
  if (!meta.is_object() || text_member(meta, "KeyID") != key_text(key_id))
    return data_loss("it is not of the key that it is named after");
  if (const std::string by = text_member(object, "Wrapper"); by != wrapper_name_) {
    return failed_precondition("it was wrapped by \"" + by + "\", and this server's wrapper is \"" + wrapper_name_ +
                               "\"; set plugin \"keyring\" { config { wrapper = … } } to what it was");
  }
  DROVER_TRY(const std::string wrapped, base64_decode(text_member(object, "DEK")));
  DROVER_TRY(std::string bytes, wrapper_.unwrap(wrapped, key_text(key_id)));
  v1::KeyMaterial message;
  const bool is_read = message.ParseFromString(bytes);
  wipe(bytes);
  if (!is_read || message.key_id() != key_id) return data_loss("what it wraps is no key of that name");
  return Material::read(message);
}

Result<std::vector<std::shared_ptr<const Material>>> KeyFiles::load() {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return internal_error(folder_ + ": " + error.message());
  if (::chmod(folder_.c_str(), 0700) != 0) return errno_status(errno, folder_);
  std::vector<std::shared_ptr<const Material>> keys;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.ends_with(kEnding)) continue;
    const auto id = Uuid::parse(name.substr(0, name.size() - kEnding.size()));
    if (!id) continue;
    auto key = read(at->path().string(), id->bytes());
    if (!key) {
      return key.status().with_context("the root key in " + at->path().string() +
                                       " cannot be used; bring the file back from a backup, or move it away");
    }
    keys.push_back(*std::move(key));
  }
  if (error) return internal_error(folder_ + ": " + error.message());
  return keys;
}

Status KeyFiles::write(const Material& key) {
  const v1::KeyMaterial message = key.message();
  std::string bytes = serialize(message);
  auto wrapped = wrapper_.wrap(bytes, key_text(key.id()));
  wipe(bytes);
  if (!wrapped) return wrapped.status();
  const Json object = {{"Meta",
                        {{"KeyID", key_text(key.id())},
                         {"Algorithm", message.algorithm()},
                         {"CreateTime", message.create_time()}}},
                       {"Wrapper", wrapper_name_},
                       {"DEK", base64_encode(*wrapped)}};
  return write_private_file(path_of(key.id()), object.dump(2) + "\n");
}

Status KeyFiles::remove(const std::string& key_id) {
  const std::string path = path_of(key_id);
  if (::unlink(path.c_str()) != 0) return errno == ENOENT ? ok_status() : errno_status(errno, path);
  return sync_folder(folder_);
}

}  // namespace drover::keyring
