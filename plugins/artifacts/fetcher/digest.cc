#include "fetcher/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <utility>

#include "drover/freed.h"

namespace drover::artifacts {
namespace {

constexpr std::array<std::pair<std::string_view, size_t>, 4> kKinds{
    {{"md5", 32}, {"sha1", 40}, {"sha256", 64}, {"sha512", 128}}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return out;
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

std::string_view kind_of(size_t digits) {
  for (const auto& [kind, length] : kKinds) {
    if (length == digits) return kind;
  }
  return {};
}

}  // namespace

Result<Checksum> parse_checksum(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view hex = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const std::string_view known = kind_of(hex.size());
  const std::string kind = colon == std::string_view::npos ? std::string(known) : lower(text.substr(0, colon));
  if (known.empty() || kind != known || !is_hex(hex)) return invalid_argument("invalid checksum: " + std::string(text));
  return Checksum{kind, lower(hex)};
}

Result<Checksum> find_checksum(std::string_view list, std::string_view file_name) {
  const auto is_name = [&](std::string_view name) {
    return name == file_name || name.ends_with("/" + std::string(file_name));
  };
  while (!list.empty()) {
    const size_t end = std::min(list.find('\n'), list.size());
    std::string_view line = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (const size_t equals = line.rfind(" = "); equals != std::string_view::npos) {  // SHA256 (name) = hex
      const size_t open = line.find(" ("), shut = line.rfind(')', equals);
      if (open == std::string_view::npos || shut == std::string_view::npos || shut < open) continue;
      if (is_name(line.substr(open + 2, shut - open - 2))) return parse_checksum(line.substr(equals + 3));
      continue;
    }
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos) {
      if (!line.empty() && !kind_of(line.size()).empty()) return parse_checksum(line);
      continue;
    }
    std::string_view name = line.substr(line.find_first_not_of(' ', blank));
    if (name.starts_with('*')) name.remove_prefix(1);
    if (is_name(name)) return parse_checksum(line.substr(0, blank));
  }
  return not_found("no checksum found for " + std::string(file_name));
}

Status check_file(const std::string& path, const Checksum& wanted) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return unavailable("cannot read " + path);
  const std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  if (EVP_DigestInit_ex(context.get(), EVP_get_digestbyname(wanted.kind.c_str()), nullptr) != 1) {
    return failed_precondition("this machine's libcrypto refuses " + wanted.kind);
  }
  std::array<char, 65536> part;
  while (file.read(part.data(), part.size()), file.gcount() > 0) {
    EVP_DigestUpdate(context.get(), part.data(), static_cast<size_t>(file.gcount()));
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context.get(), sum.data(), &size);
  std::string found;
  for (unsigned i = 0; i < size; ++i) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    (found += kDigits[sum[i] >> 4]) += kDigits[sum[i] & 15];
  }
  if (found == wanted.hex) return ok_status();
  return failed_precondition("Checksums did not match: expected " + wanted.kind + ":" + wanted.hex + ", got " + found);
}

}  // namespace drover::artifacts
