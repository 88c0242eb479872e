#include "input.h"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace drover::cli {
namespace {

constexpr size_t kMaxFile = 16 << 20;

// Nothing when it cannot be read. A folder can be opened, and an iterator would throw when it comes to read it.
std::optional<std::string> content_of(std::ifstream& file) {
  if (file.peek() == std::ifstream::traits_type::eof()) return file.bad() ? std::nullopt : std::optional(std::string());
  std::stringstream text;
  text << file.rdbuf();
  return text ? std::optional(std::move(text).str()) : std::nullopt;
}

}  // namespace

Result<std::string> read_text(Run& run, const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(run.host.in()), {});
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
