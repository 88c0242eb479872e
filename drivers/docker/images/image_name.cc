#include "images/image_name.h"

#include "engine/engine.h"

namespace drover::docker {
namespace {

constexpr std::string_view kScheme = "https://";
constexpr std::string_view kDockerRegistry = "https://index.docker.io/v1/";

bool is_clean(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '?' || c == '#' || c == '%') return false;
  }
  return true;
}

}  // namespace

std::string ImageName::text() const {
  if (!digest.empty()) return repository + "@" + digest;
  return repository + ":" + tag;
}

std::string ImageName::encoded() const {
  std::string out;
  const std::string all = text();
  for (size_t from = 0; from <= all.size();) {
    const size_t slash = std::min(all.find('/', from), all.size());
    out += (from == 0 ? "" : "/") + percent_encode(std::string_view(all).substr(from, slash - from));
    from = slash + 1;
  }
  return out;
}

std::string ImageName::registry() const {
  const size_t slash = repository.find('/');
  std::string first = slash == std::string::npos ? "" : repository.substr(0, slash);
  const bool is_host = first == "localhost" || first.find_first_of(".:") != std::string::npos;
  if (!is_host || first == "docker.io" || first == "index.docker.io") return std::string(kDockerRegistry);
  return first;
}

Result<ImageName> parse_image_name(std::string_view text) {
  if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
  if (text.empty()) return invalid_argument("image name required for docker driver");
  const auto refuse = [&](const char* why) {
    return invalid_argument("the image name \"" + std::string(text) + "\" " + why);
  };
  if (!is_clean(text)) return refuse("has a character that no name of an image has");
  ImageName out;
  std::string_view rest = text;
  if (const size_t at = rest.find('@'); at != std::string_view::npos) {
    out.digest = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (out.digest.find(':') == std::string::npos) return refuse("has a digest without an algorithm");
  }
  const size_t slash = rest.rfind('/');
  const size_t colon = rest.find(':', slash == std::string_view::npos ? 0 : slash);
  if (colon != std::string_view::npos) {
    out.tag = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (out.tag.empty()) return refuse("has an empty tag");
  } else if (out.digest.empty()) {
    out.tag = "latest";
  }
  out.repository = rest;
  const bool has_empty = rest.empty() || rest.starts_with('/') || rest.ends_with('/') || rest.find("//") != rest.npos ||
                         rest.find("..") != rest.npos;
  if (has_empty) return refuse("has an empty part");
  return out;
}

}  // namespace drover::docker
