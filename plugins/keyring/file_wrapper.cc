#include "file_wrapper.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "crypto/cipher.h"
#include "drover/base64.h"
#include "drover/private_file.h"

namespace drover::keyring {

FileWrapper::~FileWrapper() { wipe(key_); }

Status FileWrapper::start(const std::string& path, bool may_make) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    if (errno != ENOENT) return errno_status(errno, path);
    if (!may_make) {
      return failed_precondition(path + " is gone, the key that opens this server's root keys; bring it back from a "
                                        "backup, or move the folder keystore away to fetch them from other servers");
    }
    key_ = random_bytes(kKeyBytes);
    return write_private_file(path, base64_encode(key_) + "\n");
  }
  if ((found.st_mode & 077) != 0) {
    return failed_precondition(path + " may be read by others than its owner; it holds a key: chmod 600 it");
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto key = base64_decode(text);
  if (!file || !key || key->size() != kKeyBytes)
    return data_loss(path + " does not hold 32 bytes in base64, the key that opens this server's root keys");
  key_ = *std::move(key);
  return ok_status();
}

Result<std::string> FileWrapper::wrap(std::string_view plain, std::string_view associated) {
  return seal(key_, plain, associated);
}

Result<std::string> FileWrapper::unwrap(std::string_view wrapped, std::string_view associated) {
  return open(key_, wrapped, associated);
}

}  // namespace drover::keyring
