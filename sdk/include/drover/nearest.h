// "Did you mean …?": the candidate that a mistyped word most likely stands for. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace drover {

// The candidate with the fewest insertions, deletions, replacements and swaps of neighbours, letter case aside; the
// first of equals. Empty when none is near: more than a third of the word's letters, or two for short words, differ.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// "did you mean \"x\"?", or empty.
std::string nearest_hint(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace drover
