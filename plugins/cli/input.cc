#include "input.h"

#include <cerrno>
#include <fstream>
#include <optional>

#include "drover/read_all.h"

namespace drover::cli {
namespace {

constexpr size_t kMaxFile = 16 << 20;

// Nothing when it cannot be read to its end: a folder, for example, which can be opened.
std::optional<std::string> content_of(std::ifstream& file) {
  std::string text = read_all(file);
  file.peek();  // the end, or once more the error
  return file.bad() ? std::nullopt : std::optional(std::move(text));
}

}  // namespace

Result<std::string> read_text(Run& run, const std::string& path) {
  if (path == "-") return read_all(run.host.in());
  std::ifstream file(path, std::ios::binary);
  if (!file) return errno_status(errno, path);
  auto content = content_of(file);
  if (!content) return invalid_argument(path + " cannot be read");
  if (content->size() > kMaxFile) return invalid_argument(path + ": larger than 16 MiB");
  return *std::move(content);
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  auto content = content_of(file);
  if (!content || content->empty()) return invalid_argument(path + " cannot be read or is empty");
  return *std::move(content);
}

}  // namespace drover::cli
