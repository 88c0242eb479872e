#include "drover/sha256.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace drover {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  DROVER_CHECK(state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  DROVER_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::take() {
  std::string sum(32, '\0');
  DROVER_CHECK(EVP_DigestFinal_ex(state_->context, reinterpret_cast<unsigned char*>(sum.data()), nullptr) == 1);
  return sum;
}

std::string sha256(std::string_view text) {
  Sha256 sum;
  sum.add(text);
  return sum.take();
}

Result<std::string> check_digest(int fd, const std::vector<std::string>& pinned) {
  Sha256 sum;
  std::vector<char> buffer(size_t{1} << 16);
  off_t offset = 0;
  while (true) {
    const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_status(errno, "read");
    if (got == 0) break;
    sum.add({buffer.data(), static_cast<size_t>(got)});
    offset += got;
  }
  std::string found = to_hex(sum.take());
  if (pinned.empty() || std::ranges::find(pinned, found) != pinned.end()) return found;
  std::string wanted;
  for (const std::string& one : pinned) wanted += (wanted.empty() ? "" : " or ") + one;
  return failed_precondition("has SHA-256 " + found + ", the configuration pins " + wanted +
                             "; install the pinned file or change the pin");
}

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace drover
