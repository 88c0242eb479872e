#include "wire/name.h"

#include <fmt/core.h>

#include <algorithm>

namespace drover::dns {
namespace {

bool is_same_label(std::string_view one, std::string_view other) {
  return one.size() == other.size() && lower(one) == lower(other);
}

}  // namespace

Result<Name> parse_name(std::string_view text) {
  const auto refuse = [&](const char* why) { return invalid_argument(fmt::format("\"{}\" {}", text, why)); };
  std::string_view rest = text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
  if (rest.empty()) return refuse("is no name");
  if (rest.size() + 2 > kMaxName) return refuse("is longer than a name may be");
  Name name;
  while (true) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    if (dot == 0 || dot > kMaxLabel) return refuse("has a part that is empty or longer than 63 characters");
    name.emplace_back(rest.substr(0, dot));
    if (dot == rest.size()) return name;
    rest.remove_prefix(dot + 1);
  }
}

std::string to_string(const Name& name) {
  std::string text;
  for (const std::string& label : name) {
    for (const char c : label) {
      const bool is_plain = c > ' ' && c < '\x7f' && c != '.' && c != '\\';
      text += is_plain ? std::string(1, c) : fmt::format("\\{:03}", static_cast<unsigned char>(c));
    }
    text += '.';
  }
  return text.empty() ? "." : text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_same(const Name& one, const Name& other) { return std::ranges::equal(one, other, is_same_label); }

bool is_within(const Name& name, const Name& origin) {
  return name.size() >= origin.size() &&
         std::equal(origin.begin(), origin.end(), name.end() - static_cast<ptrdiff_t>(origin.size()), is_same_label);
}

}  // namespace drover::dns
