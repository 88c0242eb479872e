#include "storage_kit.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "drover/installed.h"

namespace drover::author {
namespace {

constexpr int kUnusable = 2;

Status check_kind(const std::string& kind) {
  if (kind == "csi") return {};
  return invalid_argument("option -kind: only \"csi\" is said; other plugins say themselves of which kind they are");
}

}  // namespace

Result<std::optional<std::vector<std::string>>> storage_words(std::span<const std::string> arguments) {
  std::optional<std::string> kind;
  std::vector<std::string> rest;
  size_t at = 0;
  for (; at < arguments.size() && arguments[at] != "--"; ++at) {
    std::string_view word = arguments[at];
    word.remove_prefix(word.starts_with("--") ? 2 : word.starts_with("-") ? 1 : 0);
    const bool is_option = word.size() != arguments[at].size();
    if (is_option && word == "kind") {
      if (at + 1 == arguments.size()) return invalid_argument("option -kind needs a kind: csi");
      kind = arguments[++at];
    } else if (is_option && word.starts_with("kind=")) {
      kind = word.substr(word.find('=') + 1);
    } else {
      rest.push_back(arguments[at]);
    }
  }
  if (!kind) return std::optional<std::vector<std::string>>();
  DROVER_RETURN_IF_ERROR(check_kind(*kind));
  rest.insert(rest.end(), arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
  return std::optional(std::move(rest));
}

int become_storage_kit(const std::vector<std::string>& words, CommandHost& host) {
  const std::string program = installed_program("csi/drover-csi-test");
  std::vector<char*> arguments = {const_cast<char*>(program.c_str())};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  host.out().flush();
  ::execv(program.c_str(), arguments.data());
  host.err() << "Error: the kit for storage plugins, " << program << ", cannot be started: " << std::strerror(errno)
             << "\n";
  return kUnusable;
}

}  // namespace drover::author
