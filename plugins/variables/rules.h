// The rules for a variable's path, items and lock. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::v1 {
class VariableLock;
}  // namespace drover::v1

namespace drover::variables {

inline constexpr size_t kMaxItems = 64 << 10;  // keys and values together
inline constexpr size_t kMaxPath = 128;

// Errors of all: invalid_argument, in the words that clients know.
Status check_path(std::string_view path);
Status check_namespace(std::string_view name_space);
// `items`: JSON. The same in its one form: keys in order, without white space.
Result<std::string> checked_items(const std::string& items);
// Fills in what is left out.
Result<v1::VariableLock> checked_lock(const v1::VariableLock& lock);
// Nothing for an empty text.
Result<std::optional<uint64_t>> read_cas(std::string_view text);

}  // namespace drover::variables
