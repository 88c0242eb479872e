#include "node_proof/introduction.h"

#include <cerrno>
#include <fstream>

#include "drover/trim.h"

namespace drover::agent {
namespace {

constexpr size_t kLongestToken = 16 << 10;

}  // namespace

std::string introduction_file(const std::string& data_dir) { return data_dir + "/client/intro_token.jwt"; }

Result<std::string> introduction_token(const std::string& configured, const std::string& file) {
  if (!configured.empty()) return configured;
  errno = 0;
  std::ifstream in(file);
  if (!in) {
    if (errno == ENOENT || errno == ENOTDIR) return std::string();
    return errno_status(errno, "read " + file);
  }
  std::string text(kLongestToken + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return unavailable("read " + file + ": it cannot be read");
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kLongestToken) return invalid_argument(file + ": too long for a token");
  return std::string(trim(text));
}

}  // namespace drover::agent
