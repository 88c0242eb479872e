// Identifiers of sixteen bytes: binary in messages, keys and the log; as text only at the edges.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace drover {

class Uuid {
 public:
  Uuid() = default;  // all zero: "no identifier"

  // A random (version 4) identifier from the kernel's generator. Never call this in an apply function.
  static Uuid random();
  // Exactly sixteen bytes; anything else gives the zero identifier.
  static Uuid from_bytes(std::string_view bytes);
  // "8-4-4-4-12" hexadecimal, any case.
  static std::optional<Uuid> parse(std::string_view text);

  std::string bytes() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  std::string to_string() const;
  std::string short_string() const { return to_string().substr(0, 8); }
  bool is_zero() const { return bytes_ == std::array<uint8_t, 16>{}; }

  friend auto operator<=>(const Uuid&, const Uuid&) = default;

 private:
  std::array<uint8_t, 16> bytes_{};
};

// The identifiers that begin with the hexadecimal digits a person typed (dashes ignored), as a byte range:
// first ≤ id ≤ last. Nothing when the text is empty, too long or not hexadecimal. Odd digit counts are fine.
struct UuidRange {
  std::string first;  // sixteen bytes
  std::string last;
};
std::optional<UuidRange> uuid_prefix_range(std::string_view text);

}  // namespace drover
