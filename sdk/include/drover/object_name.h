// Names that people give to what the cluster keeps: namespaces, policies, roles, auth methods. Pure. [any]
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace drover {

inline constexpr size_t kMaxObjectName = 128;  // bytes

constexpr bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Every byte is an ASCII letter, a digit, or one of `signs`. True for an empty text.
constexpr bool is_alphanumeric(std::string_view text, std::string_view signs = {}) {
  return std::ranges::all_of(text, [&](char c) {
    return is_ascii_letter(c) || (c >= '0' && c <= '9') || signs.find(c) != std::string_view::npos;
  });
}

// True for 1 to 128 letters, digits and -.
constexpr bool is_object_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxObjectName && is_alphanumeric(name, "-");
}

// ASCII letters become small ones; other bytes stay.
inline std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return text;
}

}  // namespace drover
