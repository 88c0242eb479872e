#include "input.h"

#include <cerrno>
#include <fstream>
#include <iterator>

namespace drover::cli {
namespace {

constexpr size_t kMaxFile = 16 << 20;

}  // namespace

Result<std::string> read_text(Run& run, const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(run.host.in()), {});
  std::ifstream file(path, std::ios::binary);
  if (!file) return errno_status(errno, path);
  std::string content(std::istreambuf_iterator<char>(file), {});
  if (content.size() > kMaxFile) return invalid_argument(path + ": larger than 16 MiB");
  return content;
}

}  // namespace drover::cli
