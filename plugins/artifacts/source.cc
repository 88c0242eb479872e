#include "source.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace drover::artifacts {
namespace {

constexpr std::array<std::string_view, 5> kGetters = {"http", "git", "hg", "s3", "gcs"};
// Options that say how something is fetched; every other word of an address's query belongs to its server.
constexpr std::array<std::string_view, 14> kOptions = {
    "archive",           "aws_access_key_id",     "aws_access_key_secret", "aws_access_token", "checksum", "depth",
    "filename",          "ref",                   "region",                "rev",              "sshkey",   "version",
    "aws_profile",       "insecure"};

bool is_getter(std::string_view name) { return std::ranges::find(kGetters, name) != kGetters.end(); }

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = static_cast<char>(c | 0x20);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
      out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// "https" of "https://…"; nothing when there is no scheme.
std::optional<std::string_view> scheme_of(std::string_view text) {
  const size_t end = text.find("://");
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  const std::string_view scheme = text.substr(0, end);
  const bool is_one = std::ranges::all_of(scheme, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
  return is_one ? std::optional(scheme) : std::nullopt;
}

// Takes the part behind `//` away, which is not that of the scheme.
std::string take_part(std::string& text) {
  const size_t scheme = text.find("://");
  const size_t from = scheme == std::string::npos ? 0 : scheme + 3;
  const size_t query = std::min(text.find('?'), text.size());
  const size_t at = text.find("//", from);
  if (at == std::string::npos || at > query) return {};
  std::string part = text.substr(at + 2, query - at - 2);
  text.erase(at, query - at);
  return part;
}

// Takes the options out of the query.
void take_options(std::string& url, Options& options) {
  const size_t query = url.find('?');
  if (query == std::string::npos) return;
  std::string rest;
  for (const std::string_view word : split(std::string_view(url).substr(query + 1), '&')) {
    const size_t equals = word.find('=');
    const std::string name = unescaped(word.substr(0, equals));
    if (std::ranges::find(kOptions, name) != kOptions.end()) {
      options[name] = equals == std::string_view::npos ? "" : unescaped(word.substr(equals + 1));
    } else if (!word.empty()) {
      rest += (rest.empty() ? "?" : "&") + std::string(word);
    }
  }
  url.erase(query);
  url += rest;
}

struct Detected {
  std::string getter, url, part;
};

// A hosted repository by its short name.
Result<std::optional<Detected>> repository(const std::string& text, std::string_view host, std::string_view example) {
  if (!text.starts_with(std::string(host) + "/")) return std::optional<Detected>();
  const size_t query = std::min(text.find('?'), text.size());
  const std::vector<std::string_view> words = split(std::string_view(text).substr(0, query), '/');
  if (words.size() < 3 || words[2].empty()) return invalid_argument(std::string(example));
  std::string name(words[2]);
  if (!name.ends_with(".git")) name += ".git";
  std::string part;
  for (size_t i = 3; i < words.size(); ++i) part += (part.empty() ? "" : "/") + std::string(words[i]);
  return std::optional<Detected>({"git",
                                  "https://" + std::string(host) + "/" + std::string(words[1]) + "/" + name +
                                      text.substr(query),
                                  part});
}

// "git@host:path" is SSH.
std::optional<Detected> secure_shell(const std::string& text) {
  const size_t at = text.find('@'), colon = text.find(':');
  if (at == std::string::npos || colon == std::string::npos || colon < at || text.find('/') < at) return std::nullopt;
  std::string path = text.substr(colon + 1);
  if (path.starts_with('/')) path.erase(0, 1);
  return Detected{"git", "ssh://" + text.substr(0, colon) + "/" + path, ""};
}

std::optional<Detected> object_store(const std::string& text) {
  const std::string host = text.substr(0, text.find('/'));
  if (host.ends_with(".amazonaws.com")) return Detected{"s3", "https://" + text, ""};
  if (text.starts_with("www.googleapis.com/storage/v1/")) return Detected{"gcs", "https://" + text, ""};
  return std::nullopt;
}

Result<Detected> detect(const std::string& text) {
  DROVER_TRY(auto found, repository(text, "github.com", "GitHub URLs should be github.com/username/repo"));
  if (!found) {
    DROVER_TRY(found, repository(text, "gitlab.com", "GitLab URLs should be gitlab.com/username/repo"));
  }
  if (!found) found = secure_shell(text);
  if (!found) found = object_store(text);
  if (found) return *std::move(found);
  return invalid_argument("invalid source string: " + text +
                          "; write a URL (https://…) or a repository (git::https://…, github.com/OWNER/REPO)");
}

Status check_part(const std::string& part) {
  for (const std::string_view word : split(part, '/')) {
    if (word == "..") return invalid_argument("subdirectory component contain path traversal out of the repository");
  }
  return ok_status();
}

}  // namespace

Result<Source> parse_source(std::string_view text, const Options& options) {
  std::string url(text);
  std::string forced;
  if (const size_t mark = url.find("::"); mark != std::string::npos && url.find_first_of("/?@") > mark) {
    forced = url.substr(0, mark);
    url.erase(0, mark + 2);
  }
  Source source;
  source.part = take_part(url);
  if (!scheme_of(url)) {
    DROVER_TRY(Detected detected, detect(url));
    if (forced.empty()) forced = detected.getter;
    url = std::move(detected.url);
    if (!detected.part.empty()) source.part = detected.part + (source.part.empty() ? "" : "/" + source.part);
  }
  take_options(url, source.options);
  for (const auto& [name, value] : options) source.options[name] = value;
  DROVER_RETURN_IF_ERROR(check_part(source.part));
  const std::string scheme(scheme_of(url).value_or(""));
  source.getter = forced.empty() ? scheme : forced;
  if (source.getter == "https") source.getter = "http";
  if (!is_getter(source.getter)) return invalid_argument("download not supported for scheme '" + source.getter + "'");
  const bool is_web = scheme == "http" || scheme == "https";
  const bool is_repository = source.getter == "git" || source.getter == "hg";
  if (!is_web && !(is_repository && (scheme == "ssh" || scheme == "git"))) {
    return invalid_argument("download not supported for scheme '" + scheme + "'");
  }
  source.url = std::move(url);
  return source;
}

}  // namespace drover::artifacts
